import type { DeviceQueue } from "./device_queue.ts";
import { check } from "./status.ts";
import type { StepBlock, StepSequence } from "./step_block.ts";
import { readSample, type StepOutput, type WantedOutput } from "./step_result.ts";
import {
  ERROR,
  MAX_RUN_END_TOKENS,
  NONE,
  OutputStatus,
  RING,
  RING_ENTRY,
  RUN_HEADER,
  RUN_ROW,
} from "./structs.ts";
import type { Symbols } from "./symbols.ts";

/** When a sequence of a run samples no more. */
export interface RunLimits {
  /** Tokens that it samples at most. */
  readonly tokens: number;
  /** It samples none after these. */
  readonly endTokens: ReadonlySet<number>;
  /**
   * A slot that its states are written to from a step of the run on, counted from 0, so that the earlier slot is kept.
   */
  readonly later?: { readonly slot: number; readonly from: number };
}

/** Steps of the same sequences that the device computes one after the other without the host. */
export interface DeviceRun {
  /**
   * Resolves when it is over and all its samples are delivered; rejects where it failed, after its earlier samples are
   * delivered.
   */
  readonly over: Promise<void>;
  /** Has it begin no more steps. One that the device was given already is computed, and counts. */
  stop(): void;
}

/**
 * Called for each step of a run with its outputs' results, in their order; with nothing for a sequence that had ended.
 *
 * @param isOver Whether the run is over already.
 */
export type TakeRunStep = (
  outputs: readonly (StepOutput | undefined)[],
  isOver?: boolean,
) => void;

/** Whether a run can have these end tokens: there is room for so many. */
export function fitsRun(rows: readonly RunLimits[]): boolean {
  const sets = new Set<ReadonlySet<number>>();
  let count = 0;
  for (const { endTokens } of rows) {
    if (!sets.has(endTokens)) count += endTokens.size;
    sets.add(endTokens);
  }
  return count <= MAX_RUN_END_TOKENS;
}

/** The argument of m40_run_begin in addition to the step's block: the most steps, and when each row ends. */
export function encodeRun(steps: number, rows: readonly RunLimits[]): Uint8Array<ArrayBuffer> {
  const places = new Map<ReadonlySet<number>, number>();
  const endTokens: number[] = [];
  for (const row of rows) {
    if (places.has(row.endTokens)) continue;
    places.set(row.endTokens, endTokens.length);
    endTokens.push(...row.endTokens);
  }
  const first = RUN_HEADER.bytes + rows.length * RUN_ROW.bytes;
  const words = new Uint32Array(first / WORD + endTokens.length);
  words[RUN_HEADER.words.n_steps] = steps;
  words[RUN_HEADER.words.rows] = RUN_HEADER.bytes;
  words[RUN_HEADER.words.end_tokens] = first;
  words[RUN_HEADER.words.n_end_tokens] = endTokens.length;
  let row = RUN_HEADER.bytes / WORD;
  for (const { tokens, endTokens, later } of rows) {
    words[row + RUN_ROW.words.n_tokens] = tokens;
    words[row + RUN_ROW.words.first_end_token] = places.get(endTokens)!;
    words[row + RUN_ROW.words.n_end_tokens] = endTokens.size;
    words[row + RUN_ROW.words.later_slot] = later?.slot ?? NONE;
    words[row + RUN_ROW.words.later_from] = later?.from ?? 0;
    row += RUN_ROW.bytes / WORD;
  }
  words.set(endTokens, first / WORD);
  return new Uint8Array(words.buffer);
}

const WORD = 4;
const ENTRY_WORDS = RING_ENTRY.bytes / WORD;
const FIRST_ENTRY = RING.bytes / WORD;
const { read: READ, stop: STOP, over: OVER } = RING.words;
const { number: NUMBER, status: STATUS } = RING_ENTRY.words;
const SAMPLE_AT = RING_ENTRY.fields.sample.offset;

/** Bytes of a ring with room for so many entries at least. */
export function ringBytes(entries: number): number {
  return RING.bytes + 2 ** Math.ceil(Math.log2(Math.max(1, entries))) * RING_ENTRY.bytes;
}

