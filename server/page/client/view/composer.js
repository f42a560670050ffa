import { byId } from "../dom.js";
import { fitHeight } from "./text_box.js";

/** Where messages are typed, sent, and answers stopped. */
export class Composer {
  /** @param {{send: (text: string) => boolean, stop: () => void}} actions  Sending says whether the text was taken */
  constructor({ send, stop }) {
    this.form = /** @type {HTMLFormElement} */ (byId("composer"));
    this.box = /** @type {HTMLTextAreaElement} */ (byId("message"));
    this.sendButton = /** @type {HTMLButtonElement} */ (byId("send"));
    this.stopButton = /** @type {HTMLButtonElement} */ (byId("stop"));
    this.status = byId("status");
    this.problem = byId("problem");
    this.busy = false;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.box.value;
      if (this.busy || text.trim() === "" || !send(text)) return;
      this.box.value = "";
      fitHeight(this.box);
    });
    this.box.addEventListener("input", () => fitHeight(this.box));
    this.box.addEventListener("keydown", (event) => {
      // Enter that ends an input method's word is not meant for the page.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      // Phones have no other way to begin a line.
      if (matchMedia("(pointer: coarse)").matches) return;
      event.preventDefault();
      this.form.requestSubmit();
    });
    this.stopButton.addEventListener("click", () => {
      stop();
      this.box.focus();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.busy && !document.querySelector("dialog[open]")) stop();
    });
  }

  /** @param {boolean} busy  Whether an answer is on its way */
  setBusy(busy) {
    const hadFocus = [this.sendButton, this.stopButton].includes(
      /** @type {HTMLButtonElement} */ (document.activeElement),
    );
    this.busy = busy;
    this.sendButton.hidden = busy;
    this.stopButton.hidden = !busy;
    if (hadFocus) (busy ? this.stopButton : this.box).focus();
  }

  /** Says how things stand, also to screen readers. @param {string} text */
  say(text) {
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  /** Says what has to be mended; empty: nothing has. @param {string} text */
  complain(text) {
    this.problem.textContent = text;
  }

  focus() {
    this.box.focus();
  }
}
