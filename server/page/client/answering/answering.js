import { requestMessages } from "../conversation/messages.js";
import { answerStream } from "../server/answer_stream.js";
import { servedTools } from "../server/served_tools.js";
import { requestFields } from "../settings/request_fields.js";

/**
 * @typedef {import("../conversation/conversation.js").Conversation} Conversation
 * @typedef {import("../conversation/conversation.js").TreeMessage} TreeMessage
 *
 * Gets the progress of an answer.
 * @typedef {object} AnswerListener
 * @property {(message: TreeMessage, piece: import("../server/answer_stream.js").AnswerPiece) => void} changed  It has
 *   grown by a piece
 * @property {(text: string) => void} waiting  What is waited for, in words
 * @property {(message: TreeMessage) => void} ended
 */

/** One answer on its way into a message of a conversation. */
export class Answering {
  /**
   * @param {Conversation} conversation
   * @param {TreeMessage} message  An assistant's; what it holds already is continued
   * @param {AnswerListener} listener
   */
  constructor(conversation, message, listener) {
    this.conversation = conversation;
    this.message = message;
    this.listener = listener;
    this.controller = new AbortController();
  }

  /** Ends it with what there is. */
  stop() {
    this.controller.abort();
  }

  /**
   * Asks for the answer, and resolves when it has ended in whatever way.
   *
   * @param {string | undefined} model
   * @throws {SettingsError} before anything is asked
   */
  run(model) {
    const { conversation, message } = this;
    const continued = message.content !== "" || Boolean(message.reasoning);
    const path = conversation.pathTo(continued ? message.id : message.parent);
    const body = {
      ...servedTools.offeredWith(
        requestFields(conversation.settings),
        conversation.settings.toolChoice,
      ),
      model,
      messages: requestMessages(conversation.settings.system, path),
      continue_final_message: continued || undefined,
    };
    message.model = model;
    message.finish = undefined;
    message.error = undefined;
    return this.receive(body);
  }

  /** @param {Record<string, unknown>} body */
  async receive(body) {
    const { message, listener, controller: { signal } } = this;
    let first = 0;
    try {
      for await (const piece of answerStream(body, signal)) {
        if (piece.waiting !== undefined) {
          listener.waiting(piece.waiting);
          continue;
        }
        if (piece.usage) this.count(piece.usage.completion_tokens, first);
        if (this.take(piece)) {
          first ||= performance.now();
          listener.changed(message, piece);
        }
      }
      message.finish ??= "stop";
    } catch (error) {
      if (signal.aborted) message.finish = "stopped";
      else {
        message.finish = "failed";
        message.error = error instanceof Error ? error.message : String(error);
      }
    }
    this.conversation.touch();
    listener.ended(message);
  }

  /**
   * Adds what a piece brings. @returns Whether it was anything to be shown.
   *
   * @param {import("../server/answer_stream.js").AnswerPiece} piece
   */
  take({ content, reasoning, calls, finish }) {
    const { message } = this;
    if (finish !== undefined) message.finish = finish;
    if (content !== undefined) message.content += content;
    if (reasoning !== undefined) message.reasoning = (message.reasoning ?? "") + reasoning;
    for (const piece of calls ?? []) {
      const all = message.calls ??= [];
      const call = all[piece.index] ??= { id: "", name: "", arguments: "" };
      if (piece.id !== undefined) call.id = piece.id;
      if (piece.name !== undefined) call.name += piece.name;
      if (piece.arguments !== undefined) call.arguments += piece.arguments;
    }
    return content !== undefined || reasoning !== undefined || calls !== undefined;
  }

  /**
   * @param {number} tokens
   * @param {number} first  When the first of them came
   */
  count(tokens, first) {
    this.message.tokens = tokens;
    this.message.seconds = first === 0 ? 0 : (performance.now() - first) / 1000;
  }
}
