// @ts-types="idb"
import { openDB } from "../libraries/idb.js";

/** @typedef {import("./conversation.js").ConversationRecord} ConversationRecord */

const DATABASE = "m40";
const TABLE = "conversations";

/** What the list of conversations shows of one. @typedef {{id: string, title: string, updated: number}} Listed */

/** The conversations, in this browser. */
export class ConversationStore {
  /** @param {any} database */
  constructor(database) {
    this.database = database;
  }

  /** @returns {Promise<ConversationStore>} */
  static async open() {
    const database = await openDB(DATABASE, 1, {
      upgrade(/** @type {any} */ opened) {
        opened.createObjectStore(TABLE, { keyPath: "id" }).createIndex("updated", "updated");
      },
      // A newer page in another tab wants to change the tables.
      blocking: () => location.reload(),
    });
    return new ConversationStore(database);
  }

  /** Those changed last first. @returns {Promise<ConversationRecord[]>} */
  async all() {
    return (await this.database.getAllFromIndex(TABLE, "updated")).reverse();
  }

  /**
   * @param {string} id
   * @returns {Promise<ConversationRecord | undefined>}
   */
  get(id) {
    return this.database.get(TABLE, id);
  }

  /** @param {ConversationRecord} record */
  async put(record) {
    await this.database.put(TABLE, record);
  }

  /** @param {string} id */
  async delete(id) {
    await this.database.delete(TABLE, id);
  }
}
