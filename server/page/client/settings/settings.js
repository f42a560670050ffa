/**
 * What a conversation is answered with, as it was typed: an empty text is "as the server has it".
 *
 * @typedef {object} Settings
 * @property {string} system  What the model gets before the conversation
 * @property {Record<string, string>} sampling  By the names of {@link SAMPLING}
 * @property {"text" | "json_object" | "json_schema"} format
 * @property {string} schema  A JSON Schema, with the format json_schema
 * @property {ToolSettings[]} tools
 * @property {string} toolChoice  auto, none, required, or a tool's name
 *
 * @typedef {{name: string, description: string, parameters: string}} ToolSettings
 *
 * A field of a request that is a number or a text.
 * @typedef {object} SamplingField
 * @property {string} name  As the request spells it
 * @property {string} label
 * @property {"number" | "integer" | "text" | "lines" | "choice"} kind
 * @property {number} [min]
 * @property {number} [max]
 * @property {number} [step]
 * @property {string[]} [choices]
 * @property {string} hint
 */

/** @type {readonly SamplingField[]} */
export const SAMPLING = [
  {
    name: "temperature",
    label: "Temperature",
    kind: "number",
    min: 0,
    max: 2,
    step: 0.1,
    hint: "0 always takes the likeliest token.",
  },
  {
    name: "top_p",
    label: "Top-p",
    kind: "number",
    min: 0,
    max: 1,
    step: 0.05,
    hint: "Only the likeliest tokens that have this share together.",
  },
  {
    name: "top_k",
    label: "Top-k",
    kind: "integer",
    min: 0,
    step: 1,
    hint: "Only so many of the likeliest tokens.",
  },
  {
    name: "min_p",
    label: "Min-p",
    kind: "number",
    min: 0,
    max: 1,
    step: 0.01,
    hint: "Only tokens at least this times as likely as the likeliest.",
  },
  {
    name: "repetition_penalty",
    label: "Repetition penalty",
    kind: "number",
    min: 0,
    step: 0.05,
    hint: "Above 1, tokens that were there before are less likely.",
  },
  {
    name: "presence_penalty",
    label: "Presence penalty",
    kind: "number",
    min: -2,
    max: 2,
    step: 0.1,
    hint: "Taken from tokens that were there before.",
  },
  {
    name: "frequency_penalty",
    label: "Frequency penalty",
    kind: "number",
    min: -2,
    max: 2,
    step: 0.1,
    hint: "Taken as often as they were there.",
  },
  {
    name: "max_completion_tokens",
    label: "Tokens at most",
    kind: "integer",
    min: 1,
    step: 1,
    hint: "Reasoning included; empty: as many as there is room for.",
  },
  {
    name: "seed",
    label: "Seed",
    kind: "integer",
    min: 0,
    step: 1,
    hint: "The same seed gives the same answer.",
  },
  {
    name: "stop",
    label: "Stop texts",
    kind: "lines",
    hint: "One a line; the answer ends before any of them.",
  },
  {
    name: "reasoning_effort",
    label: "Reasoning effort",
    kind: "choice",
    choices: ["low", "medium", "high"],
    hint: "Where the model's template asks for it.",
  },
  {
    name: "enable_thinking",
    label: "Reasoning",
    kind: "choice",
    choices: ["on", "off"],
    hint: "Where the model's template can turn it on and off.",
  },
  {
    name: "reasoning_budget",
    label: "Tokens of reasoning",
    kind: "integer",
    min: -1,
    step: 1,
    hint: "Then the answer begins; 0 is none, -1 no limit.",
  },
];

/** @returns {Settings} */
export function emptySettings() {
  return {
    system: "",
    sampling: {},
    format: "text",
    schema: "",
    tools: [],
    toolChoice: "auto",
  };
}
