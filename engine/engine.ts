import type { ChatFormat } from "./chat/mod.ts";
import { type Cache, type DeviceProgram, type DeviceState, togetherOf } from "./device/mod.ts";
import {
  embedAll,
  type EmbeddingOptions,
  type Embeddings,
  type EngineObserver,
  type GenerateRequest,
  Generation,
  type GenerationServices,
  GuardedObserver,
  LONG_TEXT,
  type PositionLogits,
  RequestChecker,
  Scoring,
  type ScoringOptions,
  type SideThreads,
  TextChecker,
} from "./generation/mod.ts";
import type {
  EngineCard,
  EngineStatus,
  ModelDevice,
  ModelInfo,
  ReplicaState,
  SlotStatus,
} from "./loading/mod.ts";
import type { MemoryPlan } from "./memory/mod.ts";
import { poolingOf } from "./models/mod.ts";
import type { ChosenExchange } from "./parallel/mod.ts";
import { Replicas, togetherPlan } from "./parallel/replicas/mod.ts";
import { Replica } from "./replica.ts";
import type { Arithmetic, StepSize, StepWork } from "./program/mod.ts";
import type { SamplingParameters } from "./sampling/mod.ts";
import { type KvBlockManager, kvBlocksIn, type SlotManager } from "./scheduler/mod.ts";
import { SideThread } from "./side_thread/mod.ts";
import { type EncodeOptions, type Tokenizer, TokenTexts } from "./tokenizer/mod.ts";
import type { EngineOptions } from "./engine_options.ts";
import { M40Error } from "./errors.ts";
import { type LoadedModel, loadModel } from "./load_engine.ts";

/** The device's own functions, see {@link Engine.exclusive}. */
export interface ExclusiveDevice
  extends Pick<DeviceProgram, "step" | "profile">, Pick<Cache, "copyKvBlocks"> {
  /** How KV blocks are shared out among a model's layers. */
  readonly layout: KvBlockManager["layout"];
  /** The slots of states, of a model that keeps some. */
  readonly slots?: SlotManager;
  allocate: KvBlockManager["allocate"];
  release: KvBlockManager["release"];
}

/** A model on a device: text in, tokens out. */
export class Engine {
  readonly model: ModelInfo;
  readonly tokenizer: Tokenizer;
  /** How conversations become prompts; absent where the model has no template and none was given. */
  readonly chat?: ChatFormat;
  /** The first of {@link cards}. */
  readonly device: ModelDevice;
  /** Where the devices' memory went, that of all of them together. */
  readonly plan: MemoryPlan;
  /** What products with quantised weights are computed in: "exact" also where packed arithmetic changes nothing. */
  readonly arithmetic: Arithmetic;
  /** How devices that have some rows of the model each exchange what they compute. */
  readonly exchange?: ChosenExchange;
  /** Sequences that run at the same time. */
  readonly maxRunning: number;
  /** How the model's makers recommend to sample its tokens: what holds where a request does not say. */
  readonly samplingDefaults: Partial<SamplingParameters>;
  /** What ends an answer where a request names nothing. */
  readonly stopDefaults: readonly string[];
  private readonly guarded: GuardedObserver;
  /** The model on its device, or several times, each on one of its own. */
  private readonly copies: Replica | Replicas;
  private readonly services: GenerationServices;
  private readonly texts: TextChecker;
  private readonly requests: RequestChecker;
  /** Work that requests can make long is done off the event loop; texts do not wait for grammars. */
  private readonly side: SideThreads;
  /** The end, once it was asked for. */
  private closing?: Promise<void>;

  private constructor(loaded: LoadedModel) {
    const { source, chat } = loaded;
    const plans = loaded.placed instanceof Array
      ? loaded.placed.map(({ placed }) => placed.plan)
      : [loaded.placed.plan];
    const { info, tokenizer } = source;
    this.model = info;
    this.arithmetic = source.arithmetic;
    this.tokenizer = tokenizer;
    this.chat = chat;
    this.plan = togetherPlan(plans);
    this.exchange = loaded.placed instanceof Array ? undefined : loaded.placed.exchange;
    this.maxRunning = plans.reduce((sum, { limits }) => sum + limits.n_sequences, 0);
    this.samplingDefaults = source.samplingDefaults;
    this.stopDefaults = source.stopDefaults;
    this.requests = new RequestChecker(
      tokenizer,
      info.vocabSize,
      this.plan.contextTokens,
      this.plan.mostContextTokens,
      info.contextLength,
      source.samplingDefaults,
      source.stopDefaults,
    );
    this.texts = new TextChecker(this.requests);
    const { gguf: { metadata }, preTokenizer } = source;
    this.side = {
      grammars: new SideThread(metadata, preTokenizer),
      texts: new SideThread(metadata, preTokenizer),
    };
    if (chat !== undefined) {
      chat.encodeText = this.encode.bind(this);
    }
    const guarded = this.guarded = new GuardedObserver(loaded.serving.onObserverError);
    const { onPace, onExecutor, onReplica } = loaded.serving;
    const serving = {
      ...loaded.serving,
      onPace: onPace && guarded.guard(onPace),
      onExecutor: onExecutor && guarded.guard(onExecutor),
      onReplica: onReplica && guarded.guard(onReplica),
    };
    this.copies = loaded.placed instanceof Array
      ? new Replicas(loaded.placed, serving, this.guarded)
      : new Replica(loaded.placed, serving, this.guarded);
    this.services = {
      tokenizer,
      texts: new TokenTexts(tokenizer),
      queue: this.copies instanceof Replica ? this.copies.scheduler : this.copies.queue,
      observer: this.guarded,
    };
    this.device = this.cards[0].device;
  }

