import {
  commandUsage,
  findCommand,
  parseLine,
  programUsage,
  startNoPrograms,
} from "./arguments/mod.ts";
import { COMMANDS } from "./commands/mod.ts";
import { write } from "./terminal/mod.ts";
import { DEVICE_PROCESS } from "../engine/device/mod.ts";
import { VERSION } from "../server/version.ts";
import { EXIT, reportError, UsageError } from "./errors.ts";

/**
 * Runs the command that the arguments name.
 *
 * @returns The exit code: 0 done, 1 failed, 2 not understood. Errors were reported on stderr.
 */
export async function main(args: readonly string[]): Promise<number> {
  // Without this, an unhandled rejection would end the program with a stack trace.
  globalThis.addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    reportError(event.reason).then((code) => Deno.exit(code));
  });
  try {
    return await dispatch(args);
  } catch (error) {
    return await reportError(error);
  }
}

async function dispatch([name, ...args]: readonly string[]): Promise<number> {
  switch (name) {
    case undefined:
    case "-h":
    case "--help":
      await write(programUsage(COMMANDS));
      // Without a word of what to do, the help is an answer to a mistake.
      return name === undefined ? EXIT.usage : EXIT.success;
    case "-V":
    case "--version":
      await write(await version(args));
      return EXIT.success;
    case DEVICE_PROCESS: {
      // This program in another part, which it starts itself: see docs/device.md.
      const { serveChannel } = await import("../engine/device/serve_channel.ts");
      return serveChannel(args[0]);
    }
  }
  const command = findCommand(COMMANDS, name);
  const { words, options, given, help } = parseLine(command, args);
  if (help) {
    await write(commandUsage(command));
    return EXIT.success;
  }
  // Those with servers to start do the same where there are none.
  if (!Object.hasOwn(command.options, "mcp")) startNoPrograms();
  return await command.run(words, options, given) ?? EXIT.success;
}

/** What --version says, or in detail with --json. */
async function version(args: readonly string[]): Promise<string> {
  const [extra] = args.filter((arg) => arg !== "--json");
  if (extra !== undefined) {
    throw new UsageError(`--version takes --json or nothing; got ${JSON.stringify(extra)}`);
  }
  if (args.length === 0) return `m40 ${VERSION}\n`;
  const { versionReport } = await import("./commands/version.ts");
  return JSON.stringify(await versionReport(), null, 2) + "\n";
}
