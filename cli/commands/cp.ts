import { type Command, command, flag } from "../arguments/mod.ts";
import { MODEL_ARGUMENT } from "../models/mod.ts";
import { formatBytes, printable, write } from "../terminal/mod.ts";

/** `m40 cp MODEL NAME`. */
export const cp: Command = command({
  name: "cp",
  summary: "Give a model another name in the models directory",
  description:
    "The new name is a hard link, or a copy if the file system has no links; either name can be removed " +
    "without the other. A file at a path is always copied. The model's system message and parameters " +
    "come along.",
  arguments: [
    MODEL_ARGUMENT,
    { name: "NAME", help: "The new name", required: true },
  ],
  options: {
    force: flag("Replace a model that has the name"),
    json: flag("Write a JSON object"),
  },
  examples: {
    "m40 cp mistral:latest work": "A second name",
    "m40 cp ./model.gguf mine": "A file into the models directory",
  },
  async run([from, to], options) {
    const { copyModel } = await import("../../engine/store/pull/copy.ts");
    const { name, source, files, linked } = await copyModel(from, to, { force: options.force });
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    await write(
      options.json
        ? JSON.stringify({ name, from: source.name, files, linked }) + "\n"
        : `${name} is ${printable(source.name)}: ${
          linked ? "the same files on the disk" : `${formatBytes(bytes)} copied`
        }\n`,
    );
  },
});
