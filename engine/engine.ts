import { findLibrary, KernelLibrary, libraryPaths } from "./device/library.ts";
import type { DeviceInfo } from "./device/library.ts";
import type { Cache, Context } from "./device/context.ts";
import type { Program, StepResult } from "./device/program.ts";
import { MAX_TOP_LOGPROBS } from "./device/structs.ts";
import type { StepSequence } from "./device/step_block.ts";
import { M40Error } from "./errors.ts";
import { Generation, type GenerationObserver, type GenerationPlan } from "./generation.ts";
import { type Gguf, readGguf } from "./gguf/reader.ts";
import { type KvType, type MemoryPlan, planMemory } from "./memory_plan.ts";
import { architectureOf } from "./models/architecture.ts";
import { describeModel, type ModelInfo } from "./model_info.ts";
import { encodeOperations } from "./program/operation.ts";
import type { ProgramSource } from "./program/builder.ts";
import { checkRange, type SamplingParameters, validateSampling } from "./sampling/parameters.ts";
import { BlockManager } from "./scheduler/block_manager.ts";
import { HostPages } from "./scheduler/host_pages.ts";
import {
  Scheduler,
  type SchedulerCounts,
  type SchedulerStatus,
  type StepReport,
} from "./scheduler/scheduler.ts";
import { TokenTexts } from "./tokenizer/token_texts.ts";
import { loadTokenizer, type Tokenizer } from "./tokenizer/tokenizer.ts";

/** How a model is loaded. */
export interface EngineOptions {
  /** "auto" (default: a GPU if there is one), "cpu", "cuda" or "cuda:N". */
  device?: string;
  /** Tokens that one sequence may have, prompt and output together; absent: what the model and memory allow. */
  contextTokens?: number;
  /** CPU only: threads; absent is one a physical core. */
  threads?: number;
  /** How the KV cache holds its values; default "f16". */
  kvType?: KvType;
  /** Sequences that run at the same time; default 32 on a GPU, 4 on the CPU. */
  parallel?: number;
  /** KV pages at most; absent: as many as there is memory for and use. */
  kvPages?: number;
  /** Requests that may wait for their turn; default 64. */
  maxQueue?: number;
  /** The longest that a chunk of a prompt may delay those who decode, in milliseconds; default 50. */
  chunkMs?: number;
  /**
   * Bytes of host memory for the KV pages of sequences that give way to others; default as many as the
   * KV cache has, up to 2 GiB. What finds no room there is computed again.
   */
  hostCacheBytes?: number;
  /** Positions whose logits one step can give, for {@link Engine.evaluate}; default 1. */
  logitsOutputs?: number;
  /** What the model is called; default `general.name` or the file's name. */
  name?: string;
  /** Told the bytes of weights that are uploaded, and how many there are. */
  onProgress?: (done: number, total: number) => void;
}

/** One request for text. */
export interface GenerateRequest {
  prompt: string | readonly number[];
  /** Tokens drawn at most; default: as many as the context has room for. */
  maxTokens?: number;
  /** Up to 16 strings that end the output; they are not part of it. */
  stop?: readonly string[];
  sampling?: Partial<SamplingParameters>;
  /** 0 to 20: tokens carry their log-probability and those of so many likeliest tokens. */
  topLogprobs?: number;
  /** Whether special tokens in a prompt's text are tokens; default true. */
  parseSpecial?: boolean;
  /** Aborting it ends the generation. */
  signal?: AbortSignal;
  /** After so many milliseconds the generation ends with the error "timeout"; default: never. */
  timeoutMs?: number;
}

const MAX_STOP_STRINGS = 16;
const DEFAULT_HOST_CACHE_BYTES = 2 * 2 ** 30;

/** Who is told what happens in an engine. */
export interface EngineObserver extends GenerationObserver {
  /** After every step. */
  step?(report: StepReport): void;
}

