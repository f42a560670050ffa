/** Where the browser keeps the key: for this tab, until it is closed. */
const PLACE = "m40-api-key";

/** The key that requests bring; undefined where none was asked for. */
export function apiKey() {
  return sessionStorage.getItem(PLACE) ?? undefined;
}

/** @param {string} key */
export function keepKey(key) {
  sessionStorage.setItem(PLACE, key);
}
