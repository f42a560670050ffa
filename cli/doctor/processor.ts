import { KernelLibrary } from "../../engine/device/mod.ts";
import { reasonOf } from "./facts.ts";
import type { Finding } from "./finding.ts";

/** The processor's vector units, by the CPU library: it computes where the GPU does not, and checks it. */
export async function processorFindings(): Promise<Finding[]> {
  let library: KernelLibrary;
  try {
    library = KernelLibrary.find("cpu");
  } catch (error) {
    return [{
      area: "processor",
      name: "no_library",
      level: "note",
      says: `The kernel library for the processor cannot be used: ${reasonOf(error)}`,
      advice:
        "It is needed for --device cpu and --self-test alone: put libm40_cpu.so next to the program.",
    }];
  }
  try {
    const { name, instructionSet, multiprocessors, memoryBytes } = library.device(0);
    const slow = instructionSet === "baseline" || instructionSet === "avx";
    const values = {
      processor: name,
      instruction_set: instructionSet,
      cores: multiprocessors,
      memory_bytes: memoryBytes,
    };
    const says =
      `${name}: ${multiprocessors} processors that m40 may use, vector units ${instructionSet}`;
    return [
      slow
        ? {
          area: "processor",
          name: "slow_vectors",
          level: "note",
          says: `${says}, which is little: computing on the processor is slow.`,
          advice:
            "Of no matter for the card. In a virtual machine, pass the processor's own features through (cpu: host).",
          values,
        }
        : { area: "processor", name: "vectors", level: "fine", says: `${says}.`, values },
    ];
  } finally {
    await library.close();
  }
}
