import { type OutputFormat, TaggedReasoning, toolConstraint, ToolOutput } from "../chat/mod.ts";
import { MAX_TOP_LOGPROBS } from "../device/mod.ts";
import { Constraints } from "../grammar/mod.ts";
import {
  checkRange,
  MAX_STOP_STRINGS,
  MAX_STOP_TOKENS,
  type SamplingParameters,
  type Steering,
  validateSampling,
} from "../sampling/mod.ts";
import { Sequence } from "../scheduler/mod.ts";
import type { SideThread } from "../side_thread/mod.ts";
import type { Tokenizer } from "../tokenizer/mod.ts";
import { M40Error, PromptTooLong } from "../errors.ts";
import { Generation, type GenerationServices } from "./generation.ts";
import type { GenerateRequest } from "./request.ts";
import { StopStrings } from "./stop_strings.ts";

/** Texts of so many characters or more are encoded off the event loop: it takes milliseconds. */
export const LONG_TEXT = 16_384;

/** The threads for work off the event loop. */
export interface SideThreads {
  readonly grammars: SideThread;
  readonly texts: SideThread;
}

/** Checks requests and makes generations of them. */
export class RequestChecker {
  /** How tokens are sampled where a request does not say. */
  private readonly sampling: SamplingParameters;
  private readonly constraints: Constraints;
  /** The text of a token, in UTF-8. */
  private readonly tokenBytes: (token: number) => Uint8Array;

  /**
   * @param vocabSize Tokens that the model knows; the tokenizer may know fewer.
   * @param contextTokens Tokens of one sequence at most, prompt and output together.
   * @param mostContextTokens What that could be at most here: what memory and the model allow.
   * @param trainedTokens What the model was trained for.
   * @param samplingDefaults How tokens are sampled where a request does not say.
   * @param stopDefaults What ends the output where a request does not say.
   */
  constructor(
    readonly tokenizer: Tokenizer,
    private readonly vocabSize: number,
    readonly contextTokens: number,
    private readonly mostContextTokens: number,
    private readonly trainedTokens: number,
    samplingDefaults: Partial<SamplingParameters> = {},
    private readonly stopDefaults: readonly string[] = [],
  ) {
    this.sampling = validateSampling(samplingDefaults, vocabSize);
    this.constraints = new Constraints(tokenizer, vocabSize);
    this.tokenBytes = (token) =>
      token < tokenizer.vocabSize ? tokenizer.tokenBytes(token) : new Uint8Array(0);
  }

  /** Prepares what requests need, in pieces between which others have their turn. */
  prepare(): void {
    this.constraints.prepare();
  }

  /** Prepares nothing more. */
  stop(): void {
    this.constraints.stop();
  }

  /**
   * Does off the event loop what a request can make long: its grammar, and the tokens of a long prompt.
   *
   * @returns The request with what was found out: {@link checkAll} takes little time for it.
   * @throws {M40Error} As {@link checkAll} does, "cancelled" where its signal ends it, "internal".
   */
  async ready(request: GenerateRequest, side: SideThreads): Promise<GenerateRequest> {
    if (request.tools ?? request.constraint) await this.readyConstraint(request, side.grammars);
    const { prompt, parseSpecial = true, signal } = request;
    if (typeof prompt !== "string" || prompt.length < LONG_TEXT) return request;
    if (this.tokenizer.leastBeyond(prompt, this.contextTokens) !== undefined) return request;
    const job = { kind: "encode", text: prompt, addSpecial: true, parseSpecial } as const;
    return { ...request, prompt: Array.from(await side.texts.run(job, signal)) };
  }

  private async readyConstraint(request: GenerateRequest, side: SideThread): Promise<void> {
    const { constraint: content, tools, format, signal } = request;
    const spaced = format !== undefined;
    if (tools !== undefined) {
      await this.constraints.ready(
        toolConstraint(this.tokenizer, tools, content),
        (unwanted) => side.buildTools(tools, content, spaced, unwanted),
        signal,
        contentTrack(request),
      );
    } else if (content !== undefined) {
      const build = (unwanted: AbortSignal) => side.build(content, spaced, unwanted);
      await this.constraints.ready(content, build, signal, contentTrack(request));
    }
  }

  /**
   * What they ask for, not yet queued. Equal prompts are encoded once, and computed once.
   *
   * @throws {M40Error} "invalid_request" naming the parameter; "context_length_exceeded".
   */
  checkAll(requests: readonly GenerateRequest[], services: GenerationServices): Generation[] {
    if (requests.length === 1) return [this.check(requests[0], services)];
    const tokensOf = oncePerPrompt((request) => this.promptTokens(request));
    const leaders = new Map<readonly number[], Sequence>();
    return requests.map((request) => this.check(request, services, tokensOf, leaders));
  }

