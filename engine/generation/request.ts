import {
  type OutputFormat,
  TaggedReasoning,
  toolConstraint,
  ToolOutput,
  type ToolUse,
} from "../chat/mod.ts";
import { MAX_TOP_LOGPROBS } from "../device/mod.ts";
import { type Constraint, Constraints } from "../grammar/mod.ts";
import {
  checkRange,
  MAX_STOP_STRINGS,
  MAX_STOP_TOKENS,
  type ParameterNames,
  type SamplingParameters,
  type Steering,
  validateSampling,
} from "../sampling/mod.ts";
import type { SideThread } from "../side_thread/mod.ts";
import { LongestToken, type Tokenizer } from "../tokenizer/mod.ts";
import { M40Error, PromptTooLong } from "../errors.ts";
import type { GenerationOptions } from "./generation.ts";
import type { GenerationReport } from "./observer.ts";

/** One request for text. */
export interface GenerateRequest {
  prompt: string | readonly number[];
  /** Tokens sampled at most, 0 to check the prompt alone; default: as many as the context has room for. */
  maxTokens?: number;
  /** Up to 16 strings that end the output; they are not part of it. None: {@link Engine.stopDefaults}. */
  stop?: readonly string[];
  /** Up to 128 tokens that end the output, in addition to the model's own; they are not part of it. */
  stopTokens?: readonly number[];
  /** What it does not say is as {@link Engine.samplingDefaults} have it, and else as usual. */
  sampling?: Partial<SamplingParameters>;
  /** Says now and then what comes next, whatever the model would say. */
  steering?: Steering;
  /** What the answer's content must be like; reasoning before it is free. Not with `steering`, nor without an end. */
  constraint?: Constraint;
  /** 0 to 20: tokens carry their log-probability and those of so many likeliest tokens. */
  topLogprobs?: number;
  /** Whether special tokens in a prompt's text are tokens; default true. */
  parseSpecial?: boolean;
  /** How reasoning is separated from content, see {@link ChatFormat.prompt}; default: all is content. */
  format?: OutputFormat;
  /** The tools that the answer may call, as {@link ChatPrompt.tools} has them. Not with `steering`, nor without an end. */
  tools?: ToolUse;
  /** "separate" (default): reasoning is separated from content, by `format`; "inline": the output is left as it is. */
  reasoning?: "separate" | "inline";
  /** Tokens of reasoning at most, then the model has to answer; 0 for none. Default: no limit. */
  reasoningBudget?: number;
  /** What the caller calls parameters, where that is not the name in OpenAI's requests: for errors. */
  names?: ParameterNames;
  /** Aborting it ends the generation. */
  signal?: AbortSignal;
  /** After so many milliseconds the generation ends with the error "timeout"; default: never. */
  timeoutMs?: number;
  /** From when `timeoutMs` counts, by `performance.now()`; default: from now on. */
  timeoutFrom?: number;
  /** Called once with its outcome. What it throws counts as an observer's. */
  onReport?: (report: GenerationReport) => void;
}

/** The thread for work off the event loop. */
export interface SideThreads {
  readonly grammars: SideThread;
  readonly texts: SideThread;
}

/** Texts of so many characters or more are encoded off the event loop: it takes milliseconds. */
export const LONG_TEXT = 16_384;

