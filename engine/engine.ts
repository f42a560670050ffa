import { createPacer, type Pacer } from "./pacer.ts";
import type { ChatFormat } from "./chat/chat_format.ts";
import type { Cache } from "./device/context.ts";
import type { DeviceState } from "./device/library.ts";
import type { DeviceProgram } from "./device/device_program.ts";
import type { StepSize, StepWork } from "./program/work.ts";
import { DeviceLock } from "./device_lock.ts";
import { highestOf, togetherOf } from "./device_states.ts";
import { embedAll, type EmbeddingOptions, type Embeddings } from "./embedding.ts";
import { EngineCard } from "./engine_card.ts";
import type { EngineOptions } from "./engine_options.ts";
import { M40Error } from "./errors.ts";
import { createHostCache } from "./host_cache.ts";
import { Evaluations, type PositionLogits } from "./evaluation.ts";
import { Generation } from "./generation.ts";
import { type LoadedModel, loadModel } from "./loading.ts";
import type { MemoryPlan } from "./memory_plan.ts";
import type { ModelInfo } from "./model_info.ts";
import { type EngineObserver, GuardedObserver } from "./observer.ts";
import { type GenerateRequest, RequestChecker } from "./request.ts";
import type { SamplingParameters } from "./sampling/parameters.ts";
import type { ModelDevice } from "./placed_model.ts";
import { poolingOf } from "./pooling.ts";
import { pagesIn } from "./scheduler/page_layout.ts";
import { PageManager } from "./scheduler/page_manager.ts";
import { DiskPages } from "./scheduler/disk_pages.ts";
import { RowTimes } from "./scheduler/row_times.ts";
import { SlotManager } from "./scheduler/slot_manager.ts";
import { Scheduler } from "./scheduler/scheduler.ts";
import type { SchedulerDevice } from "./scheduler/scheduler_options.ts";
import type { ProfiledDevice } from "./scheduled_device.ts";
import { Scoring, type ScoringOptions } from "./scoring.ts";
import type { EngineStatus, SlotStatus } from "./status.ts";
import { TokenTexts } from "./tokenizer/token_texts.ts";
import type { Tokenizer } from "./tokenizer/tokenizer.ts";

/** Host memory that pages pass through on their way from disk and to it. */
const FETCH_BYTES = 128 * 2 ** 20;
const SAVE_BYTES = 16 * 2 ** 20;
/** No more pages at a time, so that few files are open. */
const MOST_DISK_PAGES = 64;
/** Shorter beginnings of prompts, in pages of tokens, are computed sooner than read. */
const LEAST_DISK_PAGES = 8;
/** How long pages may be written to disk when the engine is closed. */
const FLUSH_MS = 10_000;

/** The device's own functions, see {@link Engine.exclusive}. */
export interface ExclusiveDevice
  extends Pick<DeviceProgram, "step" | "profile">, Pick<Cache, "copyPages"> {
  /** How pages are shared out among a model's layers. */
  readonly layout: PageManager["layout"];
  /** The slots of states, of a model that keeps some. */
  readonly slots?: SlotManager;
  allocate: PageManager["allocate"];
  release: PageManager["release"];
}

/** A model on a device: text in, tokens out. */
export class Engine {
  readonly model: ModelInfo;
  readonly tokenizer: Tokenizer;
  /** How conversations become prompts; absent where the model has no template and none was given. */
  readonly chat?: ChatFormat;
  /** The devices that the model is on, in the order in which a step goes through them. */
  readonly cards: readonly EngineCard[];
  /** The first of them. */
  readonly device: ModelDevice;
  /** Where the device's memory went. */
  readonly plan: MemoryPlan;
  /** How the model's makers recommend to draw its tokens: what holds where a request does not say. */
  readonly samplingDefaults: Partial<SamplingParameters>;
  /** What ends an answer where a request names nothing. */
  readonly stopDefaults: readonly string[];
  /** Steps with the copies of their pages; and, alone, {@link exclusive} work and the like, in the order of their asking. */
  private readonly lock = new DeviceLock();
  private readonly told: GuardedObserver;
  private readonly scheduled: ProfiledDevice;
  private readonly pageManager: PageManager;
  private readonly disk?: DiskPages;
  private readonly scheduler: Scheduler;
  private readonly texts: TokenTexts;
  private readonly requests: RequestChecker;
  private readonly evaluations: Evaluations;
  private readonly pacer?: Pacer;
  /** The end, once it was asked for. */
  private closing?: Promise<void>;

