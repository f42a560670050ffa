import { M40Error } from "../../engine/errors.ts";
import { systemReason } from "../../engine/system_error.ts";
import type { Engine } from "../../engine/mod.ts";
import {
  type Command,
  command,
  FILES,
  flag,
  integer,
  option,
  type OptionValues,
  text,
  tokenIds,
} from "../arguments/mod.ts";
import { arithmeticNote, measurePerplexity } from "../bench/mod.ts";
import { ALONE, loadModel, MODEL_ARGUMENT, MODEL_OPTIONS } from "../models/mod.ts";
import { Progress, shortestFloat32, write } from "../terminal/mod.ts";
import { UsageError } from "../errors.ts";

/** Tokens of a chunk of text where --ctx does not say. */
const CHUNK_TOKENS = 512;
/** Positions that one step evaluates. */
const STEP_POSITIONS = 64;

const OPTIONS = {
  tokens: option(tokenIds(), "Evaluate these tokens: the logits after each of them"),
  file: option(
    text("PATH", FILES),
    "Evaluate a text: its perplexity; --ctx gives the tokens of a chunk (512)",
  ),
  chunks: option(integer(1), "With --file, take so many chunks from the start; default: all"),
  json: flag("With --file, write a JSON object; --tokens always writes JSON"),
  ...MODEL_OPTIONS,
};

/** `m40 eval MODEL`. */
export const evaluate: Command = command({
  name: "eval",
  summary: "Compute the logits of tokens, or the perplexity of a text",
  description:
    "--tokens takes the ids as they are and writes a line for each: a JSON array with the logit of every " +
    "token of the vocabulary, in the fewest digits that give the exact float32.\n" +
    "--file cuts a text into chunks and scores the second half of each; lower is better.",
  arguments: [MODEL_ARGUMENT],
  options: OPTIONS,
  examples: {
    "m40 eval demo --tokens 1,2,3": "The logits after each of three tokens",
    'm40 eval demo --kv-type f32 --tokens "$(m40 tokenize demo --ids "Once upon")"':
      "Of a text, with the KV cache in full precision",
    "m40 eval demo --file story.txt": "The perplexity of a file",
  },
  async run([model], options) {
    if ((options.tokens === undefined) === (options.file === undefined)) {
      throw new UsageError("wanted either --tokens IDS or --file PATH", "eval");
    }
    if (options.tokens) await writeLogits(model, options.tokens, options);
    if (options.file) await writePerplexity(model, options.file, options);
  },
});

async function loadForLogits(model: string, options: OptionValues<typeof MODEL_OPTIONS>) {
  const { engine } = await loadModel(model, options, { ...ALONE, logitsOutputs: STEP_POSITIONS });
  return engine;
}

async function writeLogits(
  model: string,
  tokens: readonly number[],
  options: OptionValues<typeof MODEL_OPTIONS>,
): Promise<void> {
  await using engine = await loadForLogits(model, options);
  for await (const { logits } of engine.evaluate(tokens)) {
    await write("[" + Array.from(logits, shortestFloat32).join(",") + "]\n");
  }
}

async function writePerplexity(
  model: string,
  path: string,
  options: OptionValues<typeof OPTIONS>,
): Promise<void> {
  const bytes = await readText(path);
  await using engine = await loadForLogits(model, options);
  const tokens = engine.tokenizer.encodeBytes(bytes, { addSpecial: false });
  if (tokens.length < 2) {
    throw new M40Error(
      "invalid_request",
      `${path} has ${tokens.length} tokens; wanted a text of at least 2`,
    );
  }
  const chunk = options.ctx ?? Math.min(CHUNK_TOKENS, engine.contextTokens);
  if (chunk < 4) throw new UsageError(`--ctx: got ${chunk}, wanted chunks of 4 or more`, "eval");
  const result = await measured(engine, tokens, chunk, options.chunks ?? Infinity);
  if (options.json) {
    await write(
      JSON.stringify({
        model: engine.model.name,
        file: path,
        perplexity: result.perplexity,
        standard_error: result.standardError,
        tokens: result.tokens,
        scored_tokens: result.scoredTokens,
        chunks: result.chunks,
        chunk_tokens: result.chunkTokens,
        kv_type: engine.plan.kvType,
        arithmetic: engine.arithmetic,
      }) + "\n",
    );
  } else {
    await write(
      `perplexity ${result.perplexity.toFixed(4)} ± ${result.standardError.toFixed(4)} ` +
        `(${result.scoredTokens} of ${result.tokens} tokens scored, ${result.chunks} ` +
        `${result.chunks === 1 ? "chunk" : "chunks"} of ${result.chunkTokens}` +
        `${arithmeticNote(engine)})\n`,
    );
  }
}

async function measured(engine: Engine, tokens: readonly number[], chunk: number, chunks: number) {
  await using progress = new Progress("perplexity");
  return await measurePerplexity(
    engine,
    tokens,
    chunk,
    chunks,
    (done, total, perplexity) =>
      progress.update(done, total, `${done}/${total} ${perplexity.toFixed(4)}`),
  );
}

async function readText(path: string): Promise<Uint8Array> {
  try {
    return await Deno.readFile(path);
  } catch (error) {
    const reason = error instanceof Deno.errors.NotFound
      ? "there is no such file"
      : `cannot be read: ${systemReason(error)}`;
    throw new M40Error("io", `${path}: ${reason}`);
  }
}