/** What an engine does at the moment, and has done since it was loaded. */
export interface EngineStatus extends SchedulerStatus, Readonly<SchedulerCounts> {
  /** KV pages in all, held by sequences, and kept for prompts that begin alike. */
  readonly pages: number;
  readonly usedPages: number;
  readonly idlePages: number;
}

/** One sequence, for a person to look at. */
export interface SlotStatus {
  readonly id: number;
  readonly state: "decoding" | "prompt" | "waiting" | "preempted";
  readonly promptTokens: number;
  readonly computedTokens: number;
  readonly generatedTokens: number;
  readonly pages: number;
  /** Since it arrived, in milliseconds. */
  readonly ageMs: number;
}

/** A model on a device: text in, tokens out. */
export class Engine {
  private readonly scheduler: Scheduler;
  private lock: Promise<unknown> = Promise.resolve();
  /** Told of every step and request. */
  observer?: EngineObserver;
  private readonly blocks: BlockManager;
  private readonly texts: TokenTexts;
  private readonly logitsOutputs: number;
  private closed = false;
  private longestToken?: number;

  private constructor(
    readonly model: ModelInfo,
    readonly tokenizer: Tokenizer,
    /** What the model runs on. */
    readonly device: DeviceInfo & { readonly backend: string; readonly threads?: number },
    /** Where the device's memory went. */
    readonly plan: MemoryPlan,
    private readonly library: KernelLibrary,
    private readonly context: Context,
    private readonly program: Program,
    cache: Cache,
    options: Required<Pick<EngineOptions, "maxQueue" | "chunkMs" | "logitsOutputs">>,
    hostCacheBytes: number,
  ) {
    this.logitsOutputs = options.logitsOutputs;
    this.texts = new TokenTexts(tokenizer);
    this.blocks = new BlockManager(plan.pages, plan.pageTokens);
    const { pageBytes } = context.cacheBytes(plan.cache);
    const pages = Math.floor(hostCacheBytes / pageBytes);
    const host = pages > 0
      ? new HostPages(cache, context.hostMemory(pages * pageBytes), pageBytes)
      : undefined;
    const runner = { step: (sequences: readonly StepSequence[]) => this.step(sequences, false) };
    this.scheduler = new Scheduler(runner, this.blocks, cache, {
      maxRunning: plan.limits.n_sequences,
      maxWaiting: options.maxQueue,
      stepTokens: plan.limits.n_tokens,
      chunkMs: options.chunkMs,
    }, host);
    this.scheduler.onStep = (report) => this.observer?.step?.(report);
  }

  /**
   * Loads a GGUF file.
   *
   * @throws {M40Error} "invalid_model" or "unsupported" for the file or the device, "out_of_memory" where
   * it does not fit, "invalid_request" for an option, "io" or "device" where reading or uploading failed.
   */
  static async load(path: string, options: EngineOptions = {}): Promise<Engine> {
    const gguf = await readGguf(path);
    const { shape, program: source } = architectureOf(gguf).read(gguf);
    const tokenizer = loadTokenizer(gguf.metadata);
    if (tokenizer.vocabSize > shape.vocabSize) {
      throw new M40Error(
        "invalid_model",
        `${path}: the vocabulary has ${tokenizer.vocabSize} tokens, but the embeddings ${shape.vocabSize} rows`,
      );
    }
    const maxQueue = integerOption("max_queue", options.maxQueue ?? 64, 0, 1_000_000);
    const chunkMs = integerOption("chunk_ms", options.chunkMs ?? 50, 1, 60_000);
    const logitsOutputs = integerOption("logits_outputs", options.logitsOutputs ?? 1, 1, 4096);
    const threads = options.threads && integerOption("threads", options.threads, 1, 1024);
    const { library, index } = openDevice(options.device ?? "auto");
    let context: Context | undefined;
    try {
      const info = library.device(index);
      context = library.createContext({ device: index, threads });
      const onGpu = library.backend === "cuda";
      const plan = planMemory(context, source, shape, {
        contextTokens: options.contextTokens,
        kvType: options.kvType ?? "f16",
        maxRunning: integerOption("parallel", options.parallel ?? (onGpu ? 32 : 4), 1, 256),
        outputs: logitsOutputs,
        freeBytes: info.freeBytes,
        fill: onGpu,
        pages: options.kvPages,
      });
      const hostCacheBytes = integerOption(
        "host_cache_bytes",
        options.hostCacheBytes ?? Math.min(plan.cacheBytes, DEFAULT_HOST_CACHE_BYTES),
        0,
        2 ** 46,
      );
      const { program, cache } = await place(context, gguf, source, plan, options.onProgress);
      return new Engine(
        describeModel(gguf, shape, options.name),
        tokenizer,
        { ...info, backend: library.backend, threads: threads || undefined },
        plan,
        library,
        context,
        program,
        cache,
        { maxQueue, chunkMs, logitsOutputs },
        hostCacheBytes,
      );
    } catch (error) {
      context?.close();
      library.close();
      throw error;
    }
  }

