/**
 * Times of the tokenizer: loading a vocabulary of 128k tokens, encoding a long text and texts that
 * are hard to merge, decoding.
 *
 *     deno run -A bench/tokenizer.ts [VOCABULARY.gguf] [TEXT]
 *
 * Without arguments it uses `../shared/vocab/ggml-vocab-llama-spm.gguf` and
 * `../shared/text/war-and-peace.txt`, or, where they are absent, the test vocabulary and a text made of
 * its own source.
 *
 * @module
 */
import { Metadata } from "../engine/gguf/metadata.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { StringArray } from "../engine/gguf/string_array.ts";
import { loadTokenizer } from "../engine/tokenizer/load.ts";
import type { Tokenizer } from "../engine/tokenizer/tokenizer.ts";

const RUNS = 5;

function pathOf(relative: string): string {
  return new URL(relative, import.meta.url).pathname;
}

function firstThatExists(...paths: string[]): string {
  for (const path of paths) {
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch {
      // The next one.
    }
  }
  throw new Error(`none of these exists: ${paths.join(", ")}`);
}

/** Runs a function and prints the median, and the spread, of its times. */
function time<T>(what: string, run: () => T, tokens?: (result: T) => number): T {
  const times: number[] = [];
  let result!: T;
  for (let i = 0; i < RUNS; i++) {
    const start = performance.now();
    result = run();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const median = times[RUNS >> 1];
  const rate = tokens === undefined
    ? ""
    : `  ${tokens(result).toLocaleString("en")} tokens, ${
      (tokens(result) / median / 1000).toFixed(2)
    } M/s`;
  console.log(
    `${what.padEnd(44)} ${median.toFixed(1).padStart(8)} ms  (${times[0].toFixed(1)} to ${
      times[RUNS - 1].toFixed(1)
    })${rate}`,
  );
  return result;
}

/** A vocabulary of 128k words, in the shape of a large model's. */
function largeVocabulary(): Metadata {
  const size = 128_000;
  const texts = ["<unk>", "<s>", "</s>"];
  const types = new Int32Array(size).fill(1);
  types.set([2, 3, 3]);
  for (let byte = 0; byte < 256; byte++) {
    types[texts.length] = 6;
    texts.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  }
  while (texts.length < size) {
    const word = (texts.length * 2654435761 % 2 ** 32).toString(36);
    texts.push(texts.length % 2 ? `▁${word}` : word);
  }
  return new Metadata([
    ["tokenizer.ggml.model", { type: "string", value: "llama" }],
    ["tokenizer.ggml.tokens", {
      type: "array",
      element: "string",
      value: StringArray.from(texts),
    }],
    ["tokenizer.ggml.scores", {
      type: "array",
      element: "float32",
      value: Float32Array.from(texts, (_, id) => -id),
    }],
    ["tokenizer.ggml.token_type", { type: "array", element: "int32", value: types }],
    ["tokenizer.ggml.bos_token_id", { type: "uint32", value: 1 }],
    ["tokenizer.ggml.eos_token_id", { type: "uint32", value: 2 }],
  ]);
}

function benchTexts(tokenizer: Tokenizer, text: string): void {
  const count = (tokens: number[]) => tokens.length;
  const characters = text.length.toLocaleString("en");
  const tokens = time(`encode ${characters} characters`, () => tokenizer.encode(text), count);
  time("decode them", () => tokenizer.decode(tokens), () => tokens.length);
  time("encode 4,000 characters", () => tokenizer.encode(text.slice(50_000, 54_000)), count);
  const length = 3_000_000;
  for (const unit of ["a", " ", "=", "ab ", "é", "漢", "\n", "\u0001", "<s>", "abcdefghij"]) {
    const hard = unit.repeat(length / unit.length);
    const name = `${length.toLocaleString("en")} characters of ${JSON.stringify(unit)}`;
    time(name, () => tokenizer.encode(hard), count);
  }
}

const vocabularyPath = Deno.args[0] ?? firstThatExists(
  pathOf("../../shared/vocab/ggml-vocab-llama-spm.gguf"),
  pathOf("../tests/data/tokenizer/plain.gguf"),
);
const textPath = Deno.args[1] ?? firstThatExists(
  pathOf("../../shared/text/war-and-peace.txt"),
  pathOf("./tokenizer.ts"),
);
let text = Deno.readTextFileSync(textPath);
if (Deno.args[1] === undefined) { while (text.length < 100_000) text += text; }

const large = largeVocabulary();
time("load a vocabulary of 128,000 tokens", () => loadTokenizer(large));
console.log(`\n${vocabularyPath}, ${textPath}`);
const { metadata } = await readGguf(vocabularyPath);
benchTexts(time("load the vocabulary", () => loadTokenizer(metadata)), text);
