/**
 * Conversations as a file, to be kept elsewhere and brought back.
 *
 * @typedef {import("./conversation.js").ConversationRecord} ConversationRecord
 * @typedef {import("./conversation.js").TreeMessage} TreeMessage
 */
import { emptySettings } from "../settings/settings.js";

const FORMAT = "m40-conversations";
const VERSION = 1;
const ROLES = ["user", "assistant", "tool"];

/** @param {readonly ConversationRecord[]} conversations */
export function exportText(conversations) {
  return JSON.stringify({ format: FORMAT, version: VERSION, conversations }, null, 1);
}

/**
 * The conversations of a file. What is not known of them is left out.
 *
 * @param {string} text
 * @returns {ConversationRecord[]}
 * @throws {Error} saying what is wrong with it
 */
export function importText(text) {
  let file;
  try {
    file = JSON.parse(text);
  } catch {
    throw new Error("The file is no JSON. Choose one that was exported here.");
  }
  if (file?.format !== FORMAT || !Array.isArray(file.conversations)) {
    throw new Error("The file has no conversations of m40. Choose one that was exported here.");
  }
  if (file.version !== VERSION) {
    throw new Error(`The file is of version ${file.version}; this page reads version ${VERSION}.`);
  }
  return file.conversations.map(readConversation);
}

/**
 * @param {any} given
 * @param {number} index
 * @returns {ConversationRecord}
 */
function readConversation(given, index) {
  const where = `conversation ${index + 1}`;
  if (typeof given !== "object" || given === null || !Array.isArray(given.messages)) {
    throw new Error(`The file's ${where} has no messages.`);
  }
  const messages = given.messages.map((/** @type {any} */ one) => readMessage(one, where));
  const ids = new Set();
  for (const { id, parent } of messages) {
    // A parent comes before what follows on it, so there is no circle.
    if (ids.has(id) || parent !== null && !ids.has(parent)) {
      throw new Error(`The file's ${where} has messages that do not follow on each other.`);
    }
    ids.add(id);
  }
  return {
    id: text(given.id, where),
    title: text(given.title ?? "", where),
    created: Number(given.created) || Date.now(),
    updated: Number(given.updated) || Date.now(),
    settings: readSettings(given.settings),
    messages,
    selected: textsOf(given.selected),
  };
}

/**
 * @param {any} given
 * @param {string} where
 * @returns {TreeMessage}
 */
function readMessage(given, where) {
  if (!ROLES.includes(given?.role)) {
    throw new Error(`The file's ${where} has a message whose role is none of ${ROLES.join(", ")}.`);
  }
  /** @type {TreeMessage} */
  const message = {
    id: text(given.id, where),
    parent: given.parent === null ? null : text(given.parent, where),
    role: given.role,
    content: text(given.content, where),
  };
  for (
    const key of /** @type {const} */ (["reasoning", "callId", "name", "model", "finish", "error"])
  ) {
    if (given[key] !== undefined) message[key] = text(given[key], where);
  }
  for (const key of /** @type {const} */ (["tokens", "seconds"])) {
    if (Number.isFinite(given[key])) message[key] = given[key];
  }
  if (Array.isArray(given.calls)) {
    message.calls = given.calls.map((/** @type {any} */ call) => ({
      id: text(call?.id, where),
      name: text(call?.name, where),
      arguments: text(call?.arguments, where),
    }));
  }
  return message;
}

/** @param {any} given @returns {ConversationRecord["settings"]} */
function readSettings(given) {
  const settings = emptySettings();
  if (typeof given?.system === "string") settings.system = given.system;
  if (typeof given?.schema === "string") settings.schema = given.schema;
  if (typeof given?.toolChoice === "string") settings.toolChoice = given.toolChoice;
  if (["text", "json_object", "json_schema"].includes(given?.format)) {
    settings.format = given.format;
  }
  settings.sampling = textsOf(given?.sampling);
  for (const tool of Array.isArray(given?.tools) ? given.tools : []) {
    const { name, description, parameters } = textsOf(tool);
    if (name !== undefined) {
      settings.tools.push({ name, description: description ?? "", parameters: parameters ?? "" });
    }
  }
  return settings;
}

/** The fields of an object that are texts. @param {any} given @returns {Record<string, string>} */
function textsOf(given) {
  if (typeof given !== "object" || given === null) return {};
  return Object.fromEntries(
    Object.entries(given).filter((entry) => typeof entry[1] === "string"),
  );
}

/**
 * @param {unknown} given
 * @param {string} where
 * @returns {string}
 */
function text(given, where) {
  if (typeof given === "string") return given;
  throw new Error(
    `The file's ${where} has ${JSON.stringify(given) ?? "nothing"} where a text is wanted.`,
  );
}