  /** Tokens that one sequence may have, prompt and output together. */
  get contextTokens(): number {
    return this.plan.contextTokens;
  }

  /**
   * Checks a request and queues it.
   *
   * @throws {M40Error} "invalid_request" naming the parameter, "context_length_exceeded", "queue_full",
   * "device" where the device was lost.
   */
  generate(request: GenerateRequest): Generation {
    return this.generateAll([request])[0];
  }

  /**
   * Checks requests and queues all of them or none; fails as {@link generate} does. Those with the same
   * prompt compute it once.
   */
  generateAll(requests: readonly GenerateRequest[]): Generation[] {
    this.assertOpen();
    const leaders = new Map<string, Generation>();
    const generations = requests.map((request) => {
      const plan = this.planOf(request);
      const key = requests.length > 1 ? plan.prompt.join() : "";
      const generation = new Generation(
        plan,
        this.tokenizer,
        this.texts,
        this.scheduler,
        this.observer,
        leaders.get(key),
      );
      if (!leaders.has(key)) leaders.set(key, generation);
      return generation;
    });
    Generation.start(generations, this.scheduler);
    return generations;
  }

  private planOf(request: GenerateRequest): GenerationPlan {
    const { stop = [], topLogprobs } = request;
    const sampling = validateSampling(request.sampling ?? {}, this.model.vocabSize);
    if (topLogprobs !== undefined) {
      checkRange("logprobs", topLogprobs, { min: 0, max: MAX_TOP_LOGPROBS, integer: true });
    }
    if (stop.length > MAX_STOP_STRINGS || stop.some((text) => text === "")) {
      throw new M40Error(
        "invalid_request",
        stop.length > MAX_STOP_STRINGS
          ? `stop has ${stop.length} strings; wanted at most ${MAX_STOP_STRINGS}`
          : "stop has an empty string; wanted strings of at least one character",
        "stop",
      );
    }
    const prompt = this.promptTokens(request);
    const room = this.contextTokens - prompt.length;
    if (room < 1) throw this.promptTooLong(String(prompt.length));
    if (request.maxTokens !== undefined) {
      checkRange("max_tokens", request.maxTokens, { min: 1, max: 2 ** 31, integer: true });
    }
    const maxTokens = Math.min(request.maxTokens ?? room, room);
    return { prompt, maxTokens, sampling, stop, topLogprobs, ...limitsOf(request) };
  }