  private constructor(private readonly loaded: LoadedModel) {
    const { source, chat, placed, serving } = loaded;
    const { plan } = placed;
    const { info, tokenizer } = source;
    this.model = info;
    this.tokenizer = tokenizer;
    this.chat = chat;
    this.cards = placed.cards.map((card) =>
      new EngineCard(card, this.lock, plan.limits.n_sequences)
    );
    this.device = this.cards[0].device;
    this.plan = plan;
    this.samplingDefaults = source.samplingDefaults;
    this.stopDefaults = source.stopDefaults;
    // Each is held to the limits.
    this.pacer = createPacer(serving, async () => highestOf(await this.deviceStates()));
    this.requests = new RequestChecker(
      tokenizer,
      info.vocabSize,
      plan.contextTokens,
      plan.mostContextTokens,
      info.contextLength,
      source.samplingDefaults,
      source.stopDefaults,
    );
    this.told = new GuardedObserver(serving.onObserverError);
    this.texts = new TokenTexts(tokenizer);
    const slots = plan.slots > 0 ? new SlotManager(plan.slots) : undefined;
    this.pageManager = new PageManager(plan.pages, plan.pageTokens, plan.groups, slots);
    const scheduled = this.scheduled = placed.scheduled;
    this.disk = this.createDiskPages(scheduled);
    this.scheduler = this.createScheduler(scheduled);
    this.lock.onWanted = () => this.scheduler.hurry();
    this.evaluations = new Evaluations(
      this.pageManager,
      (sequences) => scheduled.step(sequences),
      (work) => this.lock.run(work),
      Math.min(serving.logitsOutputs, plan.limits.n_tokens),
    );
  }

  private createScheduler(scheduled: SchedulerDevice): Scheduler {
    const { plan, device, lock, told, pacer } = this;
    const { placed, serving } = this.loaded;
    return new Scheduler(scheduled, this.pageManager, {
      maxRunning: plan.limits.n_sequences,
      maxWaiting: serving.maxQueue,
      stepTokens: plan.limits.n_tokens,
      stepOutputs: plan.limits.n_outputs,
      chunkMs: serving.chunkMs,
      runSteps: serving.runSteps,
      tileTokens: device.tileTokens,
      // A CPU's steps take as much longer as they have rows more.
      rowTimes: device.kind === "cpu" ? undefined : new RowTimes(),
      ...createHostCache(placed, plan, placed.hostCacheBytes),
      disk: this.disk,
      concurrentSteps: placed.cards.length,
      lanes: plan.decodeLimits &&
        { decodeTokens: plan.decodeLimits.n_tokens, prefillShare: serving.prefillShare },
      withDevice: (work) => lock.share(work),
      rest: pacer && ((stepMs, idleMs) => pacer.rest(stepMs, idleMs)),
      onStep: (report) => told.step(report),
      onListenerError: (error) => told.note(error),
    });
  }

  private createDiskPages(mover: SchedulerDevice): DiskPages | undefined {
    const { pageStore: store, plan, pageBytes, slotBytes, hostMemory } = this.loaded.placed;
    if (store === undefined) return undefined;
    const memory = (bytes: number) => {
      const pages = Math.max(2, Math.min(Math.floor(bytes / pageBytes), MOST_DISK_PAGES));
      return hostMemory(pages * pageBytes);
    };
    return new DiskPages({
      pageManager: this.pageManager,
      mover,
      store,
      leastPages: LEAST_DISK_PAGES,
      fetchMemory: memory(FETCH_BYTES),
      saveMemory: memory(SAVE_BYTES),
      ...(plan.slots === 0 ? {} : {
        fetchStateMemory: hostMemory(slotBytes),
        saveStateMemory: hostMemory(slotBytes),
      }),
      withDevice: (work) =>
        plan.decodeLimits
          ? this.lock.share(() => this.scheduler.betweenDecisions(work))
          : this.lock.run(work),
      now: () => performance.now(),
    });
  }

  /**
   * Loads a GGUF file.
   *
   * @throws {M40Error} "invalid_model" or "unsupported" for the file or the device, "out_of_memory" where
   * it does not fit, "invalid_request" for an option, "io" or "device" where reading or uploading failed.
   */
  static async load(path: string, options: EngineOptions = {}): Promise<Engine> {
    const engine = new Engine(await loadModel(path, options));
    engine.requests.prepare();
    return engine;
  }

  /** Told of every step and request. What it throws is counted, and stops nothing. */
  get observer(): EngineObserver | undefined {
    return this.told.observer;
  }

