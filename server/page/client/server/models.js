import { requestJson } from "./request.js";

/**
 * A model as `/v1/models` shows it.
 *
 * @typedef {object} Model
 * @property {string} id
 * @property {"loaded" | "loading" | "unloading" | "unloaded"} state
 * @property {number | null} context_length
 * @property {boolean | null} chat
 */

/** @returns {Promise<Model[]>} */
export async function listModels() {
  return (await requestJson("v1/models")).data;
}

/** Has a model in memory, and resolves when it is there. @param {string} id */
export async function loadModel(id) {
  await requestJson(`v1/models/${encodeURIComponent(id)}/load`, { method: "POST" });
}

/** Has a model out of memory. @param {string} id */
export async function unloadModel(id) {
  await requestJson(`v1/models/${encodeURIComponent(id)}/unload`, { method: "POST" });
}
