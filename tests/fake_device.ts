/**
 * A device for tests of the scheduler. It computes nothing but keeps what is written to its pages, and fails
 * when it is told to.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { DeviceRun, TakeRunStep } from "../engine/device/program_runs.ts";
import type { RunLimits } from "../engine/device/run_block.ts";
import type { StepSequence } from "../engine/device/step_block.ts";
import type { StepOutput, StepResult } from "../engine/device/step_result.ts";
import { NONE } from "../engine/device/structs.ts";
import { NO_PAGE, type PageGroup, PageLayout } from "../engine/scheduler/page_layout.ts";
import type { Lane, StepPlace } from "../engine/scheduler/lane.ts";
import type { SchedulerDevice } from "../engine/scheduler/scheduler_options.ts";
import { drawnAfter, hiddenOf, mix } from "./fake_answers.ts";
import { LaneWatch, type Use } from "./lane_watch.ts";

/** What fills a page whose writing has failed. */
const SPOILED = 0xDEADBEEF;

/** The shape of a {@link FakeDevice}. */
export interface FakeDeviceOptions {
  readonly pages: number;
  readonly pageTokens: number;
  /** An answer ends after one token in so many. */
  readonly endOdds: number;
  readonly maxRunning: number;
  readonly stepTokens: number;
  readonly stepOutputs: number;
  /**
   * The groups of layers; default one that sees everything. The first sees the token before at least, but where there
   * are states.
   */
  readonly groups?: readonly PageGroup[];
  /** Slots of states, of a model that keeps some. */
  readonly slots?: number;
  /** Steps that it may be given at a time; default 1. */
  readonly concurrentSteps?: number;
  /** Where it has two lanes, whose steps and moves are done in any order: the tokens and outputs of a step that decodes. */
  readonly decodeTokens?: number;
}

/** What can go wrong in a call. */
export type Operation = "step" | "copy" | "save" | "restore";

/** What a slot holds: the hash and the bits after so many tokens. */
const STATE_WORDS = 3;
/** Bytes of a slot in host memory. */
export const SLOT_BYTES = 4 * STATE_WORDS;

/**
 * Each slot of a page holds the hash of its token and all tokens before it, and another hash that has in it
 * whether each of them was computed as a prompt row or as a decode row: its "bits". What is drawn follows
 * from the first alone, so that a sequence that reads a wrong page draws something else than it would
 * alone; and the bits of a token must stay what they were, however often it is computed again. With them
 * stand the token and the group of layers: what a sequence sees of each group must be its own tokens, without
 * a gap, up to the one before.
 *
 * A state is the hash and the bits of all tokens before it: a sequence that reads a slot must find those of its
 * own tokens there, as many as its pages hold.
 */
export class FakeDevice implements SchedulerDevice {
  private readonly hashes: Uint32Array;
  private readonly bits: Uint32Array;
  private readonly tokens: Uint32Array;
  private readonly groups: Uint32Array;
  /** All that a page holds. */
  private readonly memories: readonly Uint32Array[];
  private readonly layout: PageLayout;
  private readonly states: Uint32Array;
  /** Of each sequence (by its seed) the hash and the bits of each token after which one was drawn, guesses too. */
  private readonly drawnFrom = new Map<bigint, Map<number, readonly [number, number]>>();
  steps = 0;
  /** Sequences of more than one decode row, and outputs of guesses. */
  multiRows = 0;
  /** Steps of sequences that read one slot and wrote another. */
  otherSlots = 0;
  restoredSlots = 0;
  /** Runs, and their steps behind the first. */
  runs = 0;
  runSteps = 0;
  /** States of sequences that went on in another slot in the midst of a run, which left the one before as it was. */
  laterSlots = 0;
  guesses = 0;
  /** Steps that began while another was under way. */
  besideOthers = 0;
  /** How much longer a step takes than the one before it, in microtasks. */
  delay = () => 0;
  /** Parts of prompts that began while the part before was under way. */
  parts = 0;
  private underWay: (readonly StepSequence[])[] = [];
  /** Lanes that a step is under way in, and what is done at the same time. */
  private readonly busy = new Set<Lane>();
  private readonly watch = new LaneWatch();
  /** The pages of those of whom a part of a step failed. */
  private readonly spoiled = new WeakSet<StepSequence["pages"]>();
  private last: Promise<unknown> = Promise.resolve();
  /** Called in the middle of every step. */
  during = () => {};
  /** Asked before every call: what it throws is that call's failure. */
  fault = (_operation: Operation, _sequences: readonly StepSequence[]) => {};
  /** Asked for every output, by the sequence's seed. */
  statusOf = (_seed: bigint): StepOutput["status"] => "ok";

