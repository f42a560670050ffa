import { type Command, command } from "./command.ts";
import { findCommand } from "./find_command.ts";
import { write } from "./terminal.ts";
import { commandUsage, programUsage } from "./usage.ts";

/** `m40 help [COMMAND]`, which tells of the other commands and of itself. */
export function helpFor(others: readonly Command[]): Command {
  const help: Command = command({
    name: "help",
    summary: "Show what a command takes",
    arguments: [{ name: "COMMAND", help: "A command; without it, the list of commands" }],
    options: {},
    examples: [
      { line: "m40 help serve", about: "The options of serve, with examples" },
    ],
    async run([name]) {
      const commands = [...others, help];
      await write(
        name === undefined ? programUsage(commands) : commandUsage(findCommand(commands, name)),
      );
    },
  });
  return help;
}
