import { element } from "../dom.js";

/** @typedef {import("../conversation/conversation.js").ToolCall} ToolCall */

/** The tools that an answer calls, and where their results are typed. */
export class CallsView {
  /** @param {(results: string[]) => void} accept  Gets a result for each call */
  constructor(accept) {
    this.accept = accept;
    this.list = element("ol", { class: "calls" });
    this.form = element("form", { class: "results" });
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.accept(Array.from(this.form.querySelectorAll("textarea"), ({ value }) => value));
    });
    this.element = element("div", { hidden: true }, this.list, this.form);
    /** @type {{name: HTMLElement, text: Text, shown: number}[]} */
    this.shown = [];
    /** @type {ToolCall[]} */
    this.calls = [];
    this.mayAnswer = false;
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
    this.form.replaceChildren();
    if (!wanted) return;
    for (const { name } of this.calls) {
      const box = element("textarea", { rows: 2, placeholder: "What the tool gives back" });
      this.form.append(element("label", {}, element("span", {}, `Result of ${name}`), box));
    }
    const send = element("button", { type: "submit", class: "primary" }, "Send results");
    this.form.append(element("div", { class: "row end" }, send));
  }
}

/** JSON with a field a line, where it is whole. @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
