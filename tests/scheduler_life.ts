/**
 * The life of a scheduler in which anything comes, goes and fails, drawn from a seed.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import { headerBytes } from "../engine/disk_cache/page_file.ts";
import { STATE_GROUP } from "../engine/disk_cache/page_name.ts";
import { PageStore } from "../engine/disk_cache/page_store.ts";
import { DeviceLock } from "../engine/device_lock.ts";
import { M40Error } from "../engine/errors.ts";
import { SAMPLING_DEFAULTS } from "../engine/sampling/parameters.ts";
import { PageManager } from "../engine/scheduler/page_manager.ts";
import { HostPages } from "../engine/scheduler/host_pages.ts";
import { NO_PAGE, type PageGroup } from "../engine/scheduler/page_layout.ts";
import { DiskPages } from "../engine/scheduler/disk_pages.ts";
import { RowTimes } from "../engine/scheduler/row_times.ts";
import { Scheduler } from "../engine/scheduler/scheduler.ts";
import { Sequence } from "../engine/scheduler/sequence.ts";
import { SlotManager } from "../engine/scheduler/slot_manager.ts";
import { alone, END, hiddenAlone, VOCABULARY } from "./fake_answers.ts";
import { FakeDevice, type FakeDeviceOptions, SLOT_BYTES } from "./fake_device.ts";
import { Random } from "./random.ts";

import { FakeFiles, type FileFault } from "./fake_files.ts";

/** What happened in a life of a scheduler; each must happen in some. */
export const EVENTS = {
  steps: 0,
  sequences: 0,
  preemptions: 0,
  recomputations: 0,
  restedMs: 0,
  cachedTokens: 0,
  cancelled: 0,
  abortedLeaders: 0,
  evaluations: 0,
  failedSteps: 0,
  failedSaves: 0,
  failedRestores: 0,
  failedCopies: 0,
  spoiledOutputs: 0,
  throwingListeners: 0,
  throwingEnds: 0,
  throwingObservers: 0,
  lostDevices: 0,
  multiRows: 0,
  guesses: 0,
  /** Hidden states that sequences gave. */
  hidden: 0,
  certainTokens: 0,
  /** Steps that were begun while others were under way. */
  besideOthers: 0,
  /** Parts of prompts that began while the part before was under way. */
  parts: 0,
  runs: 0,
  runSteps: 0,
  /** What was begun while another step was under way, on devices with two lanes. */
  besideLanes: 0,
  /** Lives of models with windows, and what happened in them. */
  windows: 0,
  windowPreemptions: 0,
  windowCachedTokens: 0,
  /** Lives of models that keep states, and what happened in them. */
  stateLives: 0,
  statePreemptions: 0,
  stateRecomputations: 0,
  stateCachedTokens: 0,
  stateGuesses: 0,
  stateCertainTokens: 0,
  stateRestores: 0,
  stateReads: 0,
  stateRuns: 0,
  stateRunSteps: 0,
  /** Runs in which a sequence's state went on in another slot. */
  laterSlots: 0,
  /** Steps of sequences that read one slot and wrote another. */
  otherSlots: 0,
  /** Lives with a disk cache, those after a restart among them, and what happened to its pages. */
  disks: 0,
  readPages: 0,
  readFailures: 0,
  damagedPages: 0,
  writtenPages: 0,
  writeFailures: 0,
  removedPages: 0,
  missedPages: 0,
  /** How often sequences that ran needed the pages that were kept for one whose pages were being read. */
  fetchesGivenUp: 0,
};
export type Events = typeof EVENTS;

/** Steps of one life at most; a thousand or two are usual. */
const MOST_ATTEMPTS = 50_000;

/** How often things go wrong: once in so many times, or never. */
interface Faults {
  readonly step: number;
  readonly copy: number;
  readonly save: number;
  readonly restore: number;
  readonly output: number;
  readonly listener: number;
  readonly observer: number;
  /** The call of the device at which it is lost. */
  readonly lossAt: number;
  /** Reading and writing a file. */
  readonly read: number;
  readonly write: number;
}

