/**
 * A request that a model answers: from the model that it names to the answer, whole or as events, and the model
 * let go of when it has computed it.
 *
 * @module
 */
import type { Context } from "hono";
import type { GenerationReport } from "../../engine/mod.ts";
import { KEEP_ALIVE_WANTED, parseKeepAlive } from "../../engine/manager/mod.ts";
import type { RequestTrace } from "../metrics/mod.ts";
import type { ServedModel } from "../models/mod.ts";
import { Deadline, follow, markPrefix, read, string } from "../request/mod.ts";
import { begun, settled } from "./begun.ts";
import { requestSignal, type ServerContext, type ServerEnv } from "../context.ts";
import type { StreamShape } from "../dialect.ts";
import { eventStream, type StreamItem } from "./sse.ts";

/** How soon a model may be there for a stream's head to wait for it, in milliseconds. */
const HEAD_MS = 250;

/** The fields that say which model is asked, alike in every route that a model answers. */
export const modelFields = {
  model: string(
    "The model that is asked; absent: the one that the server was started with, else the one used last.",
  ),
  keep_alive: read(
    KEEP_ALIVE_WANTED,
    { anyOf: [{ type: "number" }, { type: "string" }, { type: "null" }] },
    (value) => value === undefined || value === null ? null : parseKeepAlive(value),
  ).optional().meta({
    description:
      "How long the model stays in memory when nobody uses it any more, as Ollama has it: " +
      'seconds, or a time such as "5m"; 0 unloads it at once, -1 never. Absent: as the server was ' +
      "started (--keep-alive).",
  }),
};

/** What a schema with {@link modelFields} gives of them. */
export interface ModelFields {
  readonly model?: string | null;
  /** In milliseconds. */
  readonly keep_alive?: number | null;
}

/** An answer on its way. */
export interface Answer {
  /** The whole answer, when it is done. */
  whole(): Promise<unknown>;
  /**
   * Its events as JSON; those that are there together may come together.
   *
   * @param holdMs How long events that say no more than that the answer begins wait for its first token, in
   * milliseconds; absent: not at all. What the answer fails with until then is thrown.
   */
  events(holdMs?: number): AsyncGenerator<string | readonly string[]>;
  /** Ends what runs or waits for it. */
  cancel(): void;
  /** Resolves when the engine has no more to do for it, whoever reads it. */
  readonly done: Promise<unknown>;
}

/** When an answer ends that is not done. */
export interface AnswerEnds {
  readonly signal: AbortSignal;
  readonly deadline: Deadline;
  /** To be told what became of each generation; absent where nobody asks. */
  readonly onReport?: (report: GenerationReport) => void;
}

/** Makes an answer: checks what is asked, and has the engine begin. */
export type Begin = (model: ServedModel, ends: AnswerEnds) => Answer | Promise<Answer>;

/**
 * Answers a request when its model is there. A stream whose model is not there soon begins at once, and says in
 * comments what it waits for; what goes wrong from then on is an event.
 *
 * @param asked The request's body, from which its prompt's beginning is named too ({@link markPrefix}).
 * @param shape How a stream is written; absent: as the path's dialect writes them.
 */
export async function answer(
  c: Context<ServerEnv>,
  server: ServerContext,
  asked: ModelFields & { readonly stream?: boolean | null },
  begin: Begin,
  shape?: StreamShape,
): Promise<Response> {
  await markPrefix(c, asked);
  const request = new ModelRequest(c, server, asked);
  const name = await server.models.nameOf(asked.model ?? undefined);
  const model = request.model(name);
  // At once when the model is there, whether the client reads or not: nobody else gets the model's place before.
  const answer = model.then((model) => request.begin(model, begin));
  answer.catch(() => {});
  if (!asked.stream) return Response.json(await (await answer).whole());
  const { holdStreamsMs } = server;
  const events = request.hasModel || await settled(model, Math.max(HEAD_MS, holdStreamsMs))
    ? await begun((await answer).events(holdStreamsMs), holdStreamsMs)
    : eventsOf(answer, `loading model ${name}`, server.loadingCommentMs);
  const pace = { commentMs: server.commentMs, halfClosed: c.env.halfClosed };
  return eventStream(events, () => request.cancel(), pace, c.get("dialect"), shape);
}

/** Does what needs a model, and is done when the work is. */
export async function withModel<T>(
  c: Context<ServerEnv>,
  server: ServerContext,
  asked: ModelFields,
  work: (model: ServedModel, ends: AnswerEnds) => T | Promise<T>,
): Promise<T> {
  const request = new ModelRequest(c, server, asked);
  using model = await request.model(await server.models.nameOf(asked.model ?? undefined));
  return await work(model, request.ends);
}

/** A request on its way to its model, and to its answer. */
class ModelRequest {
  private readonly deadline: Deadline;
  private readonly left = new AbortController();
  private readonly signal: AbortSignal;
  private readonly trace?: RequestTrace;
  private begun?: Answer;
  /** Whether its model was there at once. */
  hasModel = false;

  constructor(
    c: Context<ServerEnv>,
    private readonly server: ServerContext,
    private readonly asked: ModelFields,
  ) {
    this.deadline = new Deadline(server.timeoutMs);
    this.trace = c.get("trace");
    this.signal = this.left.signal;
    follow(requestSignal(c.req.raw, c.env), this.left);
  }

  get ends(): AnswerEnds {
    const { signal, deadline } = this;
    return { signal, deadline, onReport: this.trace?.onReport };
  }

  /** The model, when it is there. */
  async model(name: string): Promise<ServedModel> {
    const { server: { models }, signal } = this;
    const options = { keepAliveMs: this.asked.keep_alive ?? undefined };
    const ready = models.tryAcquire(name, options);
    this.hasModel = ready !== undefined;
    if (ready !== undefined) return ready;
    return await this.deadline.within(
      signal,
      (signal) => models.acquire(name, { ...options, signal }),
      "it was still waiting for its model",
    );
  }

  /** Begins the answer. The model is let go of as soon as the engine has done its part. */
  async begin(model: ServedModel, begin: Begin): Promise<Answer> {
    try {
      this.begun = await begin(model, this.ends);
    } catch (error) {
      model.release();
      throw error;
    }
    this.begun.done.finally(() => model.release());
    this.trace?.until(this.begun.done);
    return this.begun;
  }

  /** The client has left. */
  cancel(): void {
    this.left.abort();
    this.begun?.cancel();
  }
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
