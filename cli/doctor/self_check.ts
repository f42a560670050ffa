import { KernelLibrary } from "../../engine/device/mod.ts";
import { runSelfTest, type SelfTest } from "../../engine/self_test/mod.ts";
import { reasonOf } from "./facts.ts";
import { type Finding, findingsOf } from "./finding.ts";

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
    const advice =
      "The self-test compares with the processor: put libm40_cpu.so next to the program.";
    return [notRun(error, advice)];
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
  const reason = reasonOf(error).replace(/\.$/, "");
  return findingsOf("self_test").toDo(
    "not_run",
    `The self-test could not be run: ${reason}.`,
    advice,
  );
}

function describe({ cases, operations, seconds, failures }: SelfTest): Finding[] {
  const took = Math.round(seconds);
  const values = { cases, operations, seconds: took, failures: failures.length };
  const { fine, notUsable } = findingsOf("self_test", values);
  if (failures.length === 0) {
    return [fine(
      "passed",
      `${operations} operations in ${cases} ways give on the card what they give on the processor (${took} s).`,
    )];
  }
  const reported = failures.slice(0, MOST_REPORTED).map(({ operation, variant, reason }) => {
    const which = variant === "" ? operation : `${operation} (${variant})`;
    const says = `${which}: ${reason.replace(/\.$/, "")}.`;
    return notUsable("wrong", says, undefined, { operation, variant });
  });
  const wrong = new Set(failures.map((one) => one.operation)).size;
  return [
    ...reported,
    notUsable(
      "failed",
      `${failures.length} of ${cases} ways of ${wrong} of ${operations} operations give other results on the ` +
        "card than on the processor.",
      "Run it again: where other operations fail then, the card's memory, power or heat is at fault; where the same " +
        "do, the library or the driver is. Get libm40_cuda.so again, and report it with this output.",
    ),
  ];
}