  /** @param leaders By their prompts, those whose KV blocks others with the same prompt share. */
  private check(
    request: GenerateRequest,
    services: GenerationServices,
    tokensOf?: (request: GenerateRequest) => readonly number[],
    leaders?: Map<readonly number[], Sequence>,
  ): Generation {
    const { tokenizer, vocabSize, contextTokens } = this;
    const { tools, constraint, reasoningBudget, stopTokens, topLogprobs, timeoutMs } = request;
    const stop = request.stop?.length ? request.stop : this.stopDefaults;
    const sampling = this.samplingOf(request);
    if (topLogprobs !== undefined) {
      checkRange("logprobs", topLogprobs, { min: 0, max: MAX_TOP_LOGPROBS, integer: true });
    }
    if (stop.length > MAX_STOP_STRINGS || stop.includes("")) {
      throw new M40Error(
        "invalid_request",
        stop.length > MAX_STOP_STRINGS
          ? `stop has ${stop.length} strings; wanted at most ${MAX_STOP_STRINGS}`
          : "stop has an empty string; wanted strings of at least one character",
        "stop",
      );
    }
    const limitName = request.names?.max_tokens ?? "max_tokens";
    if (request.maxTokens !== undefined) {
      checkRange(limitName, request.maxTokens, { min: 0, max: 2 ** 31, integer: true });
      const { minTokens = 0 } = request.sampling ?? {};
      if (minTokens > request.maxTokens) {
        throw new M40Error(
          "invalid_request",
          `min_tokens is ${minTokens}; wanted no more than ${limitName}, ${request.maxTokens}`,
          "min_tokens",
        );
      }
    }
    const prompt = tokensOf === undefined ? this.promptTokens(request) : tokensOf(request);
    const room = contextTokens - prompt.length;
    if (room < (request.maxTokens === 0 ? 0 : 1)) throw this.promptTooLong(request, prompt.length);
    const format = tools === undefined
      ? request.format
      // Calls of tools are separated from the content.
      : new ToolOutput(
        request.format ?? new TaggedReasoning(tokenizer, "content"),
        tools,
        tokenizer,
      );
    let steering = tools === undefined && constraint === undefined
      ? request.steering
      : this.constraintOf(request, sampling);
    if (reasoningBudget !== undefined) steering = budgeted(steering, format, reasoningBudget);
    const ends = stopTokens?.length ? stopTokensOf(stopTokens, vocabSize) : undefined;
    // Timers take no more than 2^31 - 1 milliseconds, 24 days.
    if (timeoutMs !== undefined) checkRange("timeout", timeoutMs, { min: 1, max: 2 ** 31 - 1 });
    const leader = leaders?.get(prompt);
    const sequence = new Sequence({
      prompt,
      leader,
      maxTokens: Math.min(request.maxTokens ?? room, room),
      limitName,
      sampling,
      // Sequences with the same set of end tokens share it on the device.
      endTokens: ends?.union(tokenizer.endTokens) ?? tokenizer.endTokens,
      stopTokens: ends,
      suppressed: tokenizer.suppressed,
      tokenBytes: this.tokenBytes,
      topLogprobs: topLogprobs ?? 0,
      logprobs: topLogprobs !== undefined,
      steering,
    });
    const reader = format?.reader(request.reasoning === "inline");
    const stops = stop.length > 0 ? new StopStrings(stop) : undefined;
    const generation = new Generation(request, sequence, reader, stops, services);
    // One that computes nothing has no followers.
    if (leader === undefined && generation.computes) leaders?.set(prompt, sequence);
    return generation;
  }

  /**
   * How a request is sampled. What it asks for goes before the model's defaults that would contradict it: nobody who
   * sends it has chosen those.
   */
  private samplingOf(
    { sampling, maxTokens = Infinity, constraint, tools, names }: GenerateRequest,
  ): SamplingParameters {
    const all = sampling === undefined
      ? this.sampling
      : validateSampling(sampling, this.vocabSize, this.sampling, names);
    const mustEnd = all.ignoreEos && sampling?.ignoreEos === undefined &&
      (constraint ?? tools) !== undefined;
    if (all.minTokens <= maxTokens && !mustEnd) return all;
    return {
      ...all,
      minTokens: Math.min(all.minTokens, maxTokens),
      ignoreEos: all.ignoreEos && !mustEnd,
    };
  }

  /** What holds the answer to its constraint, and its calls to their tools. */
  private constraintOf(
    { constraint: content, format, steering, tools }: GenerateRequest,
    { ignoreEos }: SamplingParameters,
  ): Steering | undefined {
    const constraint = tools === undefined
      ? content
      : toolConstraint(this.tokenizer, tools, content);
    if (constraint === undefined) return steering;
    const { param = constraint.kind } = constraint;
    if (ignoreEos) {
      throw new M40Error(
        "invalid_request",
        `${param} together with ignore_eos: an answer that is complete has to end. Leave one of them out.`,
        param,
      );
    }
    if (steering !== undefined) {
      throw new M40Error("invalid_request", "got a constraint and a steering; wanted one of them");
    }
    return this.constraints.steering(constraint, contentTrack({ tools, format }));
  }

