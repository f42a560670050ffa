import type { Cache, Context } from "./device/context.ts";
import type { DeviceInfo, DeviceState, KernelLibrary } from "./device/library.ts";
import { openDevice } from "./device/open.ts";
import type { Program } from "./device/program.ts";
import type { StepSequence } from "./device/step_block.ts";
import type { StepResult } from "./device/step_result.ts";
import { M40Error } from "./errors.ts";
import { Generation, type GenerationObserver } from "./generation.ts";
import { readGguf } from "./gguf/reader.ts";
import { DEFAULT_PARALLEL, type KvType, type MemoryPlan, planMemory } from "./memory_plan.ts";
import { architectureOf } from "./models/architecture.ts";
import { describeModel, type ModelInfo } from "./model_info.ts";
import { place } from "./placement.ts";
import { type GenerateRequest, RequestChecker } from "./request.ts";
import { checkRange } from "./sampling/parameters.ts";
import { BlockManager } from "./scheduler/block_manager.ts";
import { HostPages } from "./scheduler/host_pages.ts";
import type { StepReport } from "./scheduler/report.ts";
import { Scheduler } from "./scheduler/scheduler.ts";
import { StateReader } from "./state_reader.ts";
import type { EngineStatus, SlotStatus } from "./status.ts";
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
  /** Told why, in a sentence, where "auto" takes the CPU though there is a library for GPUs. */
  onFallback?: (reason: string) => void;
  /** Told the bytes of weights that are uploaded, and how many there are. */
  onProgress?: (done: number, total: number) => void;
}

/** Tokens of a prompt that a GPU's products take at a time (cuda/ops/matmul_prefill.cu). */
const GPU_TILE_TOKENS = [32, 64, 128];
const DEFAULT_HOST_CACHE_BYTES = 2 * 2 ** 30;

/** Who is told what happens in an engine. */
export interface EngineObserver extends GenerationObserver {
  /** After every step. */
  step?(report: StepReport): void;
}

/** The device's own functions, see {@link Engine.exclusive}. */
export interface ExclusiveDevice {
  step(sequences: readonly StepSequence[]): Promise<StepResult>;
  allocate(count: number): number[] | undefined;
  release(pages: readonly number[]): void;
  copyPages(from: Uint32Array<ArrayBuffer>, to: Uint32Array<ArrayBuffer>): Promise<void>;
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
  private readonly state: StateReader;
  private readonly requests: RequestChecker;

  private constructor(
    readonly model: ModelInfo,
    readonly tokenizer: Tokenizer,
    /** What the model runs on. */
    readonly device: DeviceInfo & { readonly backend: string; readonly threads?: number },
    /** Where the device's memory went. */
    readonly plan: MemoryPlan,
    private readonly kernels: KernelLibrary,
    private readonly context: Context,
    private readonly program: Program,
    private readonly cache: Cache,
    options: Required<Pick<EngineOptions, "maxQueue" | "chunkMs" | "logitsOutputs">>,
    hostCacheBytes: number,
  ) {
    this.state = new StateReader(() => kernels.deviceState(device.index));
    this.requests = new RequestChecker(tokenizer, model.vocabSize, plan.contextTokens);
    this.logitsOutputs = options.logitsOutputs;
    this.texts = new TokenTexts(tokenizer);
    this.blocks = new BlockManager(plan.pages, plan.pageTokens);
    const { pageBytes } = context.cacheBytes(plan.cache);
    const pages = Math.floor(hostCacheBytes / pageBytes);
    const host = pages > 0
      ? new HostPages(cache, context.hostMemory(pages * pageBytes), pageBytes)
      : undefined;
    const runner = { step: (sequences: readonly StepSequence[]) => this.step(sequences) };
    this.scheduler = new Scheduler(runner, this.blocks, cache, {
      maxRunning: plan.limits.n_sequences,
      maxWaiting: options.maxQueue,
      stepTokens: plan.limits.n_tokens,
      chunkMs: options.chunkMs,
      tileTokens: kernels.backend === "cpu" ? undefined : GPU_TILE_TOKENS,
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
    const { library, index, fallback } = openDevice(options.device ?? "auto");
    if (fallback !== undefined) options.onFallback?.(fallback);
    let context: Context | undefined;
    try {
      const info = library.device(index);
      context = library.createContext({ device: index, threads });
      const onGpu = library.backend === "cuda";
      const plan = planMemory(context, source, shape, {
        contextTokens: options.contextTokens,
        kvType: options.kvType ?? "f16",
        maxRunning: integerOption(
          "parallel",
          options.parallel ?? DEFAULT_PARALLEL[onGpu ? "gpu" : "cpu"],
          1,
          256,
        ),
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
      const plan = this.requests.plan(request);
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
    const prompt = this.requests.checkTokens(tokens);
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
    const chunk = Math.min(this.logitsOutputs, this.plan.limits.n_tokens);
    try {
      for (let position = 0; position < prompt.length; position += chunk) {
        options.signal?.throwIfAborted();
        const part = prompt.slice(position, position + chunk);
        const asked = part.map((_, row) => ({ row, kind: "logits" as const }));
        const { outputs } = await this.step([{ tokens: part, position, pages, outputs: asked }]);
        for (let row = 0; row < part.length; row++) {
          yield { position: position + row, logits: outputs[row].values! };
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

  /**
   * The device's memory, temperature, power and clocks, as they are now. It asks the driver, not the
   * device: steps go on meanwhile.
   *
   * @throws {M40Error} "device" where the driver does not answer.
   */
  async deviceState(): Promise<DeviceState> {
    this.assertOpen();
    const state = await this.state.read();
    return { ...state, memoryBytes: state.memoryBytes ?? this.device.memoryBytes };
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

  /**
   * Steps, pages and copies of one's own making, for measurements; requests wait meanwhile. The pages
   * must be given back.
   */
  async exclusive<T>(work: (device: ExclusiveDevice) => Promise<T>): Promise<T> {
    this.assertOpen();
    await this.scheduler.idle();
    const before = this.lock;
    let done = () => {};
    this.lock = new Promise<void>((resolve) => done = resolve);
    await before;
    try {
      return await work({
        step: (sequences) => this.program.step(sequences),
        allocate: (count) => this.blocks.allocate(count),
        release: (pages) => this.blocks.release(pages),
        copyPages: (from, to) => this.cache.copyPages(from, to),
      });
    } finally {
      done();
    }
  }

  /** Waits for what runs, then frees the device. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.scheduler.idle();
    await this.lock;
    const unused = await this.state.settle();
    this.context.close();
    // A call that never returns needs the library.
    if (unused) this.kernels.close();
  }

  /** One step at a time. */
  private step(sequences: readonly StepSequence[]): Promise<StepResult> {
    const result = this.lock.then(() => this.program.step(sequences));
    this.lock = result.catch(() => {});
    return result;
  }

  private assertOpen(): void {
    if (this.closed) throw new M40Error("internal", "the engine is closed");
  }
}

function integerOption(name: string, value: number, min: number, max: number): number {
  checkRange(name, value, { min, max, integer: true });
  return value;
}
