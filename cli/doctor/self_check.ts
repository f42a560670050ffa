import { KernelLibrary } from "../../engine/device/mod.ts";
import { runSelfTest, type SelfTest } from "../../engine/self_test/mod.ts";
import { reasonOf } from "./facts.ts";
import type { Finding } from "./finding.ts";

/** Failures that are reported one by one. */
const MOST_REPORTED = 20;

/** Has the card compute every operation, and the processor the same. */
export async function selfTestFindings(
  library: KernelLibrary,
  device: number,
  progress: (what: string) => void,
): Promise<Finding[]> {
  let reference: KernelLibrary;
  try {
    reference = KernelLibrary.find("cpu");
  } catch (error) {
    return [
      notRun(
        error,
        "The self-test compares with the processor: put libm40_cpu.so next to the program.",
      ),
    ];
  }
  try {
    return describe(
      await runSelfTest(library, device, reference, (done, of) => {
        if (done % 10 === 0) progress(`self-test: ${done} of ${of}`);
      }),
    );
  } catch (error) {
    return [notRun(error, "Let the card have 700 MB of free memory, and try again.")];
  } finally {
    await reference.close();
  }
}

function notRun(error: unknown, advice: string): Finding {
  return {
    area: "self_test",
    name: "not_run",
    level: "to_do",
    says: `The self-test could not be run: ${reasonOf(error).replace(/\.$/, "")}.`,
    advice,
  };
}

function describe({ cases, operations, seconds, failures }: SelfTest): Finding[] {
  const values = { cases, operations, seconds: Math.round(seconds), failures: failures.length };
  if (failures.length === 0) {
    return [{
      area: "self_test",
      name: "passed",
      level: "fine",
      says:
        `${operations} operations in ${cases} ways give on the card what they give on the processor ` +
        `(${Math.round(seconds)} s).`,
      values,
    }];
  }
  const reported = failures.slice(0, MOST_REPORTED).map((
    { operation, variant, reason },
  ): Finding => ({
    area: "self_test",
    name: "wrong",
    level: "not_usable",
    says: `${operation}${variant === "" ? "" : ` (${variant})`}: ${reason.replace(/\.$/, "")}.`,
    values: { operation, variant },
  }));
  return [...reported, {
    area: "self_test",
    name: "failed",
    level: "not_usable",
    says: `${failures.length} of ${cases} ways of ${
      new Set(failures.map((one) => one.operation)).size
    } of ${operations} ` +
      "operations give other results on the card than on the processor.",
    advice:
      "Run it again: where other operations fail then, the card's memory, power or heat is at fault; where the same " +
      "do, the library or the driver is. Get libm40_cuda.so again, and report it with this output.",
    values,
  }];
}
