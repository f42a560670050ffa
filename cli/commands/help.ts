import {
  type Command,
  command,
  commandUsage,
  findCommand,
  programUsage,
} from "../arguments/mod.ts";
import { write } from "../terminal/mod.ts";

/**
 * `m40 help [COMMAND]`.
 *
 * @param commands Every command, this one too; they may come later.
 */
export function helpFor(commands: readonly Command[]): Command {
  return command({
    name: "help",
    summary: "Show the options of a command",
    arguments: [{
      name: "COMMAND",
      help: "A command; without it, the list of commands",
      completes: { words: () => commands.map(({ name }) => name) },
    }],
    options: {},
    examples: {
      "m40 help serve": "The options of serve, with examples",
    },
    async run([name]) {
      await write(
        name === undefined ? programUsage(commands) : commandUsage(findCommand(commands, name)),
      );
    },
  });
}
