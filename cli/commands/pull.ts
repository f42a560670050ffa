import { type Command, command, device, flag, option, text } from "../arguments/mod.ts";
import { DEVICE_OPTIONS, pullShown } from "../models/mod.ts";
import { formatBytes, headedTable, write, writeJson } from "../terminal/mod.ts";
import { EXIT, UsageError } from "../errors.ts";

const OPTIONS = {
  quant: option(
    text("QUANT"),
    "The quantisation, as Q8_0; default: the one that fits the card best",
  ),
  name: option(
    text("NAME"),
    "What to call the model; default: the alias, or what its source calls it",
  ),
  force: flag("Fetch what does not fit or cannot run, and replace a model of another source"),
  copy: flag("Of a path: copy the file rather than link to it"),
  list: flag("List the aliases"),
  json: flag("Write JSON: a line for each thing that happens, the last one the result"),
  device: {
    ...DEVICE_OPTIONS.device,
    type: device(),
    help: "The device that it must fit; auto: a GPU if there is one",
  },
  "kv-type": DEVICE_OPTIONS["kv-type"],
};

/** `m40 pull NAME`. */
export const pull: Command = command({
  name: "pull",
  summary: "Fetch a model, by an alias, from Hugging Face, Ollama's library, a URL or a path",
  description:
    "NAME is an alias (--list shows them), hf.co/OWNER/REPOSITORY[:QUANT], ollama:NAME[:TAG], the URL of a " +
    ".gguf file, or the path of one. m40 reads the file's header first, and refuses a model that it cannot run, or that " +
    "does not fit the GPU (without one: a Tesla M40 of 24 GB). " +
    "An interrupted pull resumes.\n" +
    "HF_TOKEN opens gated repositories, HF_ENDPOINT and M40_OLLAMA_REGISTRY name mirrors, HTTPS_PROXY a proxy.",
  arguments: [
    { name: "NAME", help: "What to fetch", completes: { words: aliasNames, lookUp: "files" } },
  ],
  options: OPTIONS,
  examples: {
    "m40 pull mistral": "By an alias",
    "m40 pull hf.co/Qwen/Qwen3-8B-GGUF": "The quantisation that fits the card best",
    "m40 pull hf.co/unsloth/gemma-3-27b-it-GGUF:Q4_K_M --name gemma": "A certain one",
    "m40 pull ollama:qwen3:8b": "From Ollama's library",
    "m40 pull ./model.gguf --name mine": "A file that is there, under a name",
  },
  async run([name], options) {
    if (options.list) return await listAliases(options.json);
    if (name === undefined) {
      throw new UsageError("NAME is missing: what to fetch; --list shows the aliases", "pull");
    }
    const { pulled } = await pullShown(name, options);
    return pulled === undefined ? EXIT.interrupted : EXIT.success;
  },
});

async function aliasNames(): Promise<readonly string[]> {
  const { aliases } = await import("../../engine/store/sources/mod.ts");
  return aliases.flatMap(({ names }) => names);
}

async function listAliases(json: boolean): Promise<void> {
  const { aliases } = await import("../../engine/store/sources/mod.ts");
  if (json) {
    const rows = aliases.map(({ names, source, file, bytes, why }) => ({
      names,
      source,
      file,
      about_bytes: bytes,
      why,
    }));
    return await writeJson(rows);
  }
  const rows = aliases.map(({ names, bytes, why }) => [names[0], formatBytes(bytes), why]);
  await write(headedTable([["ALIAS", "ABOUT", "ON A CARD OF 24 GB"], ...rows], [1]));
}