/** A sequence and what its listener was told. */
interface Client {
  readonly sequence: Sequence;
  readonly expected: readonly number[];
  readonly got: number[];
  /** Tokens after which it wants no more, as at a stop string. */
  readonly stopAfter: number;
  /** What each call of its end came with. */
  readonly ends: unknown[];
  /** Errors, or their codes, that it may end with. */
  readonly reasons: unknown[];
  cancelled: boolean;
}

const EVERYTHING: PageGroup = { window: 0, chunk: 0 };
/** What a model with states alone has: pages that count tokens, and name beginnings. */
const NO_ATTENTION: PageGroup = { window: 1, chunk: 0 };
const READ_FAULTS: readonly FileFault[] = ["error", "gone", "shorter", "flipped", "another's"];
const WRITE_FAULTS: readonly FileFault[] = ["error", "killed", "torn", "torn", "torn", "torn"];

function someShape(random: Random): FakeDeviceOptions {
  const maxRunning = 1 + random.below(8);
  const slots = random.once(2) ? undefined : 2 + random.below(2 * maxRunning);
  const ofAttention = random.once(2) ? [EVERYTHING] : someGroups(random);
  const groups = slots !== undefined && random.once(4) ? [NO_ATTENTION] : ofAttention;
  const kind = random.below(3);
  return {
    groups,
    slots,
    pages: (6 + random.below(40)) * groups.length,
    pageTokens: 1 << random.below(4),
    endOdds: 5 + random.below(60),
    maxRunning,
    stepTokens: maxRunning + 1 + random.below(24),
    stepOutputs: maxRunning + (random.once(2) ? random.below(12) : 0),
    ...(kind === 0 ? { concurrentSteps: 2 + random.below(2) } : {}),
    ...(kind === 1 ? { decodeTokens: maxRunning + random.below(8) } : {}),
  };
}

/** Groups of layers, some with windows; the first sees the token before at least. */
function someGroups(random: Random): PageGroup[] {
  const window = () => random.once(3) ? 0 : 2 + random.below(30);
  const others = Array.from({ length: 1 + random.below(3) }, () => ({
    window: window(),
    chunk: random.once(4) ? 1 + random.below(30) : 0,
  }));
  return [{ window: window(), chunk: 0 }, ...others];
}

/** Step times that make any number of rows worth it. */
class SomeRows extends RowTimes {
  constructor(private readonly random: Random) {
    super();
  }

  override best(least: number, most: number): number {
    return least + this.random.below(most - least + 1);
  }
}

/** One random life of a scheduler. */
export class Life {
  readonly events: Events = { ...EVENTS };
  private readonly random: Random;
  private readonly faults: Faults;
  private readonly device: FakeDevice;
  private readonly shape: FakeDeviceOptions;
  private readonly pageManager: PageManager;
  private readonly host?: HostPages;
  private readonly hostStates?: HostPages;
  private scheduler!: Scheduler;
  private readonly files?: FakeFiles;
  private disk?: DiskPages;
  /** The longest sequence that the pages are enough for. */
  private readonly mostTokens: number;
  private readonly prefixes: number[][];
  private readonly clients: Client[] = [];
  /** Arrivals, ends and whatever else happens in the middle of some step, or while nothing runs. */
  private readonly later: (() => void)[] = [];
  private readonly problems: unknown[] = [];
  private readonly lock = new DeviceLock();
  private calls = 0;
  private loss?: M40Error;
  private reported = 0;
  private stateReads = 0;
  /** Whether nobody guesses or steers, so that there are many runs. */
  private readonly plain: boolean;
  /** How often the scheduler looked for something to do. */
  private attempts = 0;

