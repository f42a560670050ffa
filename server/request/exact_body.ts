/**
 * Which numbers of a body are kept as they are written. Schemas, arguments and template variables go to the model and
 * come back from it. Other fields are settings, whose numbers are JavaScript's.
 *
 * @module
 */
import {
  type BearableLoss,
  define,
  type JsonLimits,
  JsonNumber,
  type ParsedJson,
  parseInTurns,
  parseWhole,
} from "../../engine/json/mod.ts";

/** Fields of bodies whose numbers keep their digits. */
const EXACT_FIELDS: ReadonlySet<string> = new Set([
  "messages",
  "tools",
  "chat_template_kwargs",
  // What an answer must be like.
  "response_format",
  "json_schema",
  "guided_json",
  "structured_outputs",
  "format",
  "text",
  "output_config",
  "output_format",
  // A call of a tool of an MCP server.
  "arguments",
]);

/**
 * `JSON.parse` loses this in most bodies without harm: Python's clients write a temperature as 1.0, and every key
 * of a `logit_bias` is an integer.
 */
const BEARABLE: BearableLoss = {
  ofNumbers: (field) => !EXACT_FIELDS.has(field),
  ofOrder: (field) => field === "logit_bias",
};

/** Digits of a seed that are read. */
const MOST_SEED_DIGITS = 40;
/** What a body may have, whatever its bytes: each value takes memory, and the time of whoever checks it. */
const LIMITS: JsonLimits = {
  values: 1_100_000,
  members: 65_536,
  exactValues: 200_000,
  lost: 16_384,
};

/**
 * The value of a body's text. In {@link EXACT_FIELDS} numbers are as {@link parseJson} has them. Elsewhere they are
 * JavaScript's, except a `seed` beyond 2^53, which is a bigint. Seeds of 64 bits are common, and those that differ in
 * the last bits alone must sample different tokens.
 *
 * @throws {SyntaxError} for what is no JSON, {@link JsonTooMuch} for what has more than a body may.
 */
export function exactBody(text: string): unknown {
  return settingsOf(parseWhole(text, LIMITS, BEARABLE));
}

/**
 * The same of a long text, part by part.
 *
 * @param turn Awaited between two parts: others have their turn.
 */
export async function longExactBody(text: string, turn: () => Promise<void>): Promise<unknown> {
  const parsed = await parseInTurns(text, turn, LIMITS, BEARABLE);
  if (!parsed.isPlain) await turn();
  return settingsOf(parsed);
}

/** A body whose settings have JavaScript's numbers. */
function settingsOf({ value, isPlain }: ParsedJson): unknown {
  if (isPlain) return value;
  // Its members are changed in place, without a call a level: it may be nested as deeply as JSON can be.
  const body = [value];
  const open: unknown[] = [body];
  const look = (holder: unknown, key: string | number, one: unknown) => {
    if (one instanceof JsonNumber) define(holder as object, key, settingOf(key, one));
    else if (typeof one === "object" && one !== null) open.push(one);
  };
  while (open.length > 0) {
    const holder = open.pop();
    if (Array.isArray(holder)) {
      for (let i = 0; i < holder.length; i++) look(holder, i, holder[i]);
      continue;
    }
    for (const [key, one] of Object.entries(holder as object)) {
      if (holder !== value || !EXACT_FIELDS.has(key)) look(holder, key, one);
    }
  }
  return body[0];
}

function settingOf(key: string | number, number: JsonNumber): number | bigint {
  const digits = String(number);
  const isSeed = key === "seed" && number.isInteger && digits.length <= MOST_SEED_DIGITS &&
    !Number.isSafeInteger(number.value);
  return isSeed ? BigInt(digits) : number.value;
}
