import { Answering } from "../answering/answering.js";
import { titleOf } from "../conversation/title.js";
import { servedTools } from "../server/served_tools.js";
import { SettingsError } from "../settings/request_fields.js";
import { Composer } from "./composer.js";
import { Scrolling } from "./scrolling.js";
import { Transcript } from "./transcript.js";

/**
 * @typedef {import("../conversation/conversation.js").Conversation} Conversation
 * @typedef {import("../conversation/conversation.js").TreeMessage} TreeMessage
 *
 * What the chat has of the rest of the page.
 * @typedef {object} ChatSurroundings
 * @property {() => string | undefined} model  The model that is chosen
 * @property {(conversation: Conversation) => void} changed  The conversation is to be kept
 * @property {(field: string) => void} showSetting  Something in the settings is to be mended
 * @property {() => void} answered  An answer has ended
 */

/** How often an answer on its way is kept, in milliseconds. */
const KEEP_MS = 3000;
/** Answers in a row whose tool calls need no consent. */
const MOST_ROUNDS = 20;

/** The conversation that is shown, and the answer that is on its way into it. */
export class Chat {
  /**
   * @param {Conversation} conversation
   * @param {ChatSurroundings} surroundings
   */
  constructor(conversation, surroundings) {
    this.conversation = conversation;
    this.surroundings = surroundings;
    this.scrolling = new Scrolling();
    this.composer = new Composer({
      send: (text) => this.send(text),
      stop: () => this.answering?.stop(),
    });
    this.transcript = new Transcript({
      edit: (message, content) => this.edit(message, content),
      regenerate: (message) => this.idle() && this.answer(message.parent),
      resume: (message) => this.idle() && this.begin(message),
      turn: (message, step) => this.turn(message, step),
      remove: (message) => this.remove(message),
      answerCalls: (message, results) => this.answerCalls(message, results),
    });
    /** @type {Answering | undefined} */
    this.answering = undefined;
    this.open(conversation);
  }

  /** Shows another conversation. The answer on its way into this one is stopped. @param {Conversation} conversation */
  open(conversation) {
    this.answering?.stop();
    if (conversation !== this.conversation) servedTools.begin();
    this.conversation = conversation;
    this.composer.complain("");
    this.composer.say("");
    this.refresh();
    this.scrolling.end();
  }

  refresh() {
    this.transcript.show(this.conversation);
    document.title = this.conversation.record.title || "m40";
  }

  idle() {
    return this.answering === undefined;
  }

  /** @param {string} text @returns {boolean} */
  send(text) {
    if (!this.idle()) return false;
    const parent = this.conversation.path().at(-1)?.id ?? null;
    return this.ask(parent, text);
  }

  /**
   * Adds what a person says, and has it answered.
   *
   * @param {string | null} parent
   * @param {string} text
   */
  ask(parent, text) {
    const { conversation } = this;
    const message = conversation.add(parent, { role: "user", content: text });
    if (this.answer(message.id)) {
      if (conversation.record.title === "") conversation.record.title = titleOf(text);
      this.refresh();
      return true;
    }
    conversation.remove(message);
    this.refresh();
    return false;
  }

  /** Begins an answer after a message. @param {string | null} parent */
  answer(parent) {
    const message = this.conversation.add(parent, { role: "assistant", content: "" });
    if (this.begin(message)) return true;
    this.conversation.remove(message);
    this.refresh();
    return false;
  }

