/**
 * Times of the tokenizers, on one thread: loading a vocabulary, encoding and decoding a long text, and
 * texts that are hard to merge.
 *
 *     deno run -A bench/tokenizer.ts [VOCABULARY.gguf ...] [--text FILE]
 *
 * Without arguments it takes every vocabulary in `../shared/vocab` and `../shared/text/war-and-peace.txt`,
 * or, where they are absent, the vocabularies of the tests and a text made of their sources.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import { readGguf } from "../engine/gguf/reader.ts";
import { loadTokenizer } from "../engine/tokenizer/load.ts";
import type { Tokenizer } from "../engine/tokenizer/tokenizer.ts";

/** How often each thing is measured. */
const RUNS = 7;
/** The length of a hard text in bytes, and of the one that it is compared with. */
const LONG = 1_000_000;
const SHORT = LONG / 4;
/** What a text is made of to be hard: one word without an end, or no word at all. */
const UNITS = ["a", " ", "\n", "=", "ab ", "1", "é", "漢", "😀", "\u0301", "<s>", "abcdefghij"];

const RAW = { addSpecial: false };
const encoder = new TextEncoder();

interface Times {
  /** In milliseconds. */
  readonly median: number;
  readonly fastest: number;
  readonly slowest: number;
}

function time(runs: number, work: () => unknown): Times {
  const times: number[] = [];
  for (let i = 0; i < runs; i++) {
    const start = performance.now();
    work();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { median: times[runs >> 1], fastest: times[0], slowest: times[runs - 1] };
}

/** Megabytes a second: the median, and the spread. */
function rate(bytes: number, { median, fastest, slowest }: Times): string {
  const perSecond = (milliseconds: number) => (bytes / milliseconds / 1000).toFixed(1);
  return `${perSecond(median).padStart(6)} MB/s (${perSecond(slowest)} to ${perSecond(fastest)})`;
}

function benchText(tokenizer: Tokenizer, text: string): void {
  const bytes = encoder.encode(text).length;
  const tokens = tokenizer.encode(text, RAW);
  console.log(`  encode  ${rate(bytes, time(RUNS, () => tokenizer.encode(text, RAW)))}`);
  console.log(`  decode  ${rate(bytes, time(RUNS, () => tokenizer.decode(tokens)))}`);
  console.log(`          ${tokens.length.toLocaleString("en")} tokens`);
}

/** Hard texts: the time of the long one, and of the short one, which has a quarter of its length. */
function benchHardTexts(tokenizer: Tokenizer): void {
  for (const unit of UNITS) {
    const count = LONG / encoder.encode(unit).length;
    const long = unit.repeat(count);
    const short = unit.repeat(count * SHORT / LONG);
    tokenizer.encode(short, RAW);
    const [a, b] = [short, long].map((text) => time(3, () => tokenizer.encode(text, RAW)).median);
    console.log(
      `  1 MB of ${JSON.stringify(unit).padEnd(13)} ${b.toFixed(1).padStart(7)} ms, ` +
        `${(b / a).toFixed(1)} times as long as 0.25 MB`,
    );
  }
}

function filesIn(folder: string, suffix: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(suffix))
      .map(({ name }) => `${folder}/${name}`).sort();
  } catch {
    return [];
  }
}

const here = new URL(".", import.meta.url).pathname;

function defaultText(): string {
  try {
    return Deno.readTextFileSync(`${here}../../shared/text/war-and-peace.txt`);
  } catch {
    return filesIn(`${here}../tests`, ".ts").map((path) => Deno.readTextFileSync(path)).join("");
  }
}

const args = parseArgs(Deno.args, { string: ["text", "_"] });
const text = args.text === undefined ? defaultText() : Deno.readTextFileSync(args.text);
let paths = args._.map(String);
if (paths.length === 0) paths = filesIn(`${here}../../shared/vocab`, ".gguf");
if (paths.length === 0) paths = filesIn(`${here}../tests/data/tokenizer`, ".gguf");
for (const path of paths) {
  const { metadata } = await readGguf(path);
  const loading = time(RUNS, () => loadTokenizer(metadata));
  const tokenizer = loadTokenizer(metadata);
  console.log(
    `${path.split("/").at(-1)}: ${tokenizer.kind}, ${tokenizer.vocabSize} tokens, ` +
      `loaded in ${loading.median.toFixed(0)} ms`,
  );
  benchText(tokenizer, text);
  benchHardTexts(tokenizer);
}
