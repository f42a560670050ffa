import { byId } from "../dom.js";
import { MessageView } from "./message_view.js";

/**
 * @typedef {import("../conversation/conversation.js").Conversation} Conversation
 * @typedef {import("../conversation/conversation.js").TreeMessage} TreeMessage
 */

/** The messages of a conversation that are shown. */
export class Transcript {
  /** @param {import("./message_view.js").MessageActions} actions */
  constructor(actions) {
    this.actions = actions;
    this.list = byId("transcript");
    this.empty = byId("empty");
    /** @type {MessageView[]} */
    this.views = [];
  }

  /**
   * Shows the way through a conversation that is selected. What is shown already stays as it is.
   *
   * @param {Conversation} conversation
   */
  show(conversation) {
    const path = conversation.path();
    let same = 0;
    while (same < path.length && this.views[same]?.message === path[same]) same++;
    for (const view of this.views.splice(same)) view.element.remove();
    for (const message of path.slice(same)) {
      const view = new MessageView(message, this.actions);
      this.views.push(view);
      this.list.append(view.element);
    }
    this.place(conversation);
    this.empty.hidden = path.length > 0;
  }

  /** Says of each message what can be done with it. @param {Conversation} conversation */
  place(conversation) {
    for (const [at, view] of this.views.entries()) {
      const alternatives = conversation.alternatives(view.message);
      view.place({
        index: alternatives.indexOf(view.message),
        count: alternatives.length,
        last: at === this.views.length - 1,
        answered: at < this.views.length - 1,
      });
    }
  }

  /** @param {TreeMessage} message */
  viewOf(message) {
    return this.views.find((view) => view.message === message);
  }
}