  /**
   * The logits of every position, in order: what the model expects after each token.
   *
   * @param tokens From one token to as many as the context has.
   * @returns Positions from 0 and logits [vocabulary], which are valid until the next is asked for.
   */
  async *evaluate(
    tokens: readonly number[],
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<{ position: number; logits: Float32Array }> {
    this.assertOpen();
    const prompt = this.checkTokens(tokens);
    if (prompt.length > this.contextTokens) {
      throw new M40Error(
        "context_length_exceeded",
        `got ${prompt.length} tokens; the context has ${this.contextTokens}`,
        "tokens",
      );
    }
    const pages = this.blocks.allocate(Math.ceil(prompt.length / this.plan.pageTokens));
    if (pages === undefined) {
      throw new M40Error("queue_full", "the KV cache is in use; try again when no request runs");
    }
    const { vocabSize } = this.model;
    const chunk = Math.min(this.logitsOutputs, this.plan.limits.n_tokens);
    try {
      for (let position = 0; position < prompt.length; position += chunk) {
        options.signal?.throwIfAborted();
        const part = prompt.slice(position, position + chunk);
        const outputs = part.map((_, row) => ({ row }));
        const { logits } = await this.step([{ tokens: part, position, pages, outputs }], true);
        for (let row = 0; row < part.length; row++) {
          yield {
            position: position + row,
            logits: logits!.subarray(row * vocabSize, (row + 1) * vocabSize),
          };
        }
      }
    } finally {
      this.blocks.release(pages);
    }
  }

  /** What the engine does, and has done. */
  status(): EngineStatus {
    const { pages, freePages, idlePages } = this.blocks;
    return {
      ...this.scheduler.status(),
      ...this.scheduler.counts,
      pages,
      usedPages: pages - freePages,
      idlePages,
    };
  }

  /** Memory of the device, as it is now, in bytes. */
  deviceMemory(): { total: number; free: number } {
    const { memoryBytes, freeBytes } = this.library.device(this.device.index);
    return { total: memoryBytes, free: freeBytes };
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    await this.scheduler.idle();
  }

  /** The sequences that run and wait, in the order in which they are served. */
  slots(): SlotStatus[] {
    const now = performance.now();
    return this.scheduler.sequences().map((sequence) => ({
      id: sequence.arrival,
      state: sequence.pages.length > 0
        ? (sequence.drawn > 0 ? "decoding" : "prompt")
        : (sequence.drawn > 0 ? "preempted" : "waiting"),
      promptTokens: sequence.prompt.length,
      computedTokens: sequence.computed,
      generatedTokens: sequence.drawn,
      pages: sequence.pages.length,
      ageMs: now - sequence.arrivedAt,
    }));
  }

  /** Waits for what runs, then frees the device. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.scheduler.idle();
    await this.lock;
    this.context.close();
    this.library.close();
  }

  /** One step at a time. */
  private step(sequences: readonly StepSequence[], logits: boolean): Promise<StepResult> {
    const result = this.lock.then(() => this.program.step(sequences, { logits }));
    this.lock = result.catch(() => {});
    return result;
  }

  private promptTokens(request: GenerateRequest): readonly number[] {
    if (typeof request.prompt !== "string") return this.checkTokens(request.prompt);
    // Encoding takes time in proportion to the text; one that cannot fit is refused without it.
    const { length } = request.prompt;
    if (length > 16 * this.contextTokens) {
      this.longestToken ??= longestTokenBytes(this.tokenizer);
      const least = Math.ceil(length / this.longestToken);
      if (least > this.contextTokens) throw this.promptTooLong(`at least ${least}`);
    }
    const tokens = this.tokenizer.encode(request.prompt, {
      parseSpecial: request.parseSpecial ?? true,
    });
    if (tokens.length === 0) {
      throw new M40Error("invalid_request", "the prompt is empty; wanted some text", "prompt");
    }
    return tokens;
  }

  private promptTooLong(tokens: string): M40Error {
    return new M40Error(
      "context_length_exceeded",
      `the prompt has ${tokens} tokens; the context has ${this.contextTokens}, prompt and output ` +
        `together. Shorten the prompt, or serve with a larger context (--ctx).`,
      "prompt",
    );
  }

  private checkTokens(tokens: readonly number[]): readonly number[] {
    if (tokens.length === 0) {
      throw new M40Error("invalid_request", "got no tokens; wanted at least one", "prompt");
    }
    const wrong = tokens.find((token) =>
      !Number.isInteger(token) || token < 0 || token >= this.model.vocabSize
    );
    if (wrong !== undefined) {
      throw new M40Error(
        "invalid_request",
        `got token ${wrong}; wanted ids from 0 to ${this.model.vocabSize - 1}`,
        "prompt",
      );
    }
    return tokens;
  }

  private assertOpen(): void {
    if (this.closed) throw new M40Error("internal", "the engine is closed");
  }
}

/** Opens the library of a device by its name: auto, cpu, cuda or cuda:N. Close it afterwards. */
export function openDevice(device: string): { library: KernelLibrary; index: number } {
  const match = /^(auto|cpu|cuda(?::(\d{1,4}))?)$/.exec(device);
  if (match === null) {
    throw new M40Error(
      "invalid_request",
      `device ${JSON.stringify(device)} is not known; wanted auto, cpu, cuda or cuda:N`,
    );
  }
  if (device === "cpu") return { library: KernelLibrary.find("cpu"), index: 0 };
  if (device === "auto" && findLibrary("cuda") === undefined) {
    if (findLibrary("cpu") === undefined) {
      throw new M40Error(
        "unsupported",
        `no kernel library was found; looked at ` +
          `${[...libraryPaths("cuda"), ...libraryPaths("cpu")].join(", ")}. Put one beside the ` +
          `executable, name its folder in M40_KERNELS, or build one: deno task build.`,
      );
    }
    return { library: KernelLibrary.find("cpu"), index: 0 };
  }
  try {
    const library = KernelLibrary.find("cuda");
    const count = library.devices().length;
    const index = Number(match[2] ?? 0);
    if (index < count) return { library, index };
    library.close();
    throw new M40Error("device", `there is no device cuda:${index}; found ${count}`);
  } catch (error) {
    if (device !== "auto") throw error;
    return { library: KernelLibrary.find("cpu"), index: 0 };
  }
}

/** Puts weights, cache and program on the device. */
async function place(
  context: Context,
  gguf: Gguf,
  source: ProgramSource,
  plan: MemoryPlan,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<{ program: Program; cache: Cache }> {
  const weights = context.createArena(plan.weightBytes);
  const total = source.weights.reduce((sum, { tensor }) => sum + tensor.bytes, 0);
  const tensors: number[] = [];
  let done = 0;
  for (const { tensor, desc } of source.weights) {
    tensors.push(await weights.uploadFile(desc, gguf.path, tensor.offset));
    onProgress(done += tensor.bytes, total);
  }
  await context.finishUploads();
  const cache = context.createArena(plan.cacheBytes).createCache(plan.cache);
  const program = context.createArena(plan.programBytes).createProgram({
    limits: plan.limits,
    buffers: source.buffers,
    ops: encodeOperations(source.operations, tensors),
  }, cache);
  return { program, cache };
}

/** What ends a generation from outside. */
function limitsOf({ signal, timeoutMs }: GenerateRequest) {
  // Timers take no more than 2^31 - 1 milliseconds, 24 days.
  if (timeoutMs !== undefined) checkRange("timeout", timeoutMs, { min: 1, max: 2 ** 31 - 1 });
  return { signal, timeoutMs };
}

/** Bytes of the longest token of a vocabulary. */
function longestTokenBytes(tokenizer: Tokenizer): number {
  let longest = 1;
  for (let token = 0; token < tokenizer.vocabSize; token++) {
    longest = Math.max(longest, tokenizer.tokenBytes(token).length);
  }
  return longest;
}

function integerOption(name: string, value: number, min: number, max: number): number {
  checkRange(name, value, { min, max, integer: true });
  return value;
}
