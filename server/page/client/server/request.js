import { parseExact } from "./exact_json.js";
import { apiKey } from "./key.js";

/** An answer of the server that is an error, or none at all. */
export class ServerError extends Error {
  /**
   * @param {string} message
   * @param {number} status  The HTTP status; 0 where the server could not be reached
   */
  constructor(message, status) {
    super(message);
    this.name = "ServerError";
    this.status = status;
  }
}

/** The server could not be reached, or broke off. */
export const UNREACHABLE = "The server cannot be reached. Is it still running?";

/**
 * Asks the user for the key. Resolves when there is another one to try, or rejects when there is none.
 *
 * @type {(wrong: boolean) => Promise<void>}
 */
let askForKey = () => Promise.reject(new ServerError("This server needs an API key.", 401));

/** @param {(wrong: boolean) => Promise<void>} ask */
export function whenKeyIsNeeded(ask) {
  askForKey = ask;
}

/**
 * What a request has in addition to its path.
 *
 * @typedef {object} RequestOptions
 * @property {unknown} [body]
 * @property {string} [method]
 * @property {AbortSignal} [signal]
 * @property {boolean} [exact]  Whether numbers of the answer are kept as they are written
 * @property {boolean} [asks]  False for requests in the background: then the user is not asked for the key
 */

/**
 * Sends a request to the server that the page came from, with the key; asks for the key where it is wanted.
 *
 * @param {string} path  Relative to the page
 * @param {RequestOptions} [options]
 * @returns {Promise<Response>}  One whose status is 200 to 299
 * @throws {ServerError}
 */
export async function request(path, options = {}) {
  for (;;) {
    const sent = apiKey();
    const response = await send(path, options, sent);
    if (response.ok) return response;
    const error = await errorOf(response);
    if (response.status !== 401 || options.asks === false) throw error;
    // Another request may have got a key meanwhile.
    if (apiKey() === sent) await askForKey(sent !== undefined);
  }
}

/**
 * @param {string} path
 * @param {RequestOptions} [options]
 * @returns {Promise<any>}
 */
export async function requestJson(path, options = {}) {
  const response = await request(path, options);
  try {
    const text = await response.text();
    return options.exact ? parseExact(text) : JSON.parse(text);
  } catch {
    throw new ServerError("The server's answer was cut off, or is no JSON.", 0);
  }
}

/**
 * @param {string} path
 * @param {RequestOptions} options
 * @param {string | undefined} key
 */
async function send(path, { body, method, signal }, key) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (key !== undefined) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(new URL(path, document.baseURI), {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
      credentials: "same-origin",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ServerError(UNREACHABLE, 0);
  }
}

/** @param {Response} response */
async function errorOf(response) {
  try {
    const { error } = await response.json();
    const message = typeof error === "string" ? error : error.message;
    if (typeof message === "string") return new ServerError(message, response.status);
  } catch {
    // Something between the page and the server answered in its own way.
  }
  return new ServerError(`The server answered with status ${response.status}.`, response.status);
}
