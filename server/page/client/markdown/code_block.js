import { element } from "../dom.js";
import { copyButton } from "../view/copy.js";
import { highlight } from "./highlight.js";

/** A block of code, with its language and a button that copies it. */
export class CodeBlock {
  /** @param {string} language  As it was written; may be empty */
  constructor(language) {
    this.language = language;
    this.text = document.createTextNode("");
    this.code = element("code", {}, this.text);
    this.element = element(
      "div",
      { class: "code" },
      element(
        "div",
        { class: "code-bar" },
        element("span", {}, language || "code"),
        copyButton(() => this.code.textContent ?? ""),
      ),
      element(
        "pre",
        { tabindex: 0, role: "region", "aria-label": `Code ${language}`.trim() },
        this.code,
      ),
    );
  }

  /** @param {string} text */
  append(text) {
    this.text.appendData(text);
  }

  /** The code is complete: colours it. */
  finish() {
    void highlight(this.code, this.text.data, this.language);
  }
}

/**
 * A whole block.
 *
 * @param {string} text
 * @param {string} language
 */
export function codeBlock(text, language) {
  const block = new CodeBlock(language);
  block.append(text);
  block.finish();
  return block;
}
