import { parseExact } from "../server/exact_json.js";
import { SAMPLING } from "./settings.js";

/** @typedef {import("./settings.js").Settings} Settings */

/** A setting that cannot be sent as it was typed. */
export class SettingsError extends Error {
  /**
   * @param {string} field  The id of what is to be mended
   * @param {string} message
   */
  constructor(field, message) {
    super(message);
    this.name = "SettingsError";
    this.field = field;
  }
}

/**
 * The fields of a request that settings stand for, but for the messages.
 *
 * @param {Settings} settings
 * @returns {Record<string, unknown>}
 * @throws {SettingsError}
 */
export function requestFields(settings) {
  return { ...samplingFields(settings), ...formatFields(settings), ...toolFields(settings) };
}

/** @param {Settings} settings */
function samplingFields({ sampling }) {
  /** @type {Record<string, unknown>} */
  const fields = {};
  for (const field of SAMPLING) {
    const typed = sampling[field.name]?.trim() ?? "";
    if (typed === "") continue;
    if (field.name === "enable_thinking") {
      const thinks = typed === "on";
      // The two names that templates know it by.
      fields.chat_template_kwargs = { enable_thinking: thinks, thinking: thinks };
    } else if (field.kind === "number" || field.kind === "integer") {
      fields[field.name] = numberOf(field, typed);
    } else if (field.kind === "lines") {
      fields[field.name] = typed.split("\n").filter((line) => line !== "");
    } else fields[field.name] = typed;
  }
  return fields;
}

/**
 * @param {import("./settings.js").SamplingField} field
 * @param {string} typed
 */
function numberOf({ name, label, kind, min = -Infinity, max = Infinity }, typed) {
  const number = Number(typed);
  const whole = kind === "integer";
  if (Number.isFinite(number) && number >= min && number <= max) {
    if (!whole || Number.isInteger(number)) return number;
  }
  const range = max === Infinity ? `of at least ${min}` : `from ${min} to ${max}`;
  const wanted = `a ${whole ? "whole " : ""}number ${range}`;
  throw new SettingsError(`setting-${name}`, `${label}: wanted ${wanted}; got "${typed}".`);
}

/** @param {Settings} settings */
function formatFields({ format, schema }) {
  if (format === "json_object") return { response_format: { type: "json_object" } };
  if (format !== "json_schema") return {};
  const parsed = objectOf(schema, "setting-schema", "The JSON Schema");
  return {
    response_format: {
      type: "json_schema",
      json_schema: { name: "answer", strict: true, schema: parsed },
    },
  };
}

/** @param {Settings} settings */
function toolFields({ tools, toolChoice }) {
  if (tools.length === 0) return {};
  const described = tools.map(({ name, description, parameters }, index) => {
    if (!/^[\w-]{1,64}$/.test(name)) {
      throw new SettingsError(
        `tool-${index}-name`,
        `A tool's name has 1 to 64 letters, digits, "_" or "-"; got "${name}".`,
      );
    }
    const schema = parameters.trim() === ""
      ? { type: "object", properties: {} }
      : objectOf(parameters, `tool-${index}-parameters`, `The parameters of ${name}`);
    return { type: "function", function: { name, description, parameters: schema } };
  });
  const choice = ["auto", "none", "required"].includes(toolChoice)
    ? toolChoice
    : tools.some(({ name }) => name === toolChoice)
    ? { type: "function", function: { name: toolChoice } }
    : "auto";
  return { tools: described, tool_choice: choice };
}

/**
 * @param {string} text
 * @param {string} field
 * @param {string} what
 * @returns {Record<string, unknown>}
 */
function objectOf(text, field, what) {
  let value;
  try {
    value = parseExact(text);
  } catch (error) {
    throw new SettingsError(field, `${what} is no JSON: ${/** @type {Error} */ (error).message}.`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new SettingsError(field, `${what}: wanted a JSON object, {…}.`);
  }
  return value;
}
