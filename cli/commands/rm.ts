import { type Command, command, flag, MODELS } from "../arguments/mod.ts";
import { formatBytes, printable, write } from "../terminal/mod.ts";
import { removeModel } from "../../engine/store/mod.ts";

/** `m40 rm MODEL...`. */
export const rm: Command = command({
  name: "rm",
  summary: "Remove models from the models directory",
  description:
    "A model's file or parts and the record next to them, without asking. Of links only the links go. The " +
    "built-in model stays, as do files at other places and in other programs' caches.",
  arguments: [
    {
      name: "MODEL",
      help: "Names of models (m40 list)",
      required: true,
      rest: true,
      completes: MODELS,
    },
  ],
  options: { json: flag("Write a JSON object for each model, a line each") },
  examples: {
    "m40 rm mistral": "One",
    "m40 rm mistral qwen3:8b": "Several",
  },
  async run(names, options) {
    for (const name of new Set(names)) {
      const { name: removed, files, freedBytes } = await removeModel(name);
      await write(
        options.json
          ? JSON.stringify({ removed, files, freed_bytes: freedBytes }) + "\n"
          : `removed ${removed}: ${printable(files.join(", "))}; ${
            formatBytes(freedBytes)
          } freed\n`,
      );
    }
  },
});
