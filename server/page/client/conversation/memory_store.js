/** @typedef {import("./conversation.js").ConversationRecord} ConversationRecord */

/** The conversations where the browser keeps nothing, as in some private windows: until the page is closed. */
export class MemoryStore {
  constructor() {
    /** @type {Map<string, ConversationRecord>} */
    this.records = new Map();
  }

  /** Those changed last first. */
  all() {
    return Promise.resolve([...this.records.values()].sort((a, b) => b.updated - a.updated));
  }

  /** @param {string} id */
  get(id) {
    return Promise.resolve(this.records.get(id));
  }

  /** @param {ConversationRecord} record */
  put(record) {
    this.records.set(record.id, record);
    return Promise.resolve();
  }

  /** @param {string} id */
  delete(id) {
    this.records.delete(id);
    return Promise.resolve();
  }
}
