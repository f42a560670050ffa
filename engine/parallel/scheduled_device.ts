import type { Cache, DeviceProgram, StepResult, StepSequence } from "../device/mod.ts";
import type { Kept, Lane, SchedulerDevice, StepPlace } from "../scheduler/mod.ts";
import type { Bytes, Indices } from "./kv_block_parts.ts";
import type { StepRows } from "./step_rows.ts";

/** A device that can be asked where a step's time goes, too. */
export type ProfiledDevice = SchedulerDevice & Pick<DeviceProgram, "profile">;

/**
 * A program and its caches, as the scheduler sees them. Where a model has no attention, its KV blocks only count
 * tokens and identify prefixes: the device has none.
 */
export class ScheduledDevice implements ProfiledDevice {
  /** Where the program that decodes has runs. */
  readonly run?: SchedulerDevice["run"];
  private readonly hasKvBlocks: boolean;

  /**
   * @param decodeProgram With two lanes, the program of the lane "decode", and of steps without a lane (of a benchmark,
   * say) that consist of decode rows and fit it. `program` computes all others.
   * @param stepRows Where the way to run decode steps is measured, on a device with runs.
   */
  constructor(
    private readonly program: DeviceProgram,
    private readonly cache: Cache,
    private readonly decodeProgram?: DeviceProgram,
    private readonly stepRows?: StepRows,
  ) {
    this.hasKvBlocks = cache.desc.n_layers > 0;
    const decoding = decodeProgram ?? program;
    if (!decoding.hasRuns) return;
    this.run = (sequences, ...how) =>
      decoding.run(this.hasKvBlocks ? sequences : withoutKvBlocks(sequences), ...how);
  }

  async step(sequences: readonly StepSequence[], place?: StepPlace): Promise<StepResult> {
    const given = this.hasKvBlocks ? sequences : withoutKvBlocks(sequences);
    const result = await this.programOf(sequences, place?.lane).step(given, place?.share);
    if (this.stepRows !== undefined && sequences.every(({ decode }) => decode)) {
      this.stepRows.note(sequences.reduce((sum, { tokens }) => sum + tokens.length, 0));
    }
    return result;
  }

  profile(sequences: readonly StepSequence[]): Promise<Float32Array> {
    const given = this.hasKvBlocks ? sequences : withoutKvBlocks(sequences);
    return this.programOf(sequences).profile(given);
  }

  wantsSteps(rows: number): boolean {
    return this.stepRows !== undefined && this.stepRows.has(rows);
  }

  async copyKvBlocks(from: Indices, to: Indices): Promise<void> {
    if (this.hasKvBlocks) await this.cache.copyKvBlocks(from, to);
  }

  async save(kept: Kept, which: Indices, memory: Bytes): Promise<void> {
    if (kept === "slots" || this.hasKvBlocks) await this.cache.save(kept, which, memory);
  }

  async restore(kept: Kept, which: Indices, memory: Bytes): Promise<void> {
    if (kept === "slots" || this.hasKvBlocks) await this.cache.restore(kept, which, memory);
  }

  private programOf(sequences: readonly StepSequence[], lane?: Lane): DeviceProgram {
    const { program, decodeProgram } = this;
    if (decodeProgram === undefined || lane === "prompts") return program;
    return lane === "decode" || fitsDecoding(sequences, decodeProgram) ? decodeProgram : program;
  }
}

function withoutKvBlocks(sequences: readonly StepSequence[]): StepSequence[] {
  return sequences.map((one) => ({ ...one, kvBlocks: [] }));
}

/** Whether a step is of decode rows alone, no more than a program takes. */
function fitsDecoding(sequences: readonly StepSequence[], program: DeviceProgram): boolean {
  const { n_tokens, n_sequences, n_outputs } = program.records.limits;
  const sum = (count: (one: StepSequence) => number) =>
    sequences.reduce((all, one) => all + count(one), 0);
  return sequences.every(({ decode }) => decode) && sequences.length <= n_sequences &&
    sum(({ tokens }) => tokens.length) <= n_tokens &&
    sum(({ outputs }) => outputs.length) <= n_outputs;
}
