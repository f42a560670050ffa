/**
 * `POST /v1/completions`: OpenAI's legacy completions, and m40's own `top_k`, `min_p` and
 * `repetition_penalty`.
 *
 * @module
 */
import type { Hono } from "hono";
import type { Engine, GenerateRequest, Generation } from "../engine/mod.ts";
import { readJson } from "./body.ts";
import { requestSignal, requireModel, type ServerContext, type ServerEnv } from "./context.ts";
import { HttpError } from "./errors.ts";
import { cancelAll, chunksOf, startAll } from "./generations.ts";
import { type CompletionLogprobs, LogprobsWriter } from "./logprobs.ts";
import { route } from "./route.ts";
import { CompletionRequest, engineRequest, MAX_CHOICES, parseBody } from "./schemas.ts";
import { eventStream } from "./sse.ts";
import { VERSION } from "./version.ts";

/** How many tokens are generated where a request does not say; OpenAI's default. */
const DEFAULT_MAX_TOKENS = 16;

/** Tokens that a request took. */
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** One answer to one prompt. */
export interface CompletionChoice {
  text: string;
  index: number;
  logprobs: CompletionLogprobs | null;
  finish_reason: "stop" | "length" | null;
}

/** The answer, and with a part of each choice, an event of a stream. */
export interface Completion {
  id: string;
  object: "text_completion";
  /** Seconds since 1970. */
  created: number;
  model: string;
  system_fingerprint: string;
  choices: CompletionChoice[];
  usage?: Usage | null;
}

/** `POST /v1/completions`. */
export function completionsRoute(app: Hono<ServerEnv>, server: ServerContext): void {
  route(app, "/v1/completions", {
    POST: async (c) => {
      const body = parseBody(CompletionRequest, await readJson(c.req.raw, server.maxBodyBytes));
      requireModel(server, body.model ?? undefined);
      const requests = requestsOf(body, {
        signal: requestSignal(c.req.raw, c.env),
        timeoutMs: server.timeoutMs,
      });
      const head: Omit<Completion, "choices" | "usage"> = {
        id: `cmpl-${crypto.randomUUID().replaceAll("-", "")}`,
        object: "text_completion",
        created: Math.floor(Date.now() / 1000),
        model: server.modelName,
        system_fingerprint: `m40-${VERSION}`,
      };
      const answer = new CompletionAnswer(server.engine, body, requests);
      if (body.stream) {
        const withUsage = body.stream_options?.include_usage ?? false;
        return eventStream(
          answer.events(JSON.stringify(head), withUsage),
          () => answer.cancel(),
          { commentMs: server.commentMs, halfClosed: c.env.halfClosed },
        );
      }
      return Response.json({ ...head, ...await answer.whole() });
    },
  });
}

/**
 * What the engine is asked for: for each prompt `n` requests, in the order of the choices.
 *
 * @throws {HttpError} 400 for what m40 does not support, by its name.
 */
function requestsOf(
  body: CompletionRequest,
  ends: Pick<GenerateRequest, "signal" | "timeoutMs">,
): GenerateRequest[] {
  const n = body.n ?? 1;
  if (body.best_of != null && body.best_of !== n) {
    throw unsupported("best_of", "best_of is not supported other than equal to n. Leave it out.");
  }
  if (body.suffix != null && body.suffix !== "") {
    throw unsupported("suffix", "suffix is not supported. Put all of the text into the prompt.");
  }
  if (body.echo && body.logprobs != null) {
    throw unsupported(
      "echo",
      "echo together with logprobs is not supported: the prompt's tokens have none. Leave one out.",
    );
  }
  if (body.prompt.length * n > MAX_CHOICES) {
    throw new HttpError(
      400,
      "invalid_request",
      `${body.prompt.length} prompts times n = ${n} are more than ${MAX_CHOICES} completions. Send fewer at a time.`,
      { param: "n" },
    );
  }
  const common: Omit<GenerateRequest, "prompt"> = {
    ...engineRequest(body),
    maxTokens: body.max_tokens ?? DEFAULT_MAX_TOKENS,
    topLogprobs: body.logprobs ?? undefined,
    ...ends,
  };
  return body.prompt.flatMap((prompt) =>
    Array.from({ length: n }, (_, i) => ({
      ...common,
      prompt,
      // Each answer to a prompt has a stream of its own, the first the one that it has without n.
      sampling: { ...common.sampling, stream: i },
    }))
  );
}

