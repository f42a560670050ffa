/**
 * A request that a model answers: from the model that it names to the answer, whole or as events, and the model
 * let go of when it has computed it.
 *
 * @module
 */
import type { Context } from "hono";
import type { ChatFormat, ChatRequest, GenerateRequest } from "../../engine/mod.ts";
import { M40Error } from "../../engine/errors.ts";
import { KEEP_ALIVE_WANTED, parseKeepAlive } from "../../engine/manager/mod.ts";
import type { ServedModel } from "../models/mod.ts";
import { markPrefix, read, string } from "../request/mod.ts";
import type { ServerContext, ServerEnv } from "../context.ts";
import type { StreamShape } from "../dialect.ts";
import { HttpError } from "../errors.ts";
import { begun, settled } from "./begun.ts";
import { eventStream, type StreamItem } from "./sse.ts";

/** How soon a model may be there for a stream's head to wait for it, in milliseconds. */
const HEAD_MS = 250;

/** The fields that say which model is asked, alike in every route that a model answers. */
export const modelFields = {
  model: string(
    "The model; absent: that of --model, else the one used last.",
  ),
  keep_alive: read(
    KEEP_ALIVE_WANTED,
    { anyOf: [{ type: "number" }, { type: "string" }, { type: "null" }] },
    (value) => value === undefined || value === null ? null : parseKeepAlive(value),
  ).optional().describe(
    "How long the model stays in memory after its last use, as Ollama has it: " +
      'seconds, or a time such as "5m"; 0 unloads it at once, -1 never. Absent: as the server was ' +
      "started (--keep-alive).",
  ),
};

/** What a body says of its model and of its answer. */
export interface Asked {
  readonly model?: string | null;
  /** In milliseconds. */
  readonly keep_alive?: number | null;
  readonly stream?: boolean | null;
}

/** An answer on its way. */
export interface Answer {
  /** What the engine does for it: generations, and texts that are scored. None of their `done` rejects. */
  readonly work: readonly { readonly done: Promise<unknown>; cancel(): void }[];
  /** The whole answer, when it is done. */
  whole(): Promise<unknown>;
  /**
   * Its events as JSON; those that are there together may come together.
   *
   * @param holdMs How long events that say no more than that the answer begins wait for its first token, in
   * milliseconds; absent: not at all. What the answer fails with until then is thrown.
   */
  events(holdMs?: number): AsyncGenerator<string | readonly string[]>;
}

/** What ends a request that is not done, and who receives the reports of its generations. */
export type RequestEnds =
  & Pick<GenerateRequest, "timeoutMs" | "timeoutFrom" | "onReport">
  & { readonly signal: AbortSignal };

/** A request on its way to its model, and to its answer. */
export class ModelRequest {
  /** A part of each {@link GenerateRequest} that is made for it. */
  readonly ends: RequestEnds;
  private name?: string | Promise<string>;
  private model?: ServedModel;
  private loading?: Promise<ServedModel>;
  private answer?: Answer;
  private left = false;

  /** @param asked Its body, from which its prompt's beginning is named too ({@link markPrefix}). */
  constructor(
    private readonly c: Context<ServerEnv>,
    readonly server: ServerContext,
    private readonly asked: Asked,
  ) {
    this.ends = {
      signal: c.env.signal ?? c.req.raw.signal,
      timeoutMs: server.timeoutMs,
      timeoutFrom: performance.now(),
      onReport: c.get("trace")?.onReport,
    };
  }

  /**
   * The model, when it is there; asked for once. {@link respond} lets go of it when the answer is done: whoever does
   * not respond disposes of it.
   *
   * @throws {HttpError | M40Error} for a model that there is not, or that cannot be loaded; "timeout".
   */
  async lease(): Promise<ServedModel> {
    const { server: { models }, asked } = this;
    this.name = models.nameOf(asked.model ?? undefined);
    const name = await this.name;
    const options = { keepAliveMs: asked.keep_alive ?? undefined };
    this.model = models.tryAcquire(name, options);
    if (this.model !== undefined) return this.model;
    this.loading = this.within(
      (signal) => models.acquire(name, { ...options, signal }),
      "it was still waiting for its model",
    );
    return this.model = await this.loading;
  }

  /**
   * What a conversation asks of the engine: its prompt, how the answer is read, and when it ends.
   *
   * @param budget Tokens of reasoning at most, as the client wants it: -1 is no limit; undefined: what the
   * server was started with.
   * @throws {HttpError | M40Error} "no_chat_template"; "invalid_request" where the template refuses the conversation or
   * fails, "timeout" when the request's deadline passes meanwhile.
   */
  async conversation(
    model: ServedModel,
    chat: ChatRequest,
    budget: number | undefined,
  ): Promise<GenerateRequest & { prompt: readonly number[] }> {
    const { asked, ends, server } = this;
    const writer = chatFormat(model);
    const { tokens, format, tools } = await this.within((signal) => writer.prompt(chat, signal))
      .catch((error) => {
        throw ofConversation(error, asked);
      });
    const most = budget ?? server.reasoningBudget ?? -1;
    return {
      ...ends,
      prompt: tokens,
      format,
      tools,
      reasoning: server.reasoning,
      reasoningBudget: most < 0 ? undefined : most,
    };
  }