/**
 * The runs of a program, and the ring that their tokens go through, as the host sees it; m40.h says how it is written.
 */
export class ProgramRuns {
  private readonly words: Int32Array<ArrayBuffer>;
  private readonly view: DataView;
  private readonly error = new Uint8Array(ERROR.bytes);
  /** The last run's argument, which the device reads. */
  private given?: Uint8Array<ArrayBuffer>;

  /**
   * @param ring Memory that the device shares, of {@link ringBytes}; it is cleared.
   * @param waitsForOthers Whether to begin one may be to wait for other cards, which this thread has to give theirs as
   * well.
   */
  constructor(
    private readonly symbols: Symbols,
    private readonly queue: DeviceQueue,
    private readonly handle: Deno.PointerValue,
    private readonly block: StepBlock,
    private readonly ring: Uint8Array<ArrayBuffer>,
    private readonly waitsForOthers: boolean,
  ) {
    this.words = new Int32Array(ring.buffer, ring.byteOffset, ring.byteLength / WORD);
    this.words.fill(0);
    this.view = new DataView(ring.buffer, ring.byteOffset, ring.byteLength);
  }

  /** See `DeviceProgram.run`. */
  run(
    sequences: readonly StepSequence[],
    steps: number,
    limits: readonly RunLimits[],
    take: TakeRunStep,
  ): DeviceRun {
    const { words } = this;
    let stops = 0;
    const stop = () => Atomics.store(words, STOP, stops = 1);
    const work = async () => {
      Atomics.store(words, STOP, stops);
      // Entries of a run that could not begin belong to no run.
      while (this.find(0) !== undefined) Atomics.store(words, READ, words[READ] + 1 | 0);
      const wanted = this.block.write(sequences);
      await this.compute(wanted, this.given = encodeRun(steps, limits), take);
    };
    return { over: this.queue.run(work, stop), stop };
  }

  /** Computes the block's run. */
  private async compute(
    wanted: readonly WantedOutput[],
    run: Uint8Array<ArrayBuffer>,
    take: TakeRunStep,
  ): Promise<void> {
    const { symbols, handle, block: { bytes, length }, ring, error } = this;
    const begin = this.waitsForOthers ? symbols.m40_run_begin_async : symbols.m40_run_begin;
    const sizes = [BigInt(length), BigInt(run.length), BigInt(ring.length)] as const;
    check(await begin(handle, bytes, sizes[0], run, sizes[1], ring, sizes[2], error), error);
    try {
      do {
        check(await symbols.m40_run_wait(handle, error), error);
        this.takeSteps(wanted, take);
      } while (!this.isOver);
    } finally {
      // Its samples before the failure count.
      this.takeSteps(wanted, take);
    }
  }

  /** Hands out the steps that are complete in the ring. */
  private takeSteps(wanted: readonly WantedOutput[], take: TakeRunStep): void {
    const { words, view } = this;
    for (;;) {
      const outputs: (StepOutput | undefined)[] = [];
      for (let i = 0; i < wanted.length; i++) {
        const at = this.find(i);
        // They become complete in any order.
        if (at === undefined) return;
        const status = words[at + STATUS];
        const ended = status === OutputStatus.ended;
        outputs.push(
          ended ? undefined : readSample(view, status, at * WORD + SAMPLE_AT, wanted[i]),
        );
      }
      // The device may write others in their places.
      Atomics.store(words, READ, words[READ] + wanted.length | 0);
      take(outputs, this.isOver);
    }
  }

  private get isOver(): boolean {
    return Atomics.load(this.words, OVER) !== 0;
  }

  /** Where entry `index` of the unread ones starts, in words, where it is complete. */
  private find(index: number): number | undefined {
    const { words } = this;
    const number = words[READ] + index | 0;
    const entries = (words.length - FIRST_ENTRY) / ENTRY_WORDS;
    const at = FIRST_ENTRY + (number & entries - 1) * ENTRY_WORDS;
    // A reader that sees its number also sees what was written before it.
    return Atomics.load(words, at + NUMBER) === (number + 1 | 0) ? at : undefined;
  }
}
