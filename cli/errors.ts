import { M40Error } from "../engine/errors.ts";
import { ClosedOutput, printable, style, writeError } from "./terminal.ts";

/** A command line that cannot be understood; exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";

  /** @param command The command whose help would say more; undefined for the program's own. */
  constructor(message: string, readonly command?: string) {
    super(message);
  }
}

/** What a command ends with: done, failed, or not understood. */
export const EXIT = { success: 0, failure: 1, usage: 2, interrupted: 130 } as const;

/** Says on stderr what went wrong, in a line or two, and returns the exit code. */
export function reportError(error: unknown): number {
  if (error instanceof ClosedOutput) return EXIT.success;
  const message = error instanceof Error ? error.message : String(error);
  writeError(`${style(Deno.stderr, "red", "error:")} ${printable(sentence(error, message))}\n`);
  if (Deno.env.get("M40_DEBUG") === "1" && error instanceof Error) {
    writeError(`${printable(error.stack ?? "(no stack)")}\n`);
  } else if (!(error instanceof M40Error || error instanceof UsageError)) {
    writeError("This should not happen; M40_DEBUG=1 shows where it did.\n");
  }
  if (error instanceof UsageError) {
    const help = error.command === undefined ? "m40 --help" : `m40 ${error.command} --help`;
    writeError(`Run \`${help}\` for all that it takes.\n`);
    return EXIT.usage;
  }
  return error instanceof M40Error && error.code === "invalid_request" ? EXIT.usage : EXIT.failure;
}

function sentence(error: unknown, message: string): string {
  if (error instanceof M40Error || error instanceof UsageError) return message;
  return error instanceof Error ? `${error.name}: ${message}` : message;
}