  constructor(private readonly options: FakeDeviceOptions) {
    const memory = () => new Uint32Array(options.pages * options.pageTokens);
    this.memories = [
      this.hashes = memory(),
      this.bits = memory(),
      this.tokens = memory(),
      this.groups = memory(),
    ];
    this.layout = new PageLayout(options.pageTokens, options.groups);
    this.states = new Uint32Array((options.slots ?? 0) * STATE_WORDS);
  }

  async step(sequences: readonly StepSequence[], place?: StepPlace): Promise<StepResult> {
    const { concurrentSteps = 1, decodeTokens, stepTokens, stepOutputs } = this.options;
    const decodes = place?.lane === "decode";
    this.check(
      sequences,
      decodes ? decodeTokens! : stepTokens,
      decodes ? decodeTokens! : stepOutputs,
    );
    assertEquals(place === undefined, decodeTokens === undefined, "it has two lanes, or not");
    if (place !== undefined) return await this.stepInLane(sequences, place.lane);
    if (concurrentSteps === 1) return await this.computeStep(sequences);
    assert(this.underWay.length < concurrentSteps, "more steps than it may be given");
    if (this.underWay.length > 0) this.besideOthers++;
    const others = this.underWay.flat();
    for (const { pages } of sequences) if (others.some((one) => one.pages === pages)) this.parts++;
    this.underWay.push(sequences);
    try {
      return await this.inTurn(() => this.computeStep(sequences));
    } finally {
      this.underWay = this.underWay.filter((one) => one !== sequences);
    }
  }

  /**
   * Steps one after the other, each of the tokens that the one before has drawn. One that it was told to stop after may be
   * followed by another, as of a device that has it already. Who has ended is computed as before; with states, as if it went
   * on.
   */
  run(
    sequences: readonly StepSequence[],
    steps: number,
    limits: readonly RunLimits[],
    take: TakeRunStep,
  ): DeviceRun {
    let stops = false;
    const work = async () => {
      const next = sequences.map((one, i) => ({
        // As they are now: a device has copied the tables.
        one: { ...one, pages: one.pages.map((own) => Array.from(own)) } as StepSequence,
        left: limits[i].tokens,
        ended: false,
      }));
      this.runs++;
      const hasStates = this.options.slots !== undefined;
      if (hasStates) this.checkLater(sequences, limits);
      const most = hasStates ? Math.min(steps, ...limits.map(({ tokens }) => tokens)) : steps;
      let ahead = this.delay() % 2;
      for (let i = 0; i < most; i++) {
        if (stops && i > 0 && ahead-- <= 0) return;
        // Those that have ended are computed as before.
        const all = next.map(({ one }) => one);
        const { decodeTokens, stepTokens, stepOutputs } = this.options;
        this.check(all, decodeTokens ?? stepTokens, decodeTokens ?? stepOutputs);
        // What is written again is as it was.
        const used = next.filter(({ ended }) => hasStates || !ended).map(({ one }) => one);
        const { outputs } = this.options.decodeTokens === undefined
          ? await this.computeStep(all, sequences)
          : await this.stepInLane(all, "decode", { asked: sequences, used });
        if (i > 0) this.runSteps++;
        take(outputs.map((output, s) => next[s].ended ? undefined : output));
        for (const [s, row] of next.entries()) {
          const token = outputs[s].sample?.token;
          if (row.ended && !hasStates) continue;
          row.ended ||= token === undefined || --row.left === 0 || limits[s].endTokens.has(token);
          if (row.ended && !hasStates) continue;
          row.one = nextOf(row.one, token ?? row.one.tokens[0]);
          const { later } = limits[s];
          if (!hasStates) continue;
          const to = row.one.states!.to;
          const moves = later?.from === i + 1;
          if (moves) this.laterSlots++;
          row.one = { ...row.one, states: { from: to, to: moves ? later!.slot : to } };
        }
        if (next.every(({ ended }) => ended)) return;
      }
    };
    return { over: work(), stop: () => stops = true };
  }

