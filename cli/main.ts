import { nearest } from "../engine/store/mod.ts";
import { COMMANDS, findCommand } from "./commands.ts";
import { EXIT, reportError, UsageError } from "./errors.ts";
import { parseLine } from "./parse.ts";
import { write } from "./terminal.ts";
import { commandUsage, programUsage, VERSION } from "./usage.ts";

/**
 * Runs the command that the arguments name.
 *
 * @returns The exit code: 0 done, 1 failed, 2 not understood. Errors have been told on stderr.
 */
export async function main(args: readonly string[]): Promise<number> {
  // Without this, an error that nobody waits for would end the program with a stack trace.
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    Deno.exit(reportError(event.reason));
  });
  try {
    return await dispatch(args);
  } catch (error) {
    return reportError(error);
  }
}

async function dispatch([name, ...args]: readonly string[]): Promise<number> {
  switch (name) {
    case undefined:
    case "-h":
    case "--help":
      write(programUsage(COMMANDS));
      // Without a word of what to do, the help is an answer to a mistake.
      return name === undefined ? EXIT.usage : EXIT.success;
    case "-V":
    case "--version":
      write(`m40 ${VERSION}\n`);
      return EXIT.success;
  }
  const command = findCommand(name);
  if (command === undefined) throw unknownCommand(name);
  const { words, options, help } = parseLine(command, args);
  if (help) {
    write(commandUsage(command));
    return EXIT.success;
  }
  return await command.run(words, options) ?? EXIT.success;
}

/** The error for a command that there is not, with the nearest one. */
export function unknownCommand(name: string): UsageError {
  const near = nearest(name, COMMANDS.map((command) => command.name));
  const what = name.startsWith("-") ? "option" : "command";
  const shown = JSON.stringify(name.length > 80 ? name.slice(0, 77) + "..." : name);
  return new UsageError(
    `There is no ${what} ${shown}` + (near === undefined ? "" : `; did you mean ${near}?`),
  );
}
