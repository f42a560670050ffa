import { type Command, command } from "./command.ts";
import { write } from "./terminal.ts";

/** `m40 help [COMMAND]`. */
export const help: Command = command({
  name: "help",
  summary: "Show what a command takes",
  arguments: [{ name: "COMMAND", help: "A command; without it, the list of commands" }],
  options: {},
  examples: [
    { line: "m40 help serve", about: "The options of serve, with examples" },
  ],
  async run([name]) {
    // Imported here because the table of commands has this command in it.
    const [{ COMMANDS, findCommand }, { unknownCommand }, { commandUsage, programUsage }] =
      await Promise.all([import("./commands.ts"), import("./main.ts"), import("./usage.ts")]);
    const found = name === undefined ? undefined : findCommand(name);
    if (name !== undefined && found === undefined) throw unknownCommand(name);
    write(found ? commandUsage(found) : programUsage(COMMANDS));
  },
});
