import type { Cache } from "./device/context.ts";
import type { DeviceProgram } from "./device/device_program.ts";
import type { StepSequence } from "./device/step_block.ts";
import type { SchedulerDevice } from "./scheduler/scheduler_options.ts";
import type { StepRows } from "./step_rows.ts";

/** A device that can be asked where a step's time goes, too. */
export type ProfiledDevice = SchedulerDevice & Pick<DeviceProgram, "profile">;

/**
 * A program and what its sequences keep, as those who schedule them see it. Where a model has no attention, its
 * pages only count tokens and name their beginnings: on the device there are none.
 *
 * @param decodeProgram What steps of the lane "decode" are computed by, where there are two; all others by `program`.
 * @param stepRows Where decode steps may be run by what has no runs.
 */
export function scheduledDevice(
  program: DeviceProgram,
  cache: Cache,
  decodeProgram?: DeviceProgram,
  stepRows?: StepRows,
): ProfiledDevice {
  const step: SchedulerDevice["step"] = (sequences, place) =>
    decodeProgram && place?.lane === "decode"
      ? decodeProgram.step(sequences)
      : program.step(sequences, place?.share);
  const decoding = decodeProgram ?? program;
  const slots: Pick<SchedulerDevice, "saveSlots" | "restoreSlots"> = {
    saveSlots: (slots, memory) => cache.saveSlots(slots, memory),
    restoreSlots: (slots, memory) => cache.restoreSlots(slots, memory),
  };
  if (cache.desc.n_layers === 0) {
    const nothing = () => Promise.resolve();
    const withoutPages = (sequences: readonly StepSequence[]) =>
      sequences.map((one) => ({ ...one, pages: [] }));
    return {
      step: (sequences, place) => step(withoutPages(sequences), place),
      profile: (sequences) => program.profile(withoutPages(sequences)),
      copyPages: nothing,
      savePages: nothing,
      restorePages: nothing,
      ...slots,
    };
  }
  return {
    step,
    profile: (sequences) => program.profile(sequences),
    copyPages: (from, to) => cache.copyPages(from, to),
    savePages: (pages, memory) => cache.savePages(pages, memory),
    restorePages: (pages, memory) => cache.restorePages(pages, memory),
    ...slots,
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
}
