import { DeviceQueue, type DeviceState, highestOf } from "./device/mod.ts";
import { Evaluations, type GuardedObserver } from "./generation/mod.ts";
import { createHostCache, EngineCard, type EngineStatus, type PlacedModel } from "./loading/mod.ts";
import { createPacer, type Pacer } from "./power/mod.ts";
import {
  DiskKvBlocks,
  KvBlockManager,
  RowTimes,
  Scheduler,
  type SchedulerOptions,
  type Sequence,
  SlotManager,
} from "./scheduler/mod.ts";
import type { ServingOptions } from "./engine_options.ts";
import { M40Error } from "./errors.ts";

/** Host memory that KV blocks pass through on their way from disk and to it. */
const FETCH_BYTES = 128 * 2 ** 20;
const SAVE_BYTES = 16 * 2 ** 20;
/** No more KV blocks at a time, so that few files are open. */
const MOST_DISK_KV_BLOCKS = 64;
/** Shorter prefixes, in KV blocks of tokens, are computed sooner than read from disk. */
const LEAST_DISK_KV_BLOCKS = 8;
/** How long KV blocks may be written to disk when the engine is closed. */
const FLUSH_MS = 10_000;

/** The callbacks of a replica, and its name where there are several. */
export type ReplicaOptions = Pick<SchedulerOptions, "name" | "onChange" | "onLoss">;

/** What a replica does, and has done. */
export type ReplicaStatus = Omit<EngineStatus, "observerErrors">;

/** A model on a device, or split over several, with all that computes on it: KV blocks, scheduler, pace. */
export class Replica {
  readonly cards: readonly EngineCard[];
  readonly kvBlockManager: KvBlockManager;
  readonly scheduler: Scheduler;
  readonly evaluations: Evaluations;
  /** Orders steps, with the copies of their KV blocks, and work that has the device alone. */
  readonly queue = new DeviceQueue(() => this.scheduler.endRunSoon());
  private readonly disk?: DiskKvBlocks;
  private readonly pacer?: Pacer;

  /** @param observed Observes its steps. */
  constructor(
    readonly placed: PlacedModel,
    private readonly serving: ServingOptions,
    private readonly observed: GuardedObserver,
    private readonly options: ReplicaOptions = {},
  ) {
    const { plan, scheduled } = placed;
    const isOneOfSeveral = placed.cards.length > 1 || options.name !== undefined;
    this.cards = placed.cards.map((card) =>
      new EngineCard(card, this.queue, plan.limits.n_sequences, {
        name: options.name ?? card.name,
        isOneOfSeveral,
      }, serving)
    );
    const { onPace } = serving;
    // Each card is held to the limits.
    this.pacer = createPacer(
      {
        ...serving,
        onPace: onPace &&
          ((message) => onPace(`${options.name ? `${options.name}: ` : ""}${message}`)),
      },
      async () => highestOf(await this.deviceStates()),
    );
    const slots = plan.slots > 0 ? new SlotManager(plan.slots) : undefined;
    this.kvBlockManager = new KvBlockManager(plan.kvBlocks, plan.kvBlockTokens, plan.groups, slots);
    this.disk = this.createDiskKvBlocks();
    this.scheduler = this.createScheduler();
    this.evaluations = new Evaluations(
      this.kvBlockManager,
      (sequences) => scheduled.step(sequences),
      (work) => this.queue.run(work),
      Math.min(serving.logitsOutputs, plan.limits.n_tokens),
    );
  }

  private createScheduler(): Scheduler {
    const { queue, observed, pacer, placed, serving } = this;
    const { plan, cards: [{ device }] } = placed;
    const gpus = this.cards.filter(({ device }) => device.backend !== "cpu");
    return new Scheduler(placed.scheduled, this.kvBlockManager, {
      ...this.options,
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
      concurrentSteps: placed.concurrentSteps,
      lanes: plan.decodeLimits &&
        { decodeTokens: plan.decodeLimits.n_tokens, prefillShare: serving.prefillShare },
      withDevice: (work) => queue.share(work),
      rest: pacer && ((stepMs, idleMs) => pacer.rest(stepMs, idleMs)),
      onStep: (report) => {
        if (report.decodeTokens > 0 && report.promptTokens === 0) {
          for (const card of gpus) card.noteDecodeStep(report.inRun ?? false);
        }
        observed.notify("step", report);
      },
      onListenerError: (error) => observed.note(error),
    });
  }

