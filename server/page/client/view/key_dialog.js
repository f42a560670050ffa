import { byId } from "../dom.js";
import { keepKey } from "../server/key.js";
import { ServerError, whenKeyIsNeeded } from "../server/request.js";

/** Asks for the API key when a request needs one. */
export function setUpKeyDialog() {
  const dialog = /** @type {HTMLDialogElement} */ (byId("key-dialog"));
  const input = /** @type {HTMLInputElement} */ (byId("key"));
  const reason = byId("key-reason");
  /** @type {Promise<void> | undefined} */
  let asked;
  byId("key-cancel").addEventListener("click", () => dialog.close("cancel"));
  /** @param {boolean} wrong */
  const ask = (wrong) =>
    new Promise((resolve, reject) => {
      reason.textContent = wrong
        ? "The server does not take this key."
        : "This server needs an API key.";
      input.value = "";
      input.setCustomValidity("");
      dialog.returnValue = "";
      dialog.addEventListener("close", () => {
        asked = undefined;
        const key = input.value.trim();
        if (dialog.returnValue === "cancel" || key === "" || !isHeaderText(key)) {
          reject(new ServerError("This server needs an API key, and none was given.", 401));
          return;
        }
        keepKey(key);
        resolve(undefined);
      }, { once: true });
      dialog.showModal();
    });
  // Requests that need it at the same time ask once.
  whenKeyIsNeeded((wrong) => asked ??= /** @type {Promise<void>} */ (ask(wrong)));
  input.addEventListener("input", () => {
    input.setCustomValidity(
      isHeaderText(input.value.trim()) ? "" : "A key has letters, digits and signs of ASCII alone.",
    );
  });
  dialog.addEventListener("cancel", () => dialog.returnValue = "cancel");
}

/** Whether browsers send a text in a header. @param {string} text */
function isHeaderText(text) {
  return /^[\x20-\x7e]*$/.test(text);
}