  /** @param former The life before, of a process that has ended: its files are there. */
  constructor(seed: number, private readonly former?: Life) {
    const random = this.random = new Random(seed);
    this.shape = former?.shape ?? someShape(random);
    this.files = former?.files ?? (random.once(2) ? new FakeFiles() : undefined);
    this.plain = random.once(3);
    const healthy = random.once(3);
    const odds = (times: number) => healthy || random.once(2) ? Infinity : 1 + random.below(times);
    this.faults = {
      step: odds(300),
      copy: odds(8),
      save: odds(8),
      restore: odds(8),
      output: odds(400),
      listener: odds(300),
      observer: odds(50),
      lossAt: !healthy && random.once(8) ? random.below(300) : Infinity,
      read: odds(20),
      write: odds(40),
    };
    this.device = new FakeDevice(this.shape);
    this.device.delay = () => random.below(12);
    const { pages, pageTokens, groups, slots } = this.shape;
    const slotManager = slots === undefined ? undefined : new SlotManager(slots);
    this.pageManager = new PageManager(pages, pageTokens, groups, slotManager);
    this.mostTokens = this.findMostTokens();
    const hostMemory = new Uint8Array(
      random.below(3) * random.below(30) * this.device.pageBytes,
    );
    this.host = hostMemory.length > 0
      ? new HostPages(hostMemory, this.device.pageBytes)
      : undefined;
    const hostStates = new Uint8Array(random.below(8) * SLOT_BYTES);
    this.hostStates = hostStates.length > 0 ? new HostPages(hostStates, SLOT_BYTES) : undefined;
    this.device.fault = (operation, steps) => this.strike(operation, steps);
    this.device.statusOf = (seed) => this.statusOf(this.clients[Number(seed)]);
    this.device.during = () => this.guarded(() => this.during());
    this.prefixes = former?.prefixes ?? Array.from(
      { length: 3 },
      () => Array.from({ length: random.below(20) }, () => 1 + random.below(VOCABULARY - 1)),
    );
  }

  private findMostTokens(): number {
    const { pages, stepTokens } = this.shape;
    let tokens = 2;
    // With windows alone, it may be of any length.
    while (tokens < 400 && this.pageManager.layout.most(tokens + 1, stepTokens) <= pages) tokens++;
    return tokens;
  }

  /** Opens the disk cache, where there is one. */
  private async openDisk(): Promise<DiskPages | undefined> {
    const { files, random, device, shape } = this;
    if (files === undefined) return undefined;
    files.below = (n) => random.below(n);
    files.fault = (operation) => {
      if (!this.happens(this.faults[operation])) return undefined;
      const faults = operation === "read" ? READ_FAULTS : WRITE_FAULTS;
      return faults[random.below(faults.length)];
    };
    const { pageBytes } = device;
    const limitBytes = (random.once(3) ? 4 : 10_000) * (headerBytes(pageBytes) + pageBytes);
    // What the bits depend on: sequences of another shape have no use for them.
    const identity = createHash("sha256").update(JSON.stringify(shape)).digest("hex");
    const store = await PageStore.open({ folder: "/disk", identity, pageBytes, limitBytes, files });
    this.events.disks++;
    const memory = (least: number) => new Uint8Array((least + random.below(4)) * pageBytes);
    const disk = new DiskPages({
      pageManager: this.pageManager,
      mover: device,
      store,
      leastPages: 1 + random.below(3),
      fetchMemory: memory(2),
      saveMemory: memory(1),
      fetchStateMemory: new Uint8Array(SLOT_BYTES),
      saveStateMemory: new Uint8Array(SLOT_BYTES),
      withDevice: (work) =>
        shape.decodeTokens === undefined
          ? this.alone(work)
          : this.lock.share(() => this.scheduler.betweenDecisions(work)),
      now: () => 0,
    });
    const { fetches } = disk;
    const read = store.read.bind(store);
    store.read = async (page, place, memory) => {
      const there = await read(page, place, memory);
      if (there && page.group === STATE_GROUP) this.stateReads++;
      return there;
    };
    const giveWay = fetches.giveWay.bind(fetches);
    fetches.giveWay = () => {
      const had = giveWay();
      if (had) this.events.fetchesGivenUp++;
      return had;
    };
    return disk;
  }

