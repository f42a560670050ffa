import { exportText, importText } from "../conversation/transfer.js";
import { button, byId, element } from "../dom.js";

/**
 * @typedef {import("../conversation/store.js").ConversationStore} ConversationStore
 * @typedef {import("../conversation/memory_store.js").MemoryStore} MemoryStore
 */

/**
 * The buttons that write all conversations into a file, and read such files.
 *
 * @param {ConversationStore | MemoryStore} store
 * @param {{imported: () => void, complain: (problem: string) => void}} surroundings
 */
export function transferButtons(store, { imported, complain }) {
  const chooser = element("input", {
    type: "file",
    id: "import-file",
    accept: ".json,application/json",
    hidden: true,
    multiple: true,
    "aria-label": "Files to import",
  });
  chooser.addEventListener("change", async () => {
    complain("");
    try {
      for (const file of chooser.files ?? []) {
        for (const record of importText(await file.text())) await store.put(record);
      }
    } catch (error) {
      complain(/** @type {Error} */ (error).message);
    }
    chooser.value = "";
    imported();
  });
  byId("transfer").append(
    button("Export", async () => save(exportText(await store.all()))),
    button("Import", () => chooser.click()),
    chooser,
  );
}

/** Has the browser keep a text as a file. @param {string} text */
function save(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const day = new Date().toISOString().slice(0, 10);
  element("a", { href: url, download: `m40-conversations-${day}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