  /** Begins an answer, or goes on with it. @param {TreeMessage} message */
  begin(message) {
    const { conversation, composer, scrolling } = this;
    composer.complain("");
    let frame = 0;
    let kept = performance.now();
    /** @type {import("./message_view.js").MessageView | undefined} */
    let view = this.transcript.viewOf(message);
    const draw = () => {
      frame = 0;
      view?.draw();
      scrolling.follow();
    };
    const answering = new Answering(conversation, message, {
      changed: (_, piece) => {
        composer.say("Answering …");
        view?.add(piece);
        // A hidden tab has no frames: there the work is done when it is looked at again.
        if (frame === 0) frame = requestAnimationFrame(draw);
        if (performance.now() - kept > KEEP_MS) {
          kept = performance.now();
          this.surroundings.changed(conversation);
        }
      },
      waiting: (text) => composer.say(`${text.charAt(0).toUpperCase()}${text.slice(1)} …`),
      ended: () => {
        cancelAnimationFrame(frame);
        view?.end();
        this.ended(answering);
      },
    });
    let running;
    try {
      running = answering.run(this.surroundings.model());
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      composer.complain(error.message);
      this.surroundings.showSetting(error.field);
      return false;
    }
    this.answering = answering;
    this.refresh();
    view = this.transcript.viewOf(message);
    view?.begin();
    composer.setBusy(true);
    composer.say("Waiting for the answer …");
    scrolling.end();
    this.surroundings.changed(conversation);
    void running;
    return true;
  }

  /** @param {Answering} answering */
  ended(answering) {
    const { message, conversation } = answering;
    this.surroundings.changed(conversation);
    this.surroundings.answered();
    if (this.answering !== answering) return;
    this.answering = undefined;
    this.composer.setBusy(false);
    const words = { failed: "The answer failed.", stopped: "The answer was stopped." };
    this.composer.say(
      words[/** @type {keyof typeof words} */ (message.finish)] ?? "The answer is complete.",
    );
    if (conversation === this.conversation) {
      this.transcript.place(conversation);
      if (message.finish === "tool_calls" && this.rounds() <= MOST_ROUNDS) {
        void this.transcript.viewOf(message)?.calls.callAllowed();
      }
      this.scrolling.follow();
    }
  }

  /** Answers with calls since a person said something. */
  rounds() {
    const path = this.conversation.path();
    const asked = path.findLastIndex(({ role }) => role === "user");
    return path.slice(asked + 1).filter(({ calls }) => calls !== undefined).length;
  }

  /**
   * @param {TreeMessage} message
   * @param {string} content
   */
  edit(message, content) {
    if (!this.idle()) return;
    if (message.role === "user") {
      this.ask(message.parent, content);
      return;
    }
    const { reasoning, model, calls } = message;
    this.conversation.add(message.parent, {
      role: "assistant",
      content,
      reasoning,
      model,
      calls,
      finish: "stop",
    });
    this.changed();
  }

  /**
   * @param {TreeMessage} message
   * @param {number} step
   */
  turn(message, step) {
    if (!this.idle()) return;
    const alternatives = this.conversation.alternatives(message);
    const other = alternatives[alternatives.indexOf(message) + step];
    if (other === undefined) return;
    this.conversation.select(other);
    this.changed();
    // The buttons are others now: a user that turned elsewhere goes on from the same one.
    const buttons = this.transcript.viewOf(other)?.tools.querySelectorAll("button");
    const [back, forth] = [buttons?.[0], buttons?.[1]];
    const wanted = step < 0 ? back : forth;
    (wanted?.disabled ? (step < 0 ? forth : back) : wanted)?.focus();
  }

  /** @param {TreeMessage} message */
  remove(message) {
    if (!this.idle()) return;
    if (this.conversation.after(message.id).length > 0) {
      if (!confirm("Delete this message and all that follow on it?")) return;
    }
    this.conversation.remove(message);
    this.changed();
    this.composer.focus();
  }

  /**
   * @param {TreeMessage} message
   * @param {string[]} results
   */
  answerCalls(message, results) {
    // A tool may take so long that its reader has gone on.
    if (!this.idle() || this.conversation.path().at(-1) !== message) return;
    let parent = message.id;
    for (const [index, { id, name }] of (message.calls ?? []).entries()) {
      const content = results[index] ?? "";
      parent = this.conversation.add(parent, { role: "tool", content, callId: id, name }).id;
    }
    this.answer(parent);
  }

  changed() {
    this.refresh();
    this.surroundings.changed(this.conversation);
  }
}