  private makeScheduler(): Scheduler {
    const { maxRunning, stepTokens, stepOutputs, concurrentSteps, decodeTokens } = this.shape;
    return new Scheduler(this.device, this.pageManager, {
      maxRunning,
      maxWaiting: 1000,
      stepTokens,
      stepOutputs,
      concurrentSteps,
      runSteps: this.random.once(4) ? 1 : 2 + this.random.below(20),
      lanes: decodeTokens === undefined ? undefined : { decodeTokens, prefillShare: 0.5 },
      chunkMs: 10,
      rest: this.random.once(4) ? () => Promise.resolve(this.random.below(3)) : undefined,
      rowTimes: this.random.once(2) ? new SomeRows(this.random) : undefined,
      host: this.host,
      hostStates: this.hostStates,
      disk: this.disk,
      withDevice: (work) => {
        // In microtasks alone it would never give way to a timer.
        if (++this.attempts > MOST_ATTEMPTS) throw new Error("it starts itself again and again");
        return this.withDevice(work);
      },
      onStep: () => {
        if (!this.happens(this.faults.observer)) return;
        this.events.throwingObservers++;
        throw new Error("an observer");
      },
      onListenerError: () => this.reported++,
    });
  }

  /** Runs a step: beside others, where the device takes several at a time. */
  private withDevice<T>(work: () => Promise<T>): Promise<T> {
    const { lock, shape: { concurrentSteps, decodeTokens } } = this;
    return (concurrentSteps ?? decodeTokens) === undefined ? lock.run(work) : lock.share(work);
  }