/** Checks requests and turns them into what generations are made from. */
export class RequestChecker {
  /** How tokens are sampled where a request does not say. */
  private readonly sampling: SamplingParameters;
  private readonly longestToken: LongestToken;
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
    private readonly tokenizer: Tokenizer,
    private readonly vocabSize: number,
    private readonly contextTokens: number,
    private readonly mostContextTokens: number,
    private readonly trainedTokens: number,
    samplingDefaults: Partial<SamplingParameters> = {},
    private readonly stopDefaults: readonly string[] = [],
  ) {
    this.sampling = validateSampling(samplingDefaults, vocabSize);
    this.longestToken = new LongestToken(tokenizer);
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
    if (this.longestToken.leastBeyond(prompt, this.contextTokens) !== undefined) return request;
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
   * What is to be generated. Equal prompts are encoded once, and are the same array.
   *
   * @throws {M40Error} "invalid_request" naming the parameter; "context_length_exceeded".
   */
  checkAll(requests: readonly GenerateRequest[]): GenerationOptions[] {
    if (requests.length === 1) return [this.check(requests[0])];
    const tokensOf = oncePerPrompt((request) => this.promptTokens(request));
    return requests.map((request) => this.check(request, tokensOf));
  }

  private check(
    request: GenerateRequest,
    tokensOf?: (request: GenerateRequest) => readonly number[],
  ): GenerationOptions {
    const { tokenizer } = this;
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
    const room = this.contextTokens - prompt.length;
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
    const ends = stopTokens?.length ? stopTokensOf(stopTokens, this.vocabSize) : undefined;
    // Timers take no more than 2^31 - 1 milliseconds, 24 days.
    if (timeoutMs !== undefined) checkRange("timeout", timeoutMs, { min: 1, max: 2 ** 31 - 1 });
    return {
      prompt,
      maxTokens: Math.min(request.maxTokens ?? room, room),
      limitName,
      sampling,
      stop,
      // Sequences with the same set of end tokens share it on the device.
      endTokens: ends?.union(tokenizer.endTokens) ?? tokenizer.endTokens,
      stopTokens: ends,
      suppressed: tokenizer.suppressed,
      tokenBytes: this.tokenBytes,
      topLogprobs: topLogprobs ?? 0,
      logprobs: topLogprobs !== undefined,
      format,
      inline: request.reasoning === "inline",
      steering,
      signal: request.signal,
      timeoutMs,
      timeoutFrom: request.timeoutFrom,
      onReport: request.onReport,
    };
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
    const least = this.longestToken.leastBeyond(request.prompt, this.contextTokens);
    if (least !== undefined) throw this.promptTooLong(request, least, "at least ");
    const tokens = this.tokenizer.encode(request.prompt, {
      parseSpecial: request.parseSpecial ?? true,
    });
    if (tokens.length === 0) {
      throw new M40Error("invalid_request", "the prompt is empty; wanted some text", "prompt");
    }
    return tokens;
  }

  /** Tokens that a prompt may have: an answer needs room for at least one token. */
  private mostPromptTokens({ maxTokens }: GenerateRequest): number {
    return maxTokens === 0 ? this.contextTokens : this.contextTokens - 1;
  }

  private promptTooLong(request: GenerateRequest, tokens: number, least = ""): PromptTooLong {
    return new PromptTooLong(
      `the prompt has ${least}${tokens} tokens; the context has ${this.contextTokens}, prompt and output ` +
        `together. Shorten the prompt${this.contextAdvice()}.`,
      "prompt",
      tokens,
      this.mostPromptTokens(request),
    );
  }

  /** What else to do about a prompt that is too long, or why there is nothing else. */
  private contextAdvice(): string {
    if (this.contextTokens < this.mostContextTokens) {
      return `, or load the model with a larger context (--ctx, up to ${this.mostContextTokens})`;
    }
    return this.contextTokens < this.trainedTokens
      ? `: there is no memory for a larger context (the model was trained for ${this.trainedTokens})`
      : ": the model was trained for no more";
  }

  /** Checks the tokens of a text that is evaluated as it is: ids from outside, no more than a context has. */
  checkText(tokens: readonly number[]): readonly number[] {
    const checked = this.checkTokens(tokens);
    if (checked.length <= this.contextTokens) return checked;
    throw new M40Error(
      "context_length_exceeded",
      `got ${checked.length} tokens; the context has ${this.contextTokens}`,
      "tokens",
    );
  }

  /**
   * The tokens of a text that is embedded, those that begin and end one included.
   *
   * @param param What the caller calls it, for errors.
   * @param truncate Whether it is cut where it has more than the context; what ends it stays.
   * @throws {M40Error} "invalid_request" for an empty one, "context_length_exceeded".
   */
  embeddingTokens(
    text: string | readonly number[],
    param: string,
    truncate = false,
  ): readonly number[] {
    const most = this.contextTokens;
    const tokens = typeof text === "string"
      ? this.tokenizer.encode(truncate ? this.longestToken.within(text, most) : text)
      : this.checkTokens(text, param);
    const hasText = typeof text !== "string" || text !== "";
    if (!hasText) {
      throw new M40Error(
        "invalid_request",
        "a text is empty; wanted one with something in it",
        param,
      );
    }
    if (!truncate) this.checkEmbeddingLength(tokens.length, param);
    if (tokens.length <= most) return tokens;
    const end = tokens.slice(-1).filter((token) =>
      this.tokenizer.addEos && token === this.tokenizer.eos
    );
    return [...tokens.slice(0, most - end.length), ...end];
  }

  /** @throws {M40Error} "context_length_exceeded" for a text of more tokens than the context has. */
  checkEmbeddingLength(tokens: number, param: string): void {
    if (tokens <= this.contextTokens) return;
    throw new M40Error(
      "context_length_exceeded",
      `a text has ${tokens} tokens; the context has ${this.contextTokens}. Shorten it${this.contextAdvice()}.`,
      param,
    );
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
