import { M40Error } from "../engine/errors.ts";
import { isSystemError, systemPath, systemReason } from "../engine/system_error.ts";
import { printable, style } from "./terminal/mod.ts";
import { ClosedOutput, standardError } from "../server/output/mod.ts";

/** A command line that cannot be understood; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  /** @param command The command whose help says more; undefined for the program's own. */
  constructor(message: string, readonly command?: string) {
    super(message);
  }
}

/** What a command ends with: done, failed, or not understood. */
export const EXIT = { success: 0, failure: 1, usage: 2, interrupted: 130 } as const;

/** How long writing an error may take when standard error has no reader, in milliseconds. */
const REPORT_MS = 5000;

/** Reports on stderr what failed, in a line or two, and returns the exit code. */
export async function reportError(error: unknown): Promise<number> {
  if (error instanceof ClosedOutput) return EXIT.success;
  const lines = [`${style(Deno.stderr, "red", "error:")} ${printable(sentence(error))}`];
  if (Deno.env.get("M40_DEBUG") === "1" && error instanceof Error) {
    lines.push(printable(error.stack ?? "(no stack)"));
  } else if (!isExpected(error)) {
    lines.push("This should not happen; M40_DEBUG=1 shows where it did.");
  }
  if (error instanceof UsageError) {
    const help = error.command === undefined ? "m40 --help" : `m40 ${error.command} --help`;
    lines.push(`Run \`${help}\` for all that it takes.`);
  }
  standardError.say(lines.join("\n") + "\n");
  await standardError.flush(REPORT_MS);
  if (error instanceof M40Error && error.code === "cancelled") return EXIT.interrupted;
  const understood = !(error instanceof UsageError) &&
    !(error instanceof M40Error && error.code === "invalid_request");
  return understood ? EXIT.failure : EXIT.usage;
}

/** Whether an error's message is for the user, rather than a fault of the program. */
function isExpected(error: unknown): boolean {
  return error instanceof M40Error || error instanceof UsageError || isSystemError(error);
}

function sentence(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (isSystemError(error)) {
    const path = systemPath(error);
    return path === undefined ? systemReason(error) : `${path}: ${systemReason(error)}`;
  }
  return isExpected(error) ? error.message : `${error.name}: ${error.message}`;
}
