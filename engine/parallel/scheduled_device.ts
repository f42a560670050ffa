import type { Cache, DeviceProgram, StepSequence } from "../device/mod.ts";
import type { Lane, SchedulerDevice } from "../scheduler/mod.ts";
import type { StepRows } from "./step_rows.ts";

/** A device that can be asked where a step's time goes, too. */
export type ProfiledDevice = SchedulerDevice & Pick<DeviceProgram, "profile">;

/** What computes steps. */
type Steps = Pick<ProfiledDevice, "step" | "run" | "wantsSteps" | "profile">;

/**
 * A program and its caches, as the scheduler sees them. Where a model has no attention, its KV blocks only count
 * tokens and identify prefixes: the device has none.
 *
 * @param decodeProgram With two lanes, the program of the lane "decode", and of steps without a lane (of a benchmark,
 * say) that consist of decode rows and fit it. `program` computes all others.
 * @param stepRows Where the way to run decode steps is measured.
 */
export function scheduledDevice(
  program: DeviceProgram,
  cache: Cache,
  decodeProgram?: DeviceProgram,
  stepRows?: StepRows,
): ProfiledDevice {
  const programOf = (sequences: readonly StepSequence[], lane?: Lane): DeviceProgram => {
    if (decodeProgram === undefined || lane === "prompts") return program;
    return lane === "decode" || fitsDecoding(sequences, decodeProgram) ? decodeProgram : program;
  };
  const step: SchedulerDevice["step"] = (sequences, place) =>
    programOf(sequences, place?.lane).step(sequences, place?.share);
  const profile = (sequences: readonly StepSequence[]) => programOf(sequences).profile(sequences);
  const decoding = decodeProgram ?? program;
  const slots: Pick<SchedulerDevice, "saveSlots" | "restoreSlots"> = {
    saveSlots: (slots, memory) => cache.saveSlots(slots, memory),
    restoreSlots: (slots, memory) => cache.restoreSlots(slots, memory),
  };
  const steps: Steps = {
    step,
    profile,
    ...decoding.hasRuns && {
      step: async (sequences, place) => {
        const result = await step(sequences, place);
        if (sequences.every(({ decode }) => decode)) {
          stepRows?.note(sequences.reduce((sum, { tokens }) => sum + tokens.length, 0));
        }
        return result;
      },
      run: (sequences, steps, limits, take) => decoding.run(sequences, steps, limits, take),
      wantsSteps: (rows) => stepRows?.has(rows) ?? false,
    } satisfies Partial<SchedulerDevice>,
  };
  if (cache.desc.n_layers === 0) return { ...withoutKvBlocks(steps), ...slots };
  return {
    ...steps,
    copyKvBlocks: (from, to) => cache.copyKvBlocks(from, to),
    saveKvBlocks: (kvBlocks, memory) => cache.saveKvBlocks(kvBlocks, memory),
    restoreKvBlocks: (kvBlocks, memory) => cache.restoreKvBlocks(kvBlocks, memory),
    ...slots,
  };
}

/** What computes steps without KV blocks, for a scheduler that counts some. */
function withoutKvBlocks(
  { step, run, wantsSteps, profile }: Steps,
): Omit<ProfiledDevice, "saveSlots" | "restoreSlots"> {
  const nothing = () => Promise.resolve();
  const bare = (sequences: readonly StepSequence[]) =>
    sequences.map((one) => ({ ...one, kvBlocks: [] }));
  return {
    step: (sequences, place) => step(bare(sequences), place),
    profile: (sequences) => profile(bare(sequences)),
    ...run && { run: (sequences, ...rest) => run(bare(sequences), ...rest), wantsSteps },
    copyKvBlocks: nothing,
    saveKvBlocks: nothing,
    restoreKvBlocks: nothing,
  };
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
