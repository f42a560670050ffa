import { element } from "../dom.js";
import { indented } from "../server/exact_json.js";
import { servedTools } from "../server/served_tools.js";
import { ServedCall } from "./served_call.js";

/** @typedef {import("../conversation/conversation.js").ToolCall} ToolCall */

/** The tools that an answer calls, and where their results are typed, or the server is asked to call them. */
export class CallsView {
  /** @param {(results: string[]) => void} accept  Gets a result for each call */
  constructor(accept) {
    this.accept = accept;
    this.list = element("ol", { class: "calls" });
    this.form = element("form", { class: "results" });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.accept(this.results.map(({ value }) => value));
    });
    this.element = element("div", { hidden: true }, this.list, this.form);
    /** @type {{name: HTMLElement, text: Text, shown: number}[]} */
    this.shown = [];
    /** @type {ToolCall[]} */
    this.calls = [];
    this.mayAnswer = false;
    /** What has a result for each call. @type {(HTMLTextAreaElement | ServedCall)[]} */
    this.results = [];
  }

  /** Shows what has come since. @param {ToolCall[]} calls */
  draw(calls) {
    this.element.hidden = calls.length === 0;
    for (const [index, call] of calls.entries()) {
      const shown = this.shown[index] ??= this.begin();
      if (shown.name.textContent !== call.name) shown.name.textContent = call.name;
      shown.text.appendData(call.arguments.slice(shown.shown));
      shown.shown = call.arguments.length;
    }
  }

  begin() {
    const name = element("code", { class: "call-name" });
    const text = document.createTextNode("");
    const code = element("pre", {}, element("code", {}, text));
    this.list.append(element("li", {}, element("p", {}, "Calls ", name), code));
    return { name, text, shown: 0 };
  }

  /** Shows whole calls. @param {ToolCall[]} calls */
  show(calls) {
    this.list.replaceChildren();
    this.shown = [];
    this.calls = calls;
    this.results = [];
    this.draw(calls.map((call) => ({ ...call, arguments: indented(call.arguments) })));
    this.showForm();
  }

  /** @param {boolean} may  Whether results are wanted */
  allowResults(may) {
    this.mayAnswer = may;
    this.showForm();
  }

  showForm() {
    const wanted = this.mayAnswer && this.calls.length > 0;
    this.form.hidden = !wanted;
    if (!wanted) return this.form.replaceChildren();
    // What is being called, or was typed, stays as it is.
    if (this.form.childElementCount > 0 && this.calls.every((call, at) => this.isShown(call, at))) {
      return;
    }
    this.form.replaceChildren();
    this.results = this.calls.map((call) => this.resultOf(call));
    if (this.results.every((result) => result instanceof ServedCall)) return;
    const send = element("button", { type: "submit", class: "primary" }, "Send results");
    this.form.append(element("div", { class: "row end" }, send));
  }

  /**
   * Whether there is what a call's result comes from.
   *
   * @param {ToolCall} call
   * @param {number} at
   */
  isShown(call, at) {
    const result = this.results[at];
    if (result === undefined) return false;
    return (result instanceof ServedCall) === (servedTools.get(call.name) !== undefined);
  }

  /** Where a call's result comes from. @param {ToolCall} call */
  resultOf(call) {
    if (servedTools.get(call.name) !== undefined) {
      const served = new ServedCall(call, () => this.acceptServed());
      this.form.append(served.element);
      return served;
    }
    const box = element("textarea", { rows: 2, placeholder: "What the tool gives back" });
    this.form.append(element("label", {}, element("span", {}, `Result of ${call.name}`), box));
    return box;
  }

  /** The results are complete where all of them are the server's; others are typed and sent. */
  acceptServed() {
    const complete = this.results.every((one) =>
      one instanceof ServedCall && one.result !== undefined
    );
    if (complete) this.accept(this.results.map(({ value }) => value));
  }

  /** Makes the calls that need no consent, one after the other. */
  async callAllowed() {
    for (const result of this.results) {
      if (result instanceof ServedCall && servedTools.allowed(result.call.name)) await result.run();
    }
  }
}
