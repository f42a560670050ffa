/**
 * The instruction sets that the CPU library's vector code is compiled for, and the one that a processor runs.
 *
 * @module
 */
import { basename } from "@std/path";

/** Best first, as cuda/cpu/kernels.cpp has them. */
export const INSTRUCTION_SETS = ["avx512", "avx2", "avx", "baseline"] as const;

/** The instruction set that a source of cuda/cpu/ is for: "avx2" of kernels_avx2.cpp. */
export function instructionSetOf(source: string): string | undefined {
  const [, name] = basename(source).match(/^kernels_(\w+)\.cpp$/) ?? [];
  return INSTRUCTION_SETS.find((set) => set === name);
}

/**
 * The best instruction set that a processor has.
 *
 * @param features What the processor has, as /proc/cpuinfo names it: "avx2", "fma".
 * @param flagsOf The compiler's flags for an instruction set: of "-mfma" the processor has to have "fma".
 */
export function bestInstructionSet(
  features: ReadonlySet<string>,
  flagsOf: (instructionSet: string) => readonly string[],
): string {
  return INSTRUCTION_SETS.find((set) =>
    flagsOf(set).every((flag) => !flag.startsWith("-m") || features.has(flag.slice(2)))
  )!;
}

/** What this processor has, as the system names it; undefined where it does not say. */
export function processorFeatures(): ReadonlySet<string> | undefined {
  try {
    const [, flags] = Deno.readTextFileSync("/proc/cpuinfo").match(/^flags\s*: (.*)$/m) ?? [];
    return flags === undefined ? undefined : new Set(flags.split(" "));
  } catch {
    return undefined;
  }
}
