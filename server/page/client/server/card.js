import { requestJson } from "./request.js";

/**
 * What `/slots` says of the card and of what it does.
 *
 * @typedef {object} CardState
 * @property {string | null} model
 * @property {number} tokens_per_second
 * @property {number} running
 * @property {number} waiting
 * @property {number} kv_pages
 * @property {number} kv_pages_used
 * @property {number} kv_pages_idle
 * @property {number} read_bytes_per_second
 * @property {Device} [device]  What is not known of it is absent
 *
 * @typedef {object} Device
 * @property {string} name
 * @property {number} [memory_bytes]
 * @property {number} [memory_used_bytes]
 * @property {number} [temperature_celsius]
 * @property {number} [power_watts]
 * @property {number} [power_limit_watts]
 * @property {number} [memory_bytes_per_second]
 */

/** @returns {Promise<CardState>} */
export function cardState() {
  return requestJson("slots", { asks: false });
}
