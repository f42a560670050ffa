// @ts-types="@modelcontextprotocol/sdk/types"
import { isJSONRPCResultResponse, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import { isJsonObject, type JsonLimits, parseWhole } from "../engine/json/mod.ts";

/** A message with more than that is read as `JSON.parse` reads it: exactness takes longer. */
const LIMITS: JsonLimits = { values: 200_000, members: 65_536, exactValues: 50_000, lost: 16_384 };
/**
 * Members of results that a model is shown: schemas of tools, and data. The SDK checks what the others are, and
 * knows no numbers but JavaScript's.
 */
const SHOWN = ["tools", "structuredContent"];
/** Results that may wait to be put in their messages; those of a server that behaves wait for a moment. */
const MOST_WAITING = 64;

/**
 * A message out of its JSON. Schemas and data of its result have their numbers and the order of their members as the
 * server wrote them. The SDK's own reader rounds numbers to doubles and sorts keys that are integers.
 *
 * @throws {SyntaxError} for what is no JSON; the SDK's error for what is no message.
 */
export function readMessage(text: string): JSONRPCMessage {
  const { plain, exact } = readBoth(text);
  const message = JSONRPCMessageSchema.parse(plain);
  if (isJSONRPCResultResponse(message)) putExact(message.result, exact);
  return message;
}

/**
 * The exact results of messages that the SDK reads itself, as it does over HTTP. They are taken from the text on its
 * way there, and put in the message when the SDK hands it out.
 */
export class ExactResults {
  private readonly waiting = new Map<unknown, unknown>();

  /** Takes the results out of a text: a message, or a list of messages. */
  take(text: string): void {
    let both: { plain: unknown; exact?: unknown };
    try {
      both = readBoth(text);
    } catch {
      return; // The SDK says what is wrong with it.
    }
    const exact = [both.exact].flat();
    for (const [i, message] of [both.plain].flat().entries()) {
      // An id of 1.0 is that of the request 1.
      if (isJsonObject(message) && isJsonObject(exact[i])) this.keep(message.id, exact[i]);
    }
  }

  private keep(id: unknown, message: unknown): void {
    this.waiting.delete(id);
    this.waiting.set(id, message);
    const [oldest] = this.waiting.keys();
    if (this.waiting.size > MOST_WAITING) this.waiting.delete(oldest);
  }

  /** Puts the exact result in a message, where there is one. */
  put(message: JSONRPCMessage): void {
    if (!isJSONRPCResultResponse(message)) return;
    putExact(message.result, this.waiting.get(message.id));
    this.waiting.delete(message.id);
  }
}

/** A text as `JSON.parse` reads it, and without loss where that loses something. */
function readBoth(text: string): { plain: unknown; exact?: unknown } {
  let value: unknown;
  try {
    const read = parseWhole(text, LIMITS);
    if (read.isPlain) return { plain: read.value };
    value = read.value;
  } catch {
    // Too much, too deep, or no JSON, which the following says.
  }
  return { plain: JSON.parse(text), exact: value };
}

function putExact(result: Record<string, unknown>, message: unknown): void {
  if (!isJsonObject(message) || !isJsonObject(message.result)) return;
  for (const name of SHOWN) {
    if (Object.hasOwn(message.result, name)) result[name] = message.result[name];
  }
}
