import { wholeCalls } from "../conversation/messages.js";
import { button, element } from "../dom.js";
import { StreamRenderer } from "../markdown/stream_renderer.js";
import { CallsView } from "./calls_view.js";
import { copyButton } from "./copy.js";
import { editor } from "./editor.js";
import { noticeOf, speedOf } from "./notices.js";

/**
 * @typedef {import("../conversation/conversation.js").TreeMessage} TreeMessage
 * @typedef {import("../server/answer_stream.js").AnswerPiece} AnswerPiece
 *
 * What can be done with a message.
 * @typedef {object} MessageActions
 * @property {(message: TreeMessage, content: string) => void} edit
 * @property {(message: TreeMessage) => void} regenerate
 * @property {(message: TreeMessage) => void} resume  Goes on with an answer that was ended
 * @property {(message: TreeMessage, step: number) => void} turn  Shows another alternative
 * @property {(message: TreeMessage) => void} remove
 * @property {(message: TreeMessage, results: string[]) => void} answerCalls
 */

/** A message as it is shown. */
export class MessageView {
  /**
   * @param {TreeMessage} message
   * @param {MessageActions} actions
   */
  constructor(message, actions) {
    this.message = message;
    this.actions = actions;
    this.waitingContent = "";
    this.waitingReasoning = "";
    /** @type {Record<string, string>} */
    const who = { user: "You", assistant: message.model ?? "Answer", tool: message.name ?? "Tool" };
    this.who = element("h2", { class: "who" }, who[message.role]);
    this.reasoningText = element("div", { class: "markdown" });
    this.reasoning = element(
      "details",
      { class: "reasoning" },
      element("summary", {}, "Reasoning"),
      this.reasoningText,
    );
    this.content = element("div", {
      class: `content ${message.role === "assistant" ? "markdown" : "plain"}`,
    });
    this.calls = new CallsView((results) => actions.answerCalls(message, results));
    this.notice = element("p", { class: "notice" });
    this.tools = element("div", { class: "actions" });
    this.element = element(
      "li",
      { class: `message ${message.role}`, id: `message-${message.id}` },
      element(
        "article",
        {},
        this.who,
        this.reasoning,
        this.content,
        this.calls.element,
        this.notice,
        this.tools,
      ),
    );
    this.show();
  }

  /** Shows the message again, as it is now. */
  show() {
    const { message } = this;
    this.waitingContent = "";
    this.waitingReasoning = "";
    this.content.replaceChildren();
    this.reasoningText.replaceChildren();
    /** @type {StreamRenderer | undefined} */
    this.contentRenderer = undefined;
    /** @type {StreamRenderer | undefined} */
    this.reasoningRenderer = undefined;
    if (message.role === "assistant") {
      this.who.textContent = message.model ?? "Answer";
      this.add({ content: message.content, reasoning: message.reasoning });
      this.draw();
      this.finish();
    } else this.content.textContent = message.content;
    this.reasoning.hidden = !message.reasoning;
    this.calls.show(message.calls ?? []);
    this.tellEnd();
  }

  /** Takes a piece that {@link draw} is to show. @param {AnswerPiece} piece */
  add({ content, reasoning }) {
    this.waitingContent += content ?? "";
    this.waitingReasoning += reasoning ?? "";
  }

  /** Shows what was added: the work follows from that, not from what is there. */
  draw() {
    if (this.waitingReasoning !== "") {
      this.reasoningRenderer ??= new StreamRenderer(this.reasoningText);
      this.reasoningRenderer.append(this.waitingReasoning);
      this.reasoning.hidden = false;
      this.waitingReasoning = "";
    }
    if (this.waitingContent !== "") {
      this.contentRenderer ??= new StreamRenderer(this.content);
      this.contentRenderer.append(this.waitingContent);
      this.waitingContent = "";
    }
    if (this.message.calls !== undefined) this.calls.draw(this.message.calls);
  }

  /** Nothing more comes. */
  finish() {
    this.contentRenderer?.finish();
    this.reasoningRenderer?.finish();
  }

  /** Says how the answer ended, where that is worth a word. */
  tellEnd() {
    this.notice.textContent = noticeOf(this.message);
    this.notice.hidden = this.notice.textContent === "";
    this.notice.classList.toggle("problem", this.message.finish === "failed");
  }

  /** The answer begins. */
  begin() {
    this.show();
    this.element.setAttribute("aria-busy", "true");
    this.tools.hidden = true;
    this.notice.hidden = true;
  }

  /** The answer has ended: everything is shown as it is to stay. */
  end() {
    this.draw();
    this.finish();
    this.element.removeAttribute("aria-busy");
    this.tools.hidden = false;
    this.calls.show(this.message.calls ?? []);
    this.tellEnd();
  }

  /**
   * The buttons below it.
   *
   * @param {{index: number, count: number, last: boolean, answered: boolean}} place  Among its alternatives, whether
   *   nothing follows on it, and whether its calls have their results
   */
  place({ index, count, last, answered }) {
    const { message, actions } = this;
    this.calls.allowResults(last && !answered && wholeCalls(message).length > 0);
    /** @type {HTMLElement[]} */
    const buttons = [copyButton(() => message.content)];
    if (message.role !== "tool") buttons.push(button("Edit", () => this.edit()));
    if (message.role === "assistant") {
      buttons.push(button("Regenerate", () => actions.regenerate(message)));
      const ended = ["stopped", "failed", "length"].includes(message.finish ?? "stopped");
      // The text before a call is complete, or cut off within the call.
      const goesOn = message.content !== "" && !message.calls?.length;
      if (last && ended && goesOn) {
        buttons.push(button("Continue", () => actions.resume(message)));
      }
    }
    buttons.push(button("Delete", () => actions.remove(message)));
    const turning = count < 2 ? [] : [
      button("‹", () => actions.turn(message, -1), {
        name: "The alternative before",
        disabled: index === 0,
      }),
      element("span", { class: "count" }, `${index + 1} / ${count}`),
      button("›", () => actions.turn(message, 1), {
        name: "The next alternative",
        disabled: index === count - 1,
      }),
    ];
    const speed = speedOf(message);
    this.tools.replaceChildren(
      ...turning,
      ...buttons,
      ...(speed === "" ? [] : [element("span", { class: "speed" }, speed)]),
    );
  }

  edit() {
    const { message, actions } = this;
    const form = editor(
      message.content,
      message.role === "user" ? "Send" : "Save",
      (text) => actions.edit(message, text),
      () => {
        form.replaceWith(this.content);
        this.tools.hidden = false;
        this.tools.querySelector("button")?.focus();
      },
    );
    this.content.replaceWith(form);
    this.tools.hidden = true;
    form.querySelector("textarea")?.focus();
  }
}