  private promptTokens(request: GenerateRequest): readonly number[] {
    if (typeof request.prompt !== "string") return this.checkTokens(request.prompt);
    const least = this.tokenizer.leastBeyond(request.prompt, this.contextTokens);
    if (least !== undefined) throw this.promptTooLong(request, least, "at least ");
    const tokens = this.tokenizer.encode(request.prompt, {
      parseSpecial: request.parseSpecial ?? true,
    });
    if (tokens.length === 0) {
      throw new M40Error("invalid_request", "the prompt is empty; wanted some text", "prompt");
    }
    return tokens;
  }

  private promptTooLong(request: GenerateRequest, tokens: number, least = ""): PromptTooLong {
    const { contextTokens } = this;
    return new PromptTooLong(
      `the prompt has ${least}${tokens} tokens; the context has ${contextTokens}, prompt and output ` +
        `together. Shorten the prompt${this.contextAdvice()}.`,
      "prompt",
      tokens,
      // An answer needs room for at least one token.
      request.maxTokens === 0 ? contextTokens : contextTokens - 1,
    );
  }

  /** What else to do about a prompt that is too long, or why there is nothing else. */
  contextAdvice(): string {
    if (this.contextTokens < this.mostContextTokens) {
      return `, or load the model with a larger context (--ctx, up to ${this.mostContextTokens})`;
    }
    return this.contextTokens < this.trainedTokens
      ? `: there is no memory for a larger context (the model was trained for ${this.trainedTokens})`
      : ": the model was trained for no more";
  }

  /** Checks token ids that come from outside. */
  checkTokens(tokens: readonly number[], param = "prompt"): readonly number[] {
    if (tokens.length === 0) {
      throw new M40Error("invalid_request", "got no tokens; wanted at least one", param);
    }
    for (const token of tokens) {
      if (Number.isInteger(token) && token >= 0 && token < this.vocabSize) continue;
      throw new M40Error(
        "invalid_request",
        `got token ${token}; wanted ids from 0 to ${this.vocabSize - 1}`,
        param,
      );
    }
    return tokens;
  }
}

/** Tokens of requests' prompts: equal ones are encoded once, and give the same array. */
function oncePerPrompt(
  encode: (request: GenerateRequest) => readonly number[],
): (request: GenerateRequest) => readonly number[] {
  // Most requests for several answers pass the same array.
  const byArray = new Map<readonly number[], readonly number[]>();
  const byContent = new Map<string, readonly number[]>();
  return (request) => {
    const { prompt, parseSpecial = true } = request;
    const text = typeof prompt === "string";
    const seen = text ? undefined : byArray.get(prompt);
    if (seen !== undefined) return seen;
    const key = text ? `${parseSpecial} ${prompt}` : prompt.join();
    const tokens = byContent.get(key) ?? encode(request);
    byContent.set(key, tokens);
    if (!text) byArray.set(prompt, tokens);
    return tokens;
  };
}

/** Where an answer's content begins, where reasoning may come before it. */
function contentTrack({ tools, format }: Pick<GenerateRequest, "tools" | "format">) {
  // Such a format's calls may begin where content does not.
  return tools?.format.whole === undefined ? format?.content() : undefined;
}

/** What steers an answer, and ends its reasoning after so many tokens. */
function budgeted(
  steering: Steering | undefined,
  format: OutputFormat | undefined,
  reasoningBudget: number,
): Steering {
  checkRange("reasoning_budget", reasoningBudget, { min: 0, max: 2 ** 31, integer: true });
  const budget = format?.limit(reasoningBudget);
  return {
    next: (generated) => budget?.next(generated) ?? steering?.next(generated),
    allowed: (generated, drafted) => steering?.allowed?.(generated, drafted),
    proceed: (generated) => steering?.proceed?.(generated) ?? true,
    draft: (generated, most) =>
      budget?.next(generated) === undefined ? steering?.draft?.(generated, most) ?? [] : [],
    prepare: (generated) => steering?.prepare?.(generated) ?? false,
    begun: (over) => steering?.begun?.(over),
  };
}

/** The tokens that end the output by a request. */
function stopTokensOf(stopTokens: readonly number[], vocabSize: number): ReadonlySet<number> {
  const param = "stop_token_ids";
  const wrong = (message: string) => new M40Error("invalid_request", `${param} ${message}`, param);
  if (stopTokens.length > MAX_STOP_TOKENS) {
    throw wrong(`has ${stopTokens.length} tokens; wanted at most ${MAX_STOP_TOKENS}`);
  }
  const unknown = stopTokens.find((id) => !Number.isInteger(id) || id < 0 || id >= vocabSize);
  if (unknown !== undefined) {
    throw wrong(`names token ${unknown}; wanted an id from 0 to ${vocabSize - 1}`);
  }
  return new Set(stopTokens);
}