function unsupported(param: string, message: string): HttpError {
  return new HttpError(400, "unsupported", message, { param });
}

/** A completion on its way: the running generations, as one answer or as events. */
class CompletionAnswer {
  private readonly generations: Generation[];
  /** What each choice begins with: the prompt where it is echoed. */
  private readonly echoes: string[];
  private readonly writers?: LogprobsWriter[];

  /** @throws {M40Error} What {@link Engine.generate} throws. */
  constructor(
    engine: Engine,
    private readonly body: CompletionRequest,
    requests: readonly GenerateRequest[],
  ) {
    const { tokenizer } = engine;
    this.echoes = requests.map(({ prompt }) => {
      if (!body.echo) return "";
      return typeof prompt === "string" ? prompt : tokenizer.decode(prompt);
    });
    this.generations = startAll(engine, requests);
    if (body.logprobs != null) this.writers = requests.map(() => new LogprobsWriter(tokenizer));
  }

  /** The whole answer, when it is done. */
  async whole(): Promise<{ choices: CompletionChoice[]; usage: Usage }> {
    const choices = this.echoes.map((text, index): CompletionChoice => ({
      text,
      index,
      logprobs: this.writers?.[index].write([]) ?? null,
      finish_reason: null,
    }));
    let completionTokens = 0;
    for await (const { index, chunk } of chunksOf(this.generations)) {
      const choice = choices[index];
      choice.text += chunk.text;
      choice.finish_reason = chunk.finishReason ?? null;
      completionTokens += chunk.usage?.completionTokens ?? 0;
      if (choice.logprobs !== null) append(choice.logprobs, this.writers![index], chunk.tokens);
    }
    return { choices, usage: this.usage(completionTokens) };
  }

  /**
   * The answer's events as JSON.
   *
   * @param head The JSON of what all events begin with. Events are pieced together around it: this is
   * what the server spends on every token.
   * @param withUsage Whether the last event tells the usage, and the others that they do not.
   */
  async *events(head: string, withUsage: boolean): AsyncGenerator<string> {
    const start = head.slice(0, -1) + ',"choices":[';
    const end = withUsage ? '],"usage":null}' : "]}";
    for (const [index, echo] of this.echoes.entries()) {
      if (echo !== "") {
        yield `${start}{"text":${JSON.stringify(echo)},"index":${index},` +
          `"logprobs":null,"finish_reason":null}${end}`;
      }
    }
    let completionTokens = 0;
    for await (const { index, chunk } of chunksOf(this.generations)) {
      const { text, tokens, finishReason } = chunk;
      completionTokens += chunk.usage?.completionTokens ?? 0;
      const logprobs = this.writers !== undefined && tokens.length > 0
        ? this.writers[index].write(tokens)
        : null;
      // Text that is held back needs no event.
      if (text === "" && finishReason === undefined && logprobs === null) continue;
      yield `${start}{"text":${JSON.stringify(text)},"index":${index},"logprobs":${
        logprobs === null ? "null" : JSON.stringify(logprobs)
      },"finish_reason":${finishReason === undefined ? "null" : `"${finishReason}"`}}${end}`;
    }
    if (withUsage) yield `${start}],"usage":${JSON.stringify(this.usage(completionTokens))}}`;
  }

  /** Ends the generations that run or wait. */
  cancel(): void {
    cancelAll(this.generations);
  }

  /** Tokens of all choices; a prompt counts once, whatever n is. */
  private usage(completionTokens: number): Usage {
    const n = this.body.n ?? 1;
    const promptTokens = this.generations
      .filter((_, index) => index % n === 0)
      .reduce((sum, { promptTokens }) => sum + promptTokens, 0);
    return {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    };
  }
}

/** Adds the log-probabilities of more tokens. */
function append(
  logprobs: CompletionLogprobs,
  writer: LogprobsWriter,
  tokens: Parameters<LogprobsWriter["write"]>[0],
): void {
  const more = writer.write(tokens);
  logprobs.tokens.push(...more.tokens);
  logprobs.token_logprobs.push(...more.token_logprobs);
  logprobs.top_logprobs.push(...more.top_logprobs);
  logprobs.text_offset.push(...more.text_offset);
}