  /**
   * Does what the client's leaving ends, and the deadline too.
   *
   * @param state What the request was at when the deadline passes.
   * @throws {M40Error} "timeout" when the deadline passes; else what the work throws.
   */
  async within<T>(
    work: (signal: AbortSignal) => Promise<T>,
    state = "its prompt was still being made",
  ): Promise<T> {
    const { signal, timeoutMs, timeoutFrom = 0 } = this.ends;
    if (timeoutMs === undefined) return await work(signal);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), timeoutFrom + timeoutMs - performance.now());
    try {
      return await work(AbortSignal.any([signal, late.signal]));
    } catch (error) {
      if (!late.signal.aborted) throw error;
      throw new M40Error(
        "timeout",
        `the request was not done after ${timeoutMs / 1000} s: ${state}. Send it again, or serve ` +
          "with a longer --timeout.",
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Answers the request. A stream whose model is not there soon begins at once, and says in comments what it waits
   * for; what goes wrong from then on is an event.
   *
   * @param made The answer, which {@link lease} is the beginning of.
   * @param shape How a stream is written; absent: as the path's dialect writes them.
   */
  async respond(made: Promise<Answer>, shape?: StreamShape): Promise<Response> {
    const { c, asked, server: { holdStreamsMs, commentMs, loadingCommentMs } } = this;
    const done = this.hold(made);
    c.get("trace")?.until(done);
    await markPrefix(c, asked);
    if (!asked.stream) return Response.json(await (await made).whole());
    const name = await this.name;
    let events: AsyncGenerator<StreamItem>;
    if (this.model ?? await settled(this.loading ?? made, Math.max(HEAD_MS, holdStreamsMs))) {
      events = (await made).events(holdStreamsMs);
      if (holdStreamsMs > 0) events = await begun(events, holdStreamsMs);
    } else {
      events = eventsOf(made, `loading model ${name}`, loadingCommentMs);
    }
    const pace = { commentMs, halfClosed: c.env.halfClosed };
    return eventStream(events, () => this.cancel(), pace, c.get("dialect"), shape);
  }

  /**
   * Lets go of the model as soon as the engine has done its part. The answer begins when the model is there, whether
   * the client reads or not: nobody else gets the model's place before.
   */
  private async hold(made: Promise<Answer>): Promise<void> {
    try {
      this.answer = await made;
      if (this.left) this.cancel();
      for (const { done } of this.answer.work) await done;
    } catch {
      // Whoever reads the answer has what it failed with.
    } finally {
      this.model?.release();
    }
  }

  /** The client has left. */
  private cancel(): void {
    this.left = true;
    for (const one of this.answer?.work ?? []) one.cancel();
  }
}

/** Fields that a conversation comes in. */
const CONVERSATIONS = ["messages", "input", "prompt"] as const;

/** An engine's error about a conversation, by the name of the body's field that it came in. */
function ofConversation(error: unknown, asked: object): unknown {
  const field = CONVERSATIONS.find((name) => name in asked);
  const isOther = error instanceof M40Error && error.param === "messages" && field !== "messages";
  return isOther ? new M40Error(error.code, error.message, field) : error;
}

/**
 * The model's way to write down conversations.
 *
 * @throws {HttpError} 400 `no_chat_template` for a model that has none.
 */
export function chatFormat({ engine, name }: ServedModel): ChatFormat {
  if (engine.chat !== undefined) return engine.chat;
  throw new HttpError(
    400,
    "no_chat_template",
    `The model "${name}" has no chat template, so it cannot take a conversation. Start the server with ` +
      "--chat-template NAME (a built-in one) or FILE, or send a prompt to /v1/completions.",
    { param: "model" },
  );
}

/** The events of an answer that has not begun, and comments until then. */
async function* eventsOf(
  answer: Promise<Answer>,
  comment: string,
  commentMs: number,
): AsyncGenerator<StreamItem> {
  do yield { comment }; while (!await settled(answer, commentMs));
  yield* (await answer).events();
}

/**
 * Has a model in memory.
 *
 * @param keepAliveMs How long it stays when nobody uses it; absent: as the server has it.
 * @throws {M40Error} what {@link ModelManager.load} throws; "timeout" when the request's deadline passes.
 */
export async function loadModel(
  c: Context<ServerEnv>,
  server: ServerContext,
  name: string,
  keepAliveMs: number | undefined,
): Promise<void> {
  await new ModelRequest(c, server, {}).within(
    (signal) => server.models.load(name, { signal, keepAliveMs }),
    "the model was still being loaded",
  );
}