  set observer(observer: EngineObserver | undefined) {
    this.told.observer = observer;
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
    const { tokenizer, texts, scheduler, told } = this;
    const plans = this.requests.planAll(requests);
    return Generation.start(plans, { tokenizer, texts, scheduler, observer: told });
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
    const { tokenizer, texts, scheduler } = this;
    const services = { tokenizer, texts, scheduler };
    return Scoring.start(this.requests.checkText(tokens), options, services);
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
    const { scheduler, plan, requests } = this;
    const pooling = poolingOf(this.model.poolingType);
    const tokens = texts.map((text) => requests.embeddingTokens(text, options.truncate));
    const services = { scheduler, pooling, maxRunning: plan.limits.n_sequences };
    return {
      vectors: await embedAll(tokens, options, services),
      tokens: tokens.reduce((sum, { length }) => sum + length, 0),
    };
  }

  /**
   * The logits of every position, in order: what the model expects after each token. It holds KV pages
   * from the first position that is asked for until the last, or until iteration is ended; requests that
   * need them wait.
   *
   * @param tokens From one token to as many as the context has.
   * @returns Positions from 0 and logits [vocabulary].
   * @throws {M40Error} "invalid_request" or "context_length_exceeded" for the tokens, "queue_full" where
   * too few KV pages are free, "not_finite" where the model computes what is no finite number,
   * "cancelled" where the engine is closed meanwhile, "device" where it failed.
   */
  async *evaluate(
    tokens: readonly number[],
    options: { signal?: AbortSignal } = {},
  ): AsyncGenerator<PositionLogits> {
    this.assertOpen();
    const prompt = this.requests.checkText(tokens);
    yield* this.evaluations.run(prompt, options.signal);
  }

  /** What the engine does, and has done. */
  status(): EngineStatus {
    const { pages, freePages, idlePages, slots } = this.pageManager;
    const scheduled = this.scheduler.status();
    return {
      ...scheduled,
      // A process may end while nothing is asked of it.
      failed: scheduled.failed ?? this.cards.find(({ loss }) => loss !== undefined)?.loss,
      ...this.scheduler.counts,
      pages,
      usedPages: pages - freePages,
      idlePages,
      slots: slots?.slots ?? 0,
      usedSlots: slots === undefined ? 0 : slots.slots - slots.free,
      idleSlots: slots?.idleSlots ?? 0,
      observerErrors: this.told.errors,
      restShare: this.pacer?.share,
      disk: this.disk?.status(),
    };
  }

  /**
   * What {@link cards} tell of their memory, temperature, power and clocks, taken together; each tells its own.
   *
   * @throws {M40Error} "device" where the driver does not answer.
   */
  async deviceState(): Promise<DeviceState> {
    return togetherOf(await this.deviceStates());
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    await this.scheduler.idle();
  }

  /** What a step of that size reads and computes, at the least. */
  stepWork(size: Omit<StepSize, "kvValueBytes">): StepWork {
    return this.loaded.placed.stepWork(size);
  }

  /** The sequences that run and wait, in the order in which they are served. */
  slots(): SlotStatus[] {
    const now = performance.now();
    return this.scheduler.sequences().map((sequence) => ({
      id: sequence.arrival,
      state: sequence.state as SlotStatus["state"],
      promptTokens: sequence.prompt.length,
      computedTokens: sequence.computed,
      generatedTokens: sequence.drawn,
      pages: pagesIn(sequence.pages).length,
      ageMs: now - sequence.arrivedAt,
    }));
  }

  /**
   * Steps, pages and copies of one's own making, for measurements. It begins when no request runs or
   * waits; requests and evaluations that come meanwhile wait until it is done. The pages must be given
   * back.
   *
   * @throws {M40Error} "internal" where the engine is closed before it begins.
   */
  async exclusive<T>(work: (device: ExclusiveDevice) => Promise<T>): Promise<T> {
    this.assertOpen();
    await this.scheduler.idle();
    const { pageManager, scheduled } = this;
    return await this.lock.run(async () => {
      this.assertOpen();
      return await work({
        step: (sequences) => scheduled.step(sequences),
        profile: (sequences) => scheduled.profile(sequences),
        layout: pageManager.layout,
        slots: pageManager.slots,
        allocate: (count) => pageManager.allocate(count),
        release: (pages) => pageManager.release(pages),
        copyPages: (from, to) => scheduled.copyPages(from, to),
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

  private async end(): Promise<void> {
    for (const card of this.cards) card.stop();
    // They may be between two steps for as long as their readers like.
    this.evaluations.close();
    this.requests.stop();
    await this.chat?.close();
    await this.scheduler.idle();
    await this.disk?.close(FLUSH_MS);
    await this.lock.settle();
    await Promise.all(this.cards.map((card) => card.close()));
  }

  private deviceStates(): Promise<DeviceState[]> {
    return Promise.all(this.cards.map((card) => card.state()));
  }

  private assertOpen(): void {
    if (this.closing) throw new M40Error("internal", "the engine is closed");
  }
}
