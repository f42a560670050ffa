import { button, byId, element } from "../dom.js";

/** @typedef {import("../conversation/conversation.js").ConversationRecord} ConversationRecord */

/** The conversations that this browser keeps. */
export class ConversationList {
  /** @param {{open: (id: string) => void, remove: (record: ConversationRecord) => void}} actions */
  constructor(actions) {
    this.actions = actions;
    this.list = byId("conversations");
  }

  /**
   * @param {readonly ConversationRecord[]} records
   * @param {string} shown  The id of the one that is shown
   */
  show(records, shown) {
    this.list.replaceChildren(...records.map((record) => this.item(record, record.id === shown)));
  }

  /**
   * @param {ConversationRecord} record
   * @param {boolean} shown
   */
  item(record, shown) {
    const title = record.title || "Untitled";
    return element(
      "li",
      {},
      button(title, () => this.actions.open(record.id), {
        class: "conversation",
        "aria-current": shown && "true",
      }),
      button("✕", () => this.actions.remove(record), {
        name: `Delete "${title}"`,
        class: "quiet",
      }),
    );
  }
}