  /** What a run goes on in is nobody's before. */
  private checkLater(sequences: readonly StepSequence[], limits: readonly RunLimits[]): void {
    const slots = [
      ...sequences.flatMap(({ states }) => [...new Set([states!.from, states!.to])]),
      ...limits.flatMap(({ later }) => later === undefined ? [] : [later.slot]),
    ].filter((slot) => slot !== NONE);
    assertEquals(new Set(slots).size, slots.length, "a slot of two sequences in a run");
    assert(slots.every((slot) => slot < this.options.slots!), "a slot that is not there");
    assert(limits.every(({ later }) => later === undefined || later.from > 0), "no later step");
  }

  /** One step of a lane at a time, beside those of the other and beside moves. */
  private async stepInLane(
    sequences: readonly StepSequence[],
    lane: Lane,
    { asked = sequences, used = sequences } = {},
  ): Promise<StepResult> {
    assert(!this.busy.has(lane), "two steps in one lane");
    if (lane === "decode") assert(sequences.every(({ decode }) => decode), "a prompt that decodes");
    if (this.busy.size > 0) this.besideOthers++;
    this.busy.add(lane);
    try {
      return await this.watch.during(
        this.usedBy(used),
        () => this.computeStep(sequences, asked),
      );
    } finally {
      this.busy.delete(lane);
    }
  }

  private usedBy(sequences: readonly StepSequence[]): Use {
    const [reads, writes] = [new Set<number>(), new Set<number>()];
    for (const { pages, position, tokens, states } of sequences) {
      for (const [group, own] of Array.from(pages).entries()) {
        for (let q = this.firstSeen(group, position); q < position + tokens.length; q++) {
          (q < position ? reads : writes).add(this.slot(own, q));
        }
      }
      if (states === undefined) continue;
      if (states.from !== NONE) reads.add(-1 - states.from);
      writes.add(-1 - states.to);
    }
    return { reads, writes };
  }

  /** A move, beside steps where it has two lanes: what it writes nobody uses, what it reads may be being written. */
  private move(
    pages: ArrayLike<number>,
    slots: ArrayLike<number>,
    work: () => Promise<void>,
  ): Promise<void> {
    if (this.options.decodeTokens === undefined) return this.inTurn(work);
    const { pageTokens } = this.options;
    const writes = new Set<number>();
    for (const page of Array.from(pages)) {
      for (let i = 0; i < pageTokens; i++) writes.add(page * pageTokens + i);
    }
    for (const slot of Array.from(slots)) writes.add(-1 - slot);
    return this.watch.during({ reads: new Set(), writes }, work);
  }

  /** What a move gets of a page: what is being written is anything. */
  private taken(memory: Uint32Array, page: number): Uint32Array<ArrayBuffer> {
    const { pageTokens } = this.options;
    const values = new Uint32Array(this.page(memory, page));
    return values.map((value, i) => this.watch.isWritten(page * pageTokens + i) ? SPOILED : value);
  }

