import { type Command, command } from "../arguments/mod.ts";
import {
  bashCompletion,
  describeCommands,
  type DescribedCommand,
  fishCompletion,
  zshCompletion,
} from "../completion/mod.ts";
import { write } from "../terminal/mod.ts";
import { listModels } from "../../engine/store/mod.ts";
import { UsageError } from "../errors.ts";

/** What each shell is to read. */
export const SHELLS: ReadonlyMap<string, (commands: readonly DescribedCommand[]) => string> =
  new Map([
    ["bash", bashCompletion],
    ["zsh", zshCompletion],
    ["fish", fishCompletion],
  ]);

/**
 * `m40 completion SHELL`.
 *
 * @param commands Every command, this one too; they may come later.
 */
export function completionFor(commands: readonly Command[]): Command {
  return command({
    name: "completion",
    summary: "Print a shell's completion script for commands, options and names of models",
    description:
      "A script for bash, zsh or fish, which an installed m40 has put in its place already. The scripts ask " +
      "`m40 completion models`, which writes the names of the models, a line each.",
    arguments: [{
      name: "SHELL",
      help: "bash, zsh or fish",
      required: true,
      completes: { words: () => [...SHELLS.keys()] },
    }],
    options: {},
    examples: {
      "source <(m40 completion bash)": "For this bash; in ~/.bashrc for every one",
      'm40 completion zsh > "${fpath[1]}/_m40"': "For zsh, in the first folder that it looks in",
      "m40 completion fish > ~/.config/fish/completions/m40.fish": "For fish",
    },
    async run([shell]) {
      if (shell === "models") return await writeNames();
      const script = SHELLS.get(shell);
      if (script === undefined) {
        throw new UsageError(
          `There is no completion for ${
            JSON.stringify(shell.slice(0, 80))
          }; wanted bash, zsh or fish`,
          "completion",
        );
      }
      await write(script(await describeCommands(commands)));
    },
  });
}

/** Names with control characters are left out: they could be no word of a line. */
async function writeNames(): Promise<void> {
  const names = (await listModels()).map(({ name }) => name);
  // deno-lint-ignore no-control-regex
  const plain = names.filter((name) => !/[\x00-\x1f\x7f-\x9f]/.test(name));
  await write(plain.map((name) => `${name}\n`).join(""));
}