  /** Somebody else uses the device, with nobody beside them. */
  private alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.lock.run(work);
    this.scheduler?.hurry();
    return result;
  }

  private happens(odds: number): boolean {
    return odds !== Infinity && this.random.once(odds);
  }

  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.problems.push(error);
    }
  }

  /** The device fails, or not. */
  private strike(
    operation: "step" | "copy" | "save" | "restore",
    steps: readonly { readonly pages: unknown }[],
  ): void {
    if (this.calls++ >= this.faults.lossAt) {
      if (this.loss === undefined) this.events.lostDevices++;
      throw this.loss ??= new M40Error("device", "lost");
    }
    if (!this.happens(this.faults[operation])) return;
    const failure = new M40Error("internal", `a ${operation} failed`);
    if (operation === "step") {
      this.events.failedSteps++;
      for (const { sequence, reasons } of this.clients) {
        if (steps.some(({ pages }) => pages === sequence.pages)) reasons.push(failure);
      }
    } else if (operation === "save") this.events.failedSaves++;
    else if (operation === "restore") this.events.failedRestores++;
    else this.events.failedCopies++;
    throw failure;
  }

  private statusOf(client: Client): "ok" | "not_finite" | "nothing_allowed" {
    if (!this.happens(this.faults.output)) return "ok";
    this.events.spoiledOutputs++;
    const status = this.random.once(2) ? "not_finite" : "nothing_allowed";
    client.reasons.push(status);
    return status;
  }

  private during(): void {
    this.checkStates();
    if (this.later.length > 0 && this.random.once(4)) this.happenLater();
  }

  private happenLater(): void {
    this.later.splice(this.random.below(this.later.length), 1)[0]();
  }

  /** Who has ended holds nothing, who waits holds no pages, and each is where its state says. */
  private checkStates(): void {
    const present = new Set(this.scheduler.sequences());
    for (const { sequence, ends } of this.clients) {
      const { state, pages, saved, savedState, runs, computed } = sequence;
      const slots = [sequence.slot, sequence.nextSlot, sequence.laterSlot, sequence.startSlot]
        .filter((slot) => slot !== undefined);
      if (state === "finished") {
        assert(!present.has(sequence) && saved === undefined && savedState === undefined);
      } else assertEquals(ends, [], `ended while it was ${state}`);
      if (!runs) assertEquals([pages.length, slots], [0, []], `${state}, and holds pages or slots`);
      if (state === "waiting") assertEquals(sequence.drawn, 0);
      for (const [group, own] of pages.entries()) {
        const behind = own.slice(0, this.pageManager.layout.firstPage(group, computed));
        assert(behind.every((page) => page === NO_PAGE), "it holds pages behind a window");
      }
    }
  }

  private addClient(leader?: Sequence): Client {
    const { random } = this;
    const most = this.mostTokens;
    const own = Array.from(
      { length: 1 + random.below(12) },
      () => 1 + random.below(VOCABULARY - 1),
    );
    const prompt = leader?.prompt ?? [...this.beginning(), ...own].slice(-most + 1);
    const hidden = leader === undefined && random.once(5) ? random.below(2) : undefined;
    if (hidden !== undefined) return this.addHidden(prompt, hidden === 0 ? "last" : "all");
    const maxTokens = 1 + random.below(Math.min(40, most - prompt.length));
    const expected = alone(prompt, maxTokens, this.shape.endOdds);
    const sequence: Sequence = new Sequence({
      prompt,
      maxTokens,
      sampling: { ...SAMPLING_DEFAULTS, seed: this.clients.length },
      topLogprobs: 0,
      endTokens: new Set([END]),
      leader,
      guess: !this.plain && random.once(3) ? (_, most) => this.guess(client, most) : undefined,
      logprobs: false,
      steering: !this.plain && random.once(3)
        ? { next: ({ length }) => this.certain(client, length) }
        : undefined,
      listener: {
        accept: (sample) => this.accept(client, sample.token),
        end: (error) => this.end(client, error),
      },
    });
    const stopAfter = random.once(5) ? 1 + random.below(maxTokens) : Infinity;
    const client: Client = {
      sequence,
      expected,
      got: [],
      stopAfter,
      ends: [],
      reasons: [],
      cancelled: false,
    };
    this.clients.push(client);
    this.events.sequences++;
    if (random.once(6)) this.later.push(() => this.cancel(client));
    return client;
  }

  /** Somebody wants hidden states; what is expected and got are their values. */
  private addHidden(prompt: readonly number[], of: "last" | "all"): Client {
    const states = hiddenAlone(prompt);
    const got: number[] = [];
    const reasons: unknown[] = [];
    const client: Client = {
      sequence: new Sequence({
        prompt,
        maxTokens: 0,
        sampling: { ...SAMPLING_DEFAULTS, seed: this.clients.length },
        topLogprobs: 0,
        endTokens: new Set([END]),
        hidden: {
          of,
          take: (values) => {
            got.push(...values);
            this.events.hidden++;
            if (!this.happens(this.faults.listener)) return;
            this.events.throwingListeners++;
            const failure = new M40Error("internal", "who takes hidden states");
            reasons.push(failure);
            throw failure;
          },
        },
        listener: {
          accept: () => false,
          end: (error) => this.end(client, error),
        },
      }),
      expected: (of === "all" ? states : states.slice(-1)).flatMap((values) => [...values]),
      got,
      stopAfter: Infinity,
      ends: [],
      reasons,
      cancelled: false,
    };
    this.clients.push(client);
    this.events.sequences++;
    if (this.random.once(6)) this.later.push(() => this.cancel(client));
    return client;
  }

  /** What others begin with, or all that somebody else was asked and answers: a conversation goes on. */
  private beginning(): readonly number[] {
    const { random } = this;
    const clients = [...this.former?.clients ?? [], ...this.clients];
    if (clients.length === 0 || !random.once(4)) return this.prefixes[random.below(3)];
    const { sequence, expected } = clients[random.below(clients.length)];
    const drawn = sequence.hidden === undefined ? expected : [];
    return [...sequence.prompt, ...drawn.filter((token) => token !== END)];
  }

  /** Some of what comes next, wrong at some place or other. */
  private guess({ sequence, expected, reasons }: Client, most: number): number[] {
    if (this.happens(10 * this.faults.listener)) {
      this.events.throwingListeners++;
      const failure = new Error("a guess");
      reasons.push(failure.message);
      throw failure;
    }
    const right = expected.slice(sequence.drawn, sequence.drawn + this.random.below(most + 2));
    return right.map((token) => this.random.once(6) ? this.random.below(VOCABULARY) : token);
  }

  /** The token of a place, where it is the only one allowed: in half of all stretches of three places. */
  private certain({ sequence, expected }: Client, place: number): number | undefined {
    if ((Math.floor(place / 3) + sequence.prompt.length) % 2 === 0) return undefined;
    return expected[place];
  }

  private accept({ got, ends, expected, stopAfter, reasons }: Client, token: number): boolean {
    this.guarded(() => {
      assertEquals(ends, [], "a token after the end");
      got.push(token);
      assertEquals(got, expected.slice(0, got.length));
    });
    if (this.happens(this.faults.listener)) {
      this.events.throwingListeners++;
      const failure = new M40Error("internal", "a listener");
      reasons.push(failure);
      throw failure;
    }
    return got.length < stopAfter;
  }

  private end({ ends }: Client, error: unknown): void {
    ends.push(error);
    if (!this.happens(this.faults.listener)) return;
    this.events.throwingEnds++;
    throw new Error("at the end");
  }

  private cancel(client: Client): void {
    if (client.ends.length > 0) return;
    client.cancelled = true;
    this.events.cancelled++;
    this.scheduler.cancel(client.sequence);
    this.guarded(() => assertEquals(client.ends.length, 1, "cancelled, and not told"));
  }

  private arrive(): void {
    const leader = this.addClient();
    const followers = leader.sequence.hidden === undefined && this.random.once(5)
      ? Array.from({ length: 1 + this.random.below(3) }, () => this.addClient(leader.sequence))
      : [];
    const clients = [leader, ...followers];
    if (followers.length > 0 && this.random.once(4)) {
      // Its signal was aborted before it began.
      this.events.abortedLeaders++;
      this.cancel(leader);
      clients.shift();
    }
    try {
      this.scheduler.add(...clients.map(({ sequence }) => sequence));
    } catch (error) {
      if (error !== this.loss) this.problems.push(error);
      clients.forEach((client) => this.cancel(client));
    }
  }

  /** Somebody else takes pages for a time, as an evaluation does. */
  private evaluate(): void {
    const { slots } = this.pageManager;
    const pages = this.pageManager.allocate(1 + this.random.below(this.shape.pages));
    if (pages === undefined) return;
    const slot = slots?.allocate();
    if (slots !== undefined && slot === undefined) return this.pageManager.release(pages);
    this.events.evaluations++;
    const write = () =>
      this.alone(() => {
        this.device.spoil(pages);
        if (slot !== undefined) this.device.spoilSlots([slot]);
        return Promise.resolve();
      });
    write();
    this.later.push(() => {
      const release = () => {
        this.pageManager.release(pages);
        if (slot !== undefined) slots!.release(slot);
      };
      write().then(release);
    });
  }

  /** Lives it to its end; fails where something is not as it should be. */
  async live(): Promise<Events> {
    this.disk = await this.openDisk();
    const scheduler = this.scheduler = this.makeScheduler();
    const { random, later, events } = this;
    for (let i = 10 + random.below(40); i > 0; i--) {
      if (random.once(6)) later.push(() => this.evaluate());
      else if (random.once(2)) this.arrive();
      else later.push(() => this.arrive());
    }
    let idle = false;
    while (later.length > 0 || !idle) {
      idle = false;
      const over = scheduler.idle().then(() => idle = true);
      // Where nobody can go on, only what comes later helps.
      for (let steps = -1; !idle && steps < this.calls;) {
        steps = this.calls;
        for (let i = 0; !idle && i < 60; i++) await undefined;
      }
      if (later.length > 0) {
        this.guarded(() => this.happenLater());
        idle = false;
      } // An evaluation may hold pages still.
      else if (!idle) await within(over, "it waits for ever, or starts again and again");
    }
    // A life ends when the scheduler's status is empty: somebody may arrive from within a device
    // operation after `idle()` was asked, which then speaks of the loop before.
    for (let i = 0; i < 1000 && scheduler.status().running + scheduler.status().waiting > 0; i++) {
      await within(scheduler.idle(), "it waits for ever, or starts again and again");
    }
    // The last step may be one of nobody who is left.
    await within(scheduler.idle(), "it waits for ever, or starts again and again");
    // The last of the others gives its pages back.
    for (let i = 0; i < 10; i++) await this.lock.settle();
    // Pages are still being written, or it is killed.
    if (random.once(2)) await this.disk?.close(10_000);
    else await this.disk?.close(0);
    this.checkEnd();
    const { preemptions, recomputations, cachedTokens, certainTokens, restedMs } = scheduler.counts;
    const { steps, multiRows, guesses, otherSlots, besideOthers, parts } = this.device;
    const { runs, runSteps } = this.device;
    const besideLanes = this.shape.decodeTokens === undefined ? 0 : besideOthers;
    const sums = {
      preemptions,
      recomputations,
      restedMs,
      cachedTokens,
      certainTokens,
      steps,
      multiRows,
      guesses,
      otherSlots,
      besideOthers,
      besideLanes,
      parts,
      runs,
      runSteps,
    };
    const withStates = this.shape.slots === undefined ? {} : {
      stateLives: 1,
      statePreemptions: preemptions,
      stateRecomputations: recomputations,
      stateCachedTokens: cachedTokens,
      stateGuesses: guesses,
      stateCertainTokens: certainTokens,
      stateRestores: this.device.restoredSlots,
      stateReads: this.stateReads,
      stateRuns: runs,
      stateRunSteps: runSteps,
      laterSlots: this.device.laterSlots,
    };
    const inWindows = this.shape.groups!.some(({ window, chunk }) => window + chunk > 0)
      ? { windows: 1, windowPreemptions: preemptions, windowCachedTokens: cachedTokens }
      : {};
    return { ...events, ...sums, ...inWindows, ...withStates, ...this.diskEvents() };
  }

  /** Whether somebody may live on in another process, with the pages that this one has left on disk. */
  get hasDisk(): boolean {
    return this.files !== undefined;
  }

  private diskEvents(): Partial<Events> {
    if (this.disk === undefined) return {};
    const status = this.disk.status();
    const known = Object.entries(status).filter(([name]) => Object.hasOwn(EVENTS, name));
    return Object.fromEntries(known) as Partial<Events>;
  }

  private checkEnd(): void {
    const { pageManager, scheduler, events } = this;
    if (this.problems.length > 0) throw this.problems[0];
    this.checkStates();
    for (const client of this.clients) this.checkClient(client);
    assertEquals(pageManager.freePages, pageManager.pages, "pages were lost");
    assertEquals(this.host?.usage.saved ?? 0, 0, "saved pages were forgotten");
    assertEquals(this.hostStates?.usage.saved ?? 0, 0, "saved states were forgotten");
    const { slots } = pageManager;
    assertEquals(slots?.free, slots?.slots, "slots were lost");
    // What is kept for others goes when all is wanted, and nothing stands for it any more.
    pageManager.allocate(pageManager.pages);
    for (let i = 0; i < (slots?.slots ?? 0); i++) assert(slots!.allocate() !== undefined);
    assertEquals(
      pageManager["tree"]["known"].size,
      0,
      "prefixes without pages and states are known",
    );
    const failed = this.loss?.message;
    assertEquals(scheduler.status(), { running: 0, waiting: 0, preempted: 0, failed });
    assertEquals(scheduler.counts.steps, this.device.steps);
    assertEquals(this.reported, events.throwingEnds + events.throwingObservers);
  }

  private checkClient(client: Client): void {
    const { sequence, got, expected, stopAfter, ends, reasons, cancelled } = client;
    assertEquals(sequence.state, "finished");
    assertEquals(ends.length, 1, "told of its end more than once, or never");
    const [error] = ends;
    if (error === undefined) {
      if (!cancelled) assertEquals(got, expected.slice(0, Math.min(stopAfter, expected.length)));
      return;
    }
    const { code, message } = error as M40Error;
    const known = [error, code, message].some((one) => reasons.includes(one));
    assert(known || error === this.loss, `ended with ${error}`);
  }
}

/** A promise's value; fails where it takes ten seconds, which is for ever. */
async function within<T>(promise: Promise<T>, problem: string): Promise<T> {
  let timer: number | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(problem)), 10_000);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