  /** Does what it is asked in the order of asking, each when the one before it is done. */
  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.options.concurrentSteps === undefined) return work();
    const result = this.last.then(work);
    this.last = result.catch(() => {});
    return result;
  }

  private async computeStep(
    sequences: readonly StepSequence[],
    asked = sequences,
  ): Promise<StepResult> {
    queueMicrotask(this.during);
    await undefined;
    for (let i = this.delay(); i > 0; i--) await undefined;
    try {
      this.fault("step", asked);
    } catch (error) {
      for (const sequence of sequences) this.spoilPart(sequence);
      throw error;
    }
    this.steps++;
    const compute = (sequence: StepSequence) =>
      this.spoiled.has(sequence.pages) ? this.spoilPart(sequence) : this.compute(sequence);
    return { outputs: sequences.flatMap(compute) };
  }

  /** A sequence's part of a step fails, and so does what comes after it in steps that have begun: nobody wants it. */
  private spoilPart({ pages, position, tokens, outputs, states }: StepSequence): StepOutput[] {
    this.spoiled.add(pages);
    if (states !== undefined) this.spoilSlots([states.to]);
    for (const own of pages) {
      for (let i = 0; i < tokens.length; i++) {
        this.bits[this.slot(own, position + i)] = SPOILED;
        this.hashes[this.slot(own, position + i)] = SPOILED;
      }
    }
    return outputs.map(() => ({ status: "not_finite" }));
  }

  private check(sequences: readonly StepSequence[], mostTokens: number, mostOutputs: number): void {
    const { maxRunning, pageTokens } = this.options;
    assert(sequences.length <= maxRunning, "more sequences than may run");
    const tokens = sequences.reduce((sum, one) => sum + one.tokens.length, 0);
    assert(tokens <= mostTokens, "more tokens than a step may have");
    const outputs = sequences.reduce((sum, one) => sum + one.outputs.length, 0);
    assert(outputs <= mostOutputs, "more outputs than a step may have");
    const firstPrompt = sequences.findIndex(({ decode }) => !decode);
    assert(
      firstPrompt < 0 || sequences.slice(firstPrompt).every(({ decode }) => !decode),
      "decode rows come first",
    );
    this.checkSlots(sequences);
    const written = new Set<number>();
    for (const { pages, position, tokens } of sequences) {
      assert(tokens.length > 0, "no tokens");
      assertEquals(pages.length, this.layout.groups.length);
      for (const own of pages) {
        assert(own.length * pageTokens >= position + tokens.length, "a page is missing");
        for (let i = 0; i < tokens.length; i++) {
          const at = this.slot(own, position + i);
          assert(!written.has(at), "two sequences write to one slot");
          written.add(at);
        }
      }
    }
  }

  /** Each sequence has slots; none is written that another reads or writes. */
  private checkSlots(sequences: readonly StepSequence[]): void {
    const { slots = 0 } = this.options;
    for (const { states, position } of sequences) {
      if (slots === 0) {
        assertEquals(states, undefined, "a slot of a model without states");
        continue;
      }
      const { from, to } = states!;
      assert(to < slots, "a slot that is not there");
      assertEquals(from === NONE, position === 0, "a state of no tokens, or none of some");
      const users = sequences.filter((one) => one.states!.from === to || one.states!.to === to);
      assertEquals(users.length, 1, "a slot is written that another sequence reads or writes");
      if (from !== NONE && from !== to) this.otherSlots++;
    }
  }

  /** What a token sees of each group are the tokens before it, of its own sequence. */
  private checkSeen({ pages, position }: StepSequence, last: number | undefined): void {
    const { hashes, bits, tokens, groups } = this;
    for (const [group, own] of Array.from(pages).entries()) {
      let hash: number | undefined;
      let before = 0;
      for (let q = this.firstSeen(group, position); q < position; q++) {
        const at = this.slot(own, q);
        assertEquals(groups[at], group, `position ${q} of group ${group} is another group's`);
        if (hash !== undefined) {
          assertEquals(hashes[at], mix(hash, tokens[at]), "a wrong page");
          const either = [0, 1].map((decode) => mix(bits[before], 2 * tokens[at] + decode));
          assert(either.includes(bits[at]), "it comes after tokens computed in another way");
        }
        hash = hashes[at];
        before = at;
      }
      if (hash !== undefined) assertEquals(hash, last, `group ${group} holds another sequence`);
    }
  }

  /** The first position that a token sees of a group. */
  private firstSeen(group: number, position: number): number {
    const { window, chunk } = this.layout.groups[group];
    return Math.max(window && position + 1 - window, chunk && position - position % chunk, 0);
  }

  /** The hash and the bits of all tokens before a sequence's part of a step. */
  private before({ pages, position, states }: StepSequence): readonly [number, number] {
    if (position === 0) return [1, 1];
    const [hash, bits] = states === undefined ? [] : this.stateOf(states.from);
    // Without attention, the page before is given back.
    if (pages[0][Math.floor((position - 1) / this.options.pageTokens)] === NO_PAGE && states) {
      return [hash!, bits!];
    }
    const at = this.slot(pages[0], position - 1);
    return [this.hashes[at], this.bits[at]];
  }

  private compute(sequence: StepSequence): StepOutput[] {
    const { tokens, position, pages, decode, outputs, states } = sequence;
    let [hash, bits] = this.before(sequence);
    this.checkSeen(sequence, position === 0 ? undefined : hash);
    if (states !== undefined && position > 0) {
      const state = this.stateOf(states.from);
      assertEquals(Array.from(state), [hash, bits, position], "the state of other tokens");
    }
    if (decode && tokens.length > 1) this.multiRows++;
    if (outputs.every(({ kind }) => kind !== "hidden")) {
      this.guesses += Math.max(0, outputs.length - 1);
    }
    const results: StepOutput[] = [];
    for (let i = 0; i < tokens.length; i++) {
      const output = outputs.find(({ row }) => row === i);
      const isHidden = output?.kind === "hidden";
      const drawn = output && !isHidden ? this.drawnBy(output.sampling!.seed) : undefined;
      const known = drawn?.get(position + i - 1);
      // A guess that was wrong is another token.
      if (known?.[0] === hash) assertEquals(bits, known[1], "a token was computed in another way");
      hash = mix(hash, tokens[i]);
      bits = mix(bits, 2 * tokens[i] + (decode ? 1 : 0));
      Array.from(pages).forEach((own, group) => {
        const at = this.slot(own, position + i);
        this.memories.forEach((memory, n) => memory[at] = [hash, bits, tokens[i], group][n]);
      });
      if (output === undefined) continue;
      if (isHidden) {
        results.push({ status: "ok", values: hiddenOf(hash) });
        continue;
      }
      drawn!.set(position + i, [hash, bits]);
      const status = this.statusOf(output.sampling!.seed);
      results.push(
        status === "ok"
          ? {
            status,
            sample: { token: drawnAfter(hash, this.options.endOdds), logprob: 0, top: [] },
          }
          : { status },
      );
    }
    if (states !== undefined) this.stateOf(states.to).set([hash, bits, position + tokens.length]);
    assertEquals(results.length, outputs.length, "an output of a row that is not there");
    return results;
  }

  copyPages(from: Uint32Array, to: Uint32Array): Promise<void> {
    return this.move(to, [], () => this.copyPagesNow(from, to));
  }

  private async copyPagesNow(from: Uint32Array, to: Uint32Array): Promise<void> {
    assert(!from.some((page) => to.includes(page)), "copied in any order, this would be another");
    await this.attempt("copy", to);
    from.forEach((page, i) => {
      for (const memory of this.memories) {
        this.page(memory, to[i]).set(this.taken(memory, page));
      }
    });
  }

  savePages(pages: Uint32Array, memory: Uint8Array): Promise<void> {
    return this.move([], [], () => this.savePagesNow(pages, memory));
  }

  private async savePagesNow(pages: Uint32Array, memory: Uint8Array): Promise<void> {
    await this.attempt("save", [], memory);
    pages.forEach((page, i) => {
      this.memories.forEach((values, n) =>
        memory.set(
          new Uint8Array(this.taken(values, page).buffer),
          (this.memories.length * i + n) * this.options.pageTokens * 4,
        )
      );
    });
  }

  restorePages(pages: Uint32Array, memory: Uint8Array): Promise<void> {
    return this.move(pages, [], () => this.restorePagesNow(pages, memory));
  }

  private async restorePagesNow(pages: Uint32Array, memory: Uint8Array): Promise<void> {
    await this.attempt("restore", pages);
    const size = this.options.pageTokens * 4;
    pages.forEach((page, i) => {
      this.memories.forEach((values, n) => {
        const start = (this.memories.length * i + n) * size;
        this.page(values, page).set(new Uint32Array(memory.slice(start, start + size).buffer));
      });
    });
  }

  saveSlots(slots: Uint32Array, memory: Uint8Array): Promise<void> {
    return this.move([], [], () => this.saveSlotsNow(slots, memory));
  }

  private async saveSlotsNow(slots: Uint32Array, memory: Uint8Array): Promise<void> {
    await this.attempt("save", [], memory);
    slots.forEach((slot, i) => {
      assert(!this.watch.isWritten(-1 - slot), "a state is saved that is being written");
      memory.set(new Uint8Array(this.stateOf(slot).slice().buffer), i * SLOT_BYTES);
    });
  }

  restoreSlots(slots: Uint32Array, memory: Uint8Array): Promise<void> {
    return this.move([], slots, () => this.restoreSlotsNow(slots, memory));
  }

  private async restoreSlotsNow(slots: Uint32Array, memory: Uint8Array): Promise<void> {
    try {
      await this.attempt("restore", []);
    } catch (error) {
      this.spoilSlots(slots);
      throw error;
    }
    this.restoredSlots += slots.length;
    slots.forEach((slot, i) => {
      const bytes = memory.slice(i * SLOT_BYTES, (i + 1) * SLOT_BYTES);
      this.stateOf(slot).set(new Uint32Array(bytes.buffer));
    });
  }

  /** Bytes of a page in host memory. */
  get pageBytes(): number {
    return this.memories.length * 4 * this.options.pageTokens;
  }

  /** Somebody else writes to pages. */
  spoil(pages: Iterable<number>): void {
    for (const page of pages) {
      for (const memory of this.memories) this.page(memory, page).fill(SPOILED);
    }
  }

  /** Somebody else writes to slots. */
  spoilSlots(slots: Iterable<number>): void {
    for (const slot of slots) this.stateOf(slot).fill(SPOILED);
  }

  private async attempt(
    operation: Operation,
    pages: Iterable<number>,
    memory?: Uint8Array,
  ): Promise<void> {
    queueMicrotask(this.during);
    await undefined;
    try {
      this.fault(operation, []);
    } catch (error) {
      this.spoil(pages);
      memory?.fill(0xAA);
      throw error;
    }
  }

  private stateOf(slot: number): Uint32Array {
    return this.states.subarray(slot * STATE_WORDS, (slot + 1) * STATE_WORDS);
  }

  private drawnBy(seed: bigint): Map<number, readonly [number, number]> {
    let drawn = this.drawnFrom.get(seed);
    if (drawn === undefined) this.drawnFrom.set(seed, drawn = new Map());
    return drawn;
  }

  private slot(pages: ArrayLike<number>, position: number): number {
    const { pageTokens } = this.options;
    const page = pages[Math.floor(position / pageTokens)];
    assert(page !== NO_PAGE, `the page of position ${position} was given back`);
    return page * pageTokens + position % pageTokens;
  }

  private page(memory: Uint32Array, page: number): Uint32Array {
    const { pageTokens } = this.options;
    return memory.subarray(page * pageTokens, (page + 1) * pageTokens);
  }
}

/** A sequence's part of the next step of a run, after the token that it drew. */
function nextOf({ outputs, ...one }: StepSequence, token: number): StepSequence {
  const [{ row, sampling }] = outputs;
  return {
    ...one,
    tokens: [token],
    position: one.position + 1,
    outputs: [{ row, sampling: { ...sampling!, counter: sampling!.counter + 1 } }],
  };
}
