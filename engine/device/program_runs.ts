import type { Calls } from "./calls.ts";
import { readSample, STATUS_NAMES } from "./read_output.ts";
import { encodeRun, type RunLimits } from "./run_block.ts";
import type { RunRing } from "./run_ring.ts";
import { call, callAsync } from "./status.ts";
import type { StepBlock, StepSequence, WantedOutput } from "./step_block.ts";
import type { StepOutput } from "./step_result.ts";
import { OutputStatus, RING_ENTRY } from "./structs.ts";

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
 */
export type TakeRunStep = (outputs: readonly (StepOutput | undefined)[]) => void;

/** The runs of a program: what is given to the library, and what comes out of the ring. */
export class ProgramRuns {
  /**
   * @param waitsForOthers Whether to begin one may be to wait for other cards, which this thread has to give theirs as
   * well.
   */
  constructor(
    private readonly calls: Calls,
    private readonly handle: Deno.PointerValue,
    private readonly block: StepBlock,
    private readonly ring: RunRing,
    private readonly waitsForOthers: boolean,
  ) {}

  /** See `DeviceProgram.run`. */
  run(
    sequences: readonly StepSequence[],
    steps: number,
    limits: readonly RunLimits[],
    take: TakeRunStep,
  ): DeviceRun {
    const { ring } = this;
    let stops = false;
    const stop = () => {
      stops = true;
      ring.setStop(true);
    };
    const work = async () => {
      ring.setStop(stops);
      // Entries of a run that could not begin belong to no run.
      while (ring.find(0) !== undefined) ring.take(1);
      const wanted = this.block.write(sequences);
      await this.runThrough(encodeRun(steps, limits), wanted, take);
    };
    return { over: this.calls.inTurnUntilWanted(work, stop), stop };
  }

  /** Runs the block's run. */
  private async runThrough(
    run: Uint8Array<ArrayBuffer>,
    wanted: readonly WantedOutput[],
    take: TakeRunStep,
  ): Promise<void> {
    const { calls: { symbols }, ring } = this;
    const { bytes, length } = this.block;
    const args = (error: Uint8Array<ArrayBuffer>) =>
      [
        ...[this.handle, bytes, BigInt(length), run, BigInt(run.length)] as const,
        ...[ring.bytes, BigInt(ring.bytes.length), error] as const,
      ] as const;
    if (this.waitsForOthers) {
      await callAsync((error) => symbols.m40_run_begin_async(...args(error)), bytes, run);
    } else {
      call((error) => symbols.m40_run_begin(...args(error)));
    }
    try {
      do {
        await callAsync((error) => symbols.m40_run_wait(this.handle, error), bytes, run);
        this.takeSteps(wanted, take);
      } while (!ring.isOver);
    } finally {
      // Its samples before the failure count.
      this.takeSteps(wanted, take);
    }
  }

  /** Hands out the steps that are whole in the ring. */
  private takeSteps(wanted: readonly WantedOutput[], take: TakeRunStep): void {
    const { ring } = this;
    const view = new DataView(ring.bytes.buffer, ring.bytes.byteOffset, ring.bytes.byteLength);
    for (;;) {
      const places = wanted.map((_, i) => ring.find(i));
      // They become whole in any order.
      if (places.includes(undefined)) return;
      const outputs = wanted.map((output, i) => readEntry(view, places[i]!, output));
      ring.take(wanted.length);
      take(outputs);
    }
  }
}

/** What an entry of a ring says of an output. */
function readEntry(view: DataView, at: number, wanted: WantedOutput): StepOutput | undefined {
  const { status: field, sample } = RING_ENTRY.fields;
  const number = view.getUint32(at + field.offset, true);
  if (number === OutputStatus.ended) return undefined;
  const status = STATUS_NAMES[number];
  if (status !== "ok") return { status };
  return { status, sample: readSample(view, at + sample.offset, wanted) };
}