  private createDiskKvBlocks(): DiskKvBlocks | undefined {
    const { kvBlockStore: store, plan, kvBlockBytes, slotBytes, hostMemory, scheduled } =
      this.placed;
    if (store === undefined) return undefined;
    const memory = (bytes: number) => {
      const kvBlocks = Math.max(2, Math.min(Math.floor(bytes / kvBlockBytes), MOST_DISK_KV_BLOCKS));
      return hostMemory(kvBlocks * kvBlockBytes);
    };
    return new DiskKvBlocks({
      kvBlockManager: this.kvBlockManager,
      mover: scheduled,
      store,
      leastKvBlocks: LEAST_DISK_KV_BLOCKS,
      fetchMemory: memory(FETCH_BYTES),
      saveMemory: memory(SAVE_BYTES),
      ...(plan.slots === 0 ? {} : {
        fetchStateMemory: hostMemory(slotBytes),
        saveStateMemory: hostMemory(slotBytes),
      }),
      withDevice: (work) =>
        plan.decodeLimits
          ? this.queue.share(() => this.scheduler.betweenDecisions(work))
          : this.queue.run(work),
      now: () => performance.now(),
    });
  }

  /** What it is called: the first card's name, where it has no other. */
  get name(): string {
    return this.options.name ?? this.cards[0].name;
  }

  /** Cards of one kind compute the same bits. */
  get kind(): string {
    return this.placed.cards.map(({ kernels, device }) =>
      `${kernels.path} ${device.name} ${device.multiprocessors}`
    ).join();
  }

  /** Sequences that run at the same time. */
  get maxRunning(): number {
    return this.placed.plan.limits.n_sequences;
  }

  /** How it was lost, by a process that ended while nothing was asked of it too. */
  get loss(): M40Error | undefined {
    const message = this.cards.find(({ loss }) => loss !== undefined)?.loss;
    return message === undefined ? undefined : new M40Error("device", message);
  }

  /** What it does, and has done. */
  status(): ReplicaStatus {
    const { kvBlocks, freeKvBlocks, idleKvBlocks, slots } = this.kvBlockManager;
    const scheduled = this.scheduler.status();
    return {
      ...scheduled,
      failed: scheduled.failed ?? this.loss?.message,
      ...this.scheduler.counts,
      kvBlocks,
      usedKvBlocks: kvBlocks - freeKvBlocks,
      idleKvBlocks,
      slots: slots?.slots ?? 0,
      usedSlots: slots === undefined ? 0 : slots.slots - slots.free,
      idleSlots: slots?.idleSlots ?? 0,
      restShare: this.pacer?.share,
      disk: this.disk?.status(),
    };
  }

  /** The memory, temperature, power and clocks of its cards. */
  deviceStates(): Promise<DeviceState[]> {
    return Promise.all(this.cards.map((card) => card.state()));
  }

  /** The sequences that run and wait. */
  sequences(): readonly { readonly sequence: Sequence; readonly device?: string }[] {
    return this.scheduler.sequences().map((sequence) => ({ sequence }));
  }

  /** Resolves when nothing runs or waits. */
  idle(): Promise<void> {
    return this.scheduler.idle();
  }

  /** Nothing is asked of its cards any more; evaluations end. */
  stop(): void {
    for (const card of this.cards) card.stop();
    // They may be between two steps for as long as their readers like.
    this.evaluations.close();
  }

  /** Waits for what runs, writes to the disk cache what is not there yet, then frees the device. */
  async close(): Promise<void> {
    this.stop();
    await this.scheduler.idle();
    await this.disk?.close(FLUSH_MS);
    await this.queue.settle();
    await this.placed.letGo?.();
    await Promise.all(this.cards.map((card) => card.close()));
  }
}
