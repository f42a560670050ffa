/**
 * A message with its position in the tree of a conversation.
 *
 * @typedef {object} TreeMessage
 * @property {string} id
 * @property {string | null} parent  The message that it follows; null at the start
 * @property {"user" | "assistant" | "tool"} role
 * @property {string} content
 * @property {string} [reasoning]
 * @property {ToolCall[]} [calls]  Tools that the model calls
 * @property {string} [callId]  The call that a tool's message answers
 * @property {string} [name]  The tool that a tool's message is of
 * @property {string} [model]  The model that answered
 * @property {string} [finish]  Why an answer ended: stop, length, tool_calls; stopped by the reader; failed
 * @property {string} [error]  What it failed with
 * @property {number} [tokens]  Tokens of an answer
 * @property {number} [seconds]  From its first token to its last
 *
 * @typedef {{id: string, name: string, arguments: string}} ToolCall
 *
 * A conversation as it is kept.
 * @typedef {object} ConversationRecord
 * @property {string} id
 * @property {string} title
 * @property {number} created  Milliseconds since 1970
 * @property {number} updated
 * @property {import("../settings/settings.js").Settings} settings
 * @property {TreeMessage[]} messages
 * @property {Record<string, string>} selected  Of messages that have several after them, the one that is shown
 */

/** What stands for the start in {@link ConversationRecord.selected}. */
const ROOT = "";

/** A conversation: a tree of messages, of which one path from the start to an end is shown. */
export class Conversation {
  /** @param {ConversationRecord} record  Changed by what is done with the conversation */
  constructor(record) {
    this.record = record;
    /** @type {Map<string, TreeMessage>} */
    this.byId = new Map(record.messages.map((message) => [message.id, message]));
  }

  /** @param {import("../settings/settings.js").Settings} settings */
  static begin(settings) {
    const now = Date.now();
    return new Conversation({
      id: randomId(),
      title: "",
      created: now,
      updated: now,
      settings: structuredClone(settings),
      messages: [],
      selected: {},
    });
  }

  get id() {
    return this.record.id;
  }

  get settings() {
    return this.record.settings;
  }

  /** The messages that are shown, from the first to the last. @returns {TreeMessage[]} */
  path() {
    const path = [];
    for (let at = this.selectedAfter(null); at !== undefined; at = this.selectedAfter(at.id)) {
      path.push(at);
    }
    return path;
  }

  /**
   * The messages from the start up to one.
   *
   * @param {string | null} id  Null is the start
   * @returns {TreeMessage[]}
   */
  pathTo(id) {
    const path = [];
    for (let at = id === null ? undefined : this.byId.get(id); at !== undefined;) {
      path.unshift(at);
      at = at.parent === null ? undefined : this.byId.get(at.parent);
    }
    return path;
  }

  /**
   * The alternatives of a message, itself among them, in the order in which they came.
   *
   * @param {TreeMessage} message
   */
  alternatives(message) {
    return this.after(message.parent);
  }

  /**
   * Adds a message and shows it.
   *
   * @param {string | null} parent
   * @param {Omit<TreeMessage, "id" | "parent">} fields
   * @returns {TreeMessage}
   */
  add(parent, fields) {
    const message = { ...fields, id: randomId(), parent };
    this.record.messages.push(message);
    this.byId.set(message.id, message);
    this.select(message);
    this.touch();
    return message;
  }

  /** Shows a message instead of its alternatives. @param {TreeMessage} message */
  select(message) {
    this.record.selected[message.parent ?? ROOT] = message.id;
  }

  /** Takes a message away, and all that follow on it. @param {TreeMessage} message */
  remove(message) {
    for (const follower of this.after(message.id)) this.remove(follower);
    this.record.messages.splice(this.record.messages.indexOf(message), 1);
    this.byId.delete(message.id);
    delete this.record.selected[message.id];
    const place = message.parent ?? ROOT;
    if (this.record.selected[place] === message.id) delete this.record.selected[place];
    this.touch();
  }

  /** Has been changed now. */
  touch() {
    this.record.updated = Date.now();
  }

  /** @param {string | null} parent */
  after(parent) {
    return this.record.messages.filter((message) => message.parent === parent);
  }

  /** @param {string | null} parent */
  selectedAfter(parent) {
    const after = this.after(parent);
    const selected = this.record.selected[parent ?? ROOT];
    return after.find(({ id }) => id === selected) ?? after.at(-1);
  }
}

/** 96 random bits. Not `randomUUID`: browsers have that on secure origins alone. */
function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