  /**
   * The devices of the model. Where each has some layers, in the order in which a step goes through them; of several
   * replicas, those of the ready ones.
   */
  get cards(): readonly EngineCard[] {
    return this.copies.cards;
  }

  /** The replicas, where the model has several. */
  get replicas(): readonly ReplicaState[] | undefined {
    return this.copies instanceof Replicas ? this.copies.states() : undefined;
  }

  /**
   * Loads a GGUF file.
   *
   * @throws {M40Error} "invalid_model" or "unsupported" for the file or the device, "out_of_memory" where
   * it does not fit, "invalid_request" for an option, "io" or "device" where reading or uploading failed. Then nothing of
   * it is left on any device.
   */
  static async load(path: string, options: EngineOptions = {}): Promise<Engine> {
    const loaded = await loadModel(path, options);
    let engine: Engine | undefined;
    try {
      engine = new Engine(loaded);
      engine.requests.prepare();
      return engine;
    } catch (error) {
      // Without an engine the caller has nothing to close.
      await (engine ?? loaded).close();
      throw error;
    }
  }

  /** Observes every step and request. What it throws is counted, and stops nothing. */
  get observer(): EngineObserver | undefined {
    return this.guarded.observer;
  }

  set observer(observer: EngineObserver | undefined) {
    this.guarded.observer = observer;
  }

  /** Tokens that one sequence may have, prompt and output together. */
  get contextTokens(): number {
    return this.plan.contextTokens;
  }

  /**
   * Does what a request can make long off the event loop: its grammar, and the tokens of a long prompt. Servers do so
   * before {@link generate}, which does all at once.
   *
   * @returns The request to be generated.
   * @throws {M40Error} As {@link generate} does, "cancelled" where the request's signal ends it.
   */
  async ready(request: GenerateRequest): Promise<GenerateRequest> {
    this.assertOpen();
    const ready = await this.requests.ready(request, this.side);
    this.assertOpen();
    return ready;
  }

  /** The tokens of a text, however long; off the event loop where it is. */
  async encode(
    text: string,
    options: EncodeOptions = {},
    signal?: AbortSignal,
  ): Promise<readonly number[] | Int32Array> {
    this.assertOpen();
    if (text.length < LONG_TEXT) return this.tokenizer.encode(text, options);
    const { addSpecial = true, parseSpecial = false, mark } = options;
    const job = { kind: "encode", text, addSpecial, parseSpecial, mark } as const;
    return await this.side.texts.run(job, signal);
  }

  /** The text of tokens, special ones as the vocabulary writes them; off the event loop where there are many. */
  async decode(tokens: readonly number[], signal?: AbortSignal): Promise<string> {
    this.assertOpen();
    if (tokens.length < LONG_TEXT) return this.tokenizer.decode(tokens, { skipSpecial: false });
    const packed = Int32Array.from(tokens);
    return await this.side.texts.run({ kind: "decode", tokens: packed } as const, signal, [
      packed.buffer,
    ]);
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
    const generations = this.requests.checkAll(requests, this.services);
    Generation.start(generations, this.services.queue);
    return generations;
  }

  /**
   * Queues the log-probabilities of a text's tokens, each where it stands: see {@link Scoring}. It is served
   * as requests are.
   *
   * @param tokens At least one.
   * @throws {M40Error} as {@link generate} does.
   */
  score(tokens: readonly number[], options: ScoringOptions): Scoring {
    this.assertOpen();
    return Scoring.start(this.texts.checkText(tokens), options, this.services);
  }

