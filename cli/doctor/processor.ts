import { KernelLibrary } from "../../engine/device/mod.ts";
import { reasonOf } from "./facts.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** The processor's vector units, by the CPU library: it computes where the GPU does not, and checks it. */
export async function processorFindings(): Promise<Finding[]> {
  let library: KernelLibrary;
  try {
    library = KernelLibrary.find("cpu");
  } catch (error) {
    return [
      findingsOf("processor").note(
        "no_library",
        `The kernel library for the processor cannot be used: ${reasonOf(error)}`,
        "It is needed for --device cpu and --self-test alone: put libm40_cpu.so next to the program.",
      ),
    ];
  }
  try {
    const { name, instructionSet, multiprocessors, memoryBytes } = library.device(0);
    const { fine, note } = findingsOf("processor", {
      processor: name,
      instruction_set: instructionSet,
      cores: multiprocessors,
      memory_bytes: memoryBytes,
    });
    const says =
      `${name}: ${multiprocessors} processors that m40 may use, vector units ${instructionSet}`;
    if (instructionSet !== "baseline" && instructionSet !== "avx") {
      return [fine("vectors", `${says}.`)];
    }
    return [note(
      "slow_vectors",
      `${says}, which is little: computing on the processor is slow.`,
      "Of no matter for the card. In a virtual machine, pass the processor's own features through (cpu: host).",
    )];
  } finally {
    await library.close();
  }
}
