import { button, element } from "../dom.js";

/** How long a button says that something was copied, in milliseconds. */
const SAID_MS = 1500;

/** A button that copies a text. @param {() => string} text */
export function copyButton(text) {
  const made = button("Copy", async () => {
    made.textContent = await copy(text()) ? "Copied" : "Not copied";
    setTimeout(() => made.textContent = "Copy", SAID_MS);
  });
  return made;
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers have a clipboard on secure origins alone; a server of the home's network is none.
    return copySelected(text);
  }
}

/** @param {string} text */
function copySelected(text) {
  const focused = document.activeElement;
  const box = element("textarea", { class: "hidden" });
  box.value = text;
  document.body.append(box);
  box.select();
  const copied = document.execCommand("copy");
  box.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return copied;
}