  /**
   * The vectors of texts, by which texts alike are found: their hidden states, pooled as the model's file says (see
   * {@link poolingOf}), of length 1. They are served as requests are.
   *
   * @param texts Each a text, or its tokens as they are.
   * @throws {M40Error} as {@link generate} does; "unsupported" for a model that pools otherwise, "cancelled",
   * "not_finite".
   */
  async embed(
    texts: readonly (string | readonly number[])[],
    options: EmbeddingOptions = {},
  ): Promise<Embeddings> {
    this.assertOpen();
    const { services: { queue }, maxRunning } = this;
    const pooling = poolingOf(this.model.poolingType);
    const tokens = await this.texts.embeddingTokens(
      texts,
      options,
      (text) => this.encode(text, {}, options.signal),
    );
    const services = { queue, pooling, maxRunning };
    return {
      vectors: await embedAll(tokens, options, services),
      tokens: tokens.reduce((sum, { length }) => sum + length, 0),
    };
  }

  /**
   * The logits of every position, in order: what the model expects after each token. It holds KV blocks from the
   * first position that is asked for until the last, or until iteration ends; requests that need them wait.
   *
   * @param tokens From one token to as many as the context has.
   * @returns Positions from 0 and logits [vocabulary].
   * @throws {M40Error} "invalid_request" or "context_length_exceeded" for the tokens, "queue_full" where too few KV
   * blocks are free, "not_finite" where a logit is not finite, "cancelled" where the engine is closed meanwhile,
   * "device" where it failed.
   */
  async *evaluate(
    tokens: readonly number[],
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<PositionLogits> {
    this.assertOpen();
    const prompt = this.texts.checkText(tokens);
    yield* this.idlest.evaluations.run(prompt, options.signal);
  }

  /** What the engine does, and has done. */
  status(): EngineStatus {
    return { ...this.copies.status(), observerErrors: this.guarded.errors };
  }

  /**
   * The memory, temperature, power and clocks of all {@link cards}, taken together; each card reports its own.
   *
   * @throws {M40Error} "device" where the driver does not answer.
   */
  async deviceState(): Promise<DeviceState> {
    return togetherOf(await this.deviceStates());
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    await this.copies.idle();
  }

  /** What a step of that size reads and computes, at the least. */
  stepWork(size: Omit<StepSize, "kvValueBytes">): StepWork {
    return this.idlest.placed.stepWork(size);
  }

  /** The sequences that run and wait, in the order in which they are served. */
  slots(): SlotStatus[] {
    const now = performance.now();
    return this.copies.sequences().map(({ sequence, device }) => ({
      id: sequence.arrival,
      state: sequence.state as SlotStatus["state"],
      promptTokens: sequence.prompt.length,
      computedTokens: sequence.computed,
      generatedTokens: sequence.sampled,
      kvBlocks: kvBlocksIn(sequence.kvBlocks).length,
      device,
      ageMs: now - sequence.arrivedAt,
    }));
  }

  /**
   * Runs the caller's own steps, KV blocks and copies, for measurements; of several replicas on one. It begins when
   * no request runs or waits. Requests and evaluations that come meanwhile wait until it is done. The KV blocks must
   * be released.
   *
   * @throws {M40Error} "internal" where the engine is closed before it begins.
   */
  async exclusive<T>(work: (device: ExclusiveDevice) => Promise<T>): Promise<T> {
    this.assertOpen();
    await this.copies.idle();
    const { kvBlockManager, placed: { scheduled }, queue } = this.idlest;
    return await queue.run(async () => {
      this.assertOpen();
      return await work({
        step: (sequences) => scheduled.step(sequences),
        profile: (sequences) => scheduled.profile(sequences),
        layout: kvBlockManager.layout,
        slots: kvBlockManager.slots,
        allocate: (count) => kvBlockManager.allocate(count),
        release: (kvBlocks) => kvBlockManager.release(kvBlocks),
        copyKvBlocks: (from, to) => scheduled.copyKvBlocks(from, to),
      });
    });
  }

  /**
   * Waits for requests that run and wait, ends evaluations, writes to the disk cache what is not there yet
   * (for ten seconds at most), then frees the device.
   */
  close(): Promise<void> {
    return this.closing ??= this.end();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async end(): Promise<void> {
    this.copies.stop();
    this.requests.stop();
    await Promise.all([this.side.grammars.close(), this.side.texts.close()]);
    await this.chat?.close();
    await this.copies.close();
  }

  /** The replica with the least to do. */
  private get idlest(): Replica {
    return this.copies instanceof Replica ? this.copies : this.copies.idlest;
  }

  private deviceStates(): Promise<DeviceState[]> {
    return Promise.all(this.cards.map((card) => card.state()));
  }

  private assertOpen(): void {
    if (this.closing) throw new M40Error("internal", "the engine is closed");
  }
}
