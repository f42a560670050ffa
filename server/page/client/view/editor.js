import { button, element } from "../dom.js";
import { fitHeight } from "./text_box.js";

/**
 * A box in which a message is changed.
 *
 * @param {string} text
 * @param {string} done  What the button says
 * @param {(text: string) => void} accept
 * @param {() => void} cancel
 */
export function editor(text, done, accept, cancel) {
  const box = element("textarea", { "aria-label": "The message", rows: 3 });
  box.value = text;
  box.addEventListener("input", () => fitHeight(box));
  queueMicrotask(() => fitHeight(box));
  /** @param {KeyboardEvent} event */
  const onkeydown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      cancel();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  };
  const form = element(
    "form",
    {
      class: "editor",
      onkeydown,
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        accept(box.value);
      },
    },
    box,
    element(
      "div",
      { class: "row end" },
      button("Cancel", cancel),
      element("button", { type: "submit", class: "primary" }, done),
    ),
  );
  return form;
}
