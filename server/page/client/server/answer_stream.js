// @ts-types="eventsource-parser"
import { createParser } from "../libraries/eventsource-parser.js";
import { request, ServerError, UNREACHABLE } from "./request.js";

/**
 * A piece of a call of a tool: what it is a piece of, and what is added.
 *
 * @typedef {{index: number, id?: string, name?: string, arguments?: string}} CallPiece
 *
 * What an event of an answer brings.
 * @typedef {object} AnswerPiece
 * @property {string} [content]
 * @property {string} [reasoning]
 * @property {CallPiece[]} [calls]
 * @property {string} [finish]  Why the answer ended
 * @property {{prompt_tokens: number, completion_tokens: number}} [usage]
 * @property {string} [waiting]  What is waited for
 */

/**
 * Asks for an answer and gives its pieces as they come.
 *
 * @param {Record<string, unknown>} body  Of a chat completion
 * @param {AbortSignal} signal  Ends it
 * @returns {AsyncGenerator<AnswerPiece>}
 * @throws {ServerError} also where the server breaks off
 */
export async function* answerStream(body, signal) {
  const response = await request("v1/chat/completions", {
    body: { ...body, stream: true, stream_options: { include_usage: true } },
    signal,
  });
  /** @type {AnswerPiece[]} */
  let pieces = [];
  let ended = false;
  const parser = createParser({
    onEvent(/** @type {{data: string}} */ { data }) {
      if (data === "[DONE]") ended = true;
      else pieces.push(...readEvent(data));
    },
    onComment: (/** @type {string} */ comment) => pieces.push({ waiting: comment.trim() }),
  });
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  try {
    while (!ended) {
      const { done, value } = await read(reader, signal);
      if (done) break;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* pieces;
      pieces = [];
    }
  } finally {
    reader.cancel().catch(() => {});
  }
  if (!ended) throw new ServerError(`The answer was cut off. ${UNREACHABLE}`, 0);
}

/**
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader
 * @param {AbortSignal} signal
 */
async function read(reader, signal) {
  try {
    return await reader.read();
  } catch (error) {
    if (signal.aborted) throw error;
    throw new ServerError(`The answer was cut off. ${UNREACHABLE}`, 0);
  }
}

/**
 * @param {string} data
 * @returns {AnswerPiece[]}
 */
function readEvent(data) {
  const event = JSON.parse(data);
  if (event.error) throw new ServerError(event.error.message ?? "The server failed.", 500);
  /** @type {AnswerPiece[]} */
  const pieces = [];
  for (const { delta, finish_reason } of event.choices ?? []) {
    pieces.push({
      content: delta.content || undefined,
      reasoning: delta.reasoning_content || undefined,
      calls: delta.tool_calls?.map(callPiece),
      finish: finish_reason ?? undefined,
    });
  }
  if (event.usage) pieces.push({ usage: event.usage });
  return pieces;
}

/** @param {any} call */
function callPiece({ index, id, function: called }) {
  return { index, id, name: called?.name, arguments: called?.arguments };
}
