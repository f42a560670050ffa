/**
 * Compares m40's tokenizers with what compare.py has others make of the same texts: for every
 * `NAME.gguf` of a folder the texts and ids in `NAME.jsonl`.
 *
 *     deno run -A tools/tokenizer_vectors/compare.ts FOLDER [NAME ...]
 *
 * @module
 */
import type { Metadata } from "../../engine/gguf/metadata.ts";
import { readGguf } from "../../engine/gguf/reader.ts";
import { loadTokenizer } from "../../engine/tokenizer/load.ts";

/** How many differences are shown of a vocabulary. */
const SHOWN = 3;

/**
 * How far two sums of scores may be apart, as a part of them, and be the same in single precision, in
 * which SentencePiece adds them.
 */
const SINGLE_PRECISION = 2e-6;

const [folder, ...asked] = Deno.args;
if (folder === undefined) {
  console.error("Usage: deno run -A tools/tokenizer_vectors/compare.ts FOLDER [NAME ...]");
  Deno.exit(2);
}
const names = asked.length > 0 ? asked : namesIn(folder);
let different = 0;
for (const name of names) different += await compare(name);
Deno.exit(different === 0 && names.length > 0 ? 0 : 1);

function namesIn(folder: string): string[] {
  return [...Deno.readDirSync(folder)].map((file) => file.name)
    .filter((name) => name.endsWith(".jsonl")).map((name) => name.slice(0, -6)).sort();
}

/** Compares the texts of one file, with every pre-tokenizer that it is for, and gives how many differ. */
async function compare(file: string): Promise<number> {
  const { metadata } = await readGguf(`${folder}/${file}.gguf`);
  const [head, ...lines] = Deno.readTextFileSync(`${folder}/${file}.jsonl`).trimEnd().split("\n");
  const { preTokenizers }: { preTokenizers: string[] } = JSON.parse(head);
  const vectors: [string, number[]][] = lines.map((line) => JSON.parse(line));
  let different = 0;
  for (const preTokenizer of preTokenizers) {
    different += compareTexts(preTokenizer, metadata, vectors, preTokenizer);
  }
  return preTokenizers.length > 0 ? different : compareTexts(file, metadata, vectors);
}

function compareTexts(
  name: string,
  metadata: Metadata,
  vectors: [text: string, ids: number[]][],
  preTokenizer?: string,
): number {
  const tokenizer = loadTokenizer(metadata, { preTokenizer });
  const isTie = tieChecker(metadata);
  let different = 0;
  let ties = 0;
  for (const [text, wanted] of vectors) {
    const got = tokenizer.encode(text, { addSpecial: false });
    if (got.length === wanted.length && got.every((id, i) => id === wanted[i])) continue;
    if (isTie(got, wanted) && tokenizer.decode(got) === tokenizer.decode(wanted)) {
      ties++;
      continue;
    }
    if (different++ >= SHOWN) continue;
    const show = (ids: number[]) =>
      ids.map((id) => `${JSON.stringify(tokenizer.tokenText(id))} ${id}`).join(", ");
    console.log(
      `${name}: ${JSON.stringify(text)}\n  got    ${show(got)}\n  wanted ${show(wanted)}`,
    );
  }
  const equallyGood = ties === 0 ? "" : `, ${ties} of other tokens with the same score`;
  console.log(`${name}: ${vectors.length} texts, ${different} different${equallyGood}`);
  return different;
}

/** Whether two ways to write a text with a Unigram vocabulary are equally good. */
function tieChecker(metadata: Metadata): (a: number[], b: number[]) => boolean {
  if (metadata.string("tokenizer.ggml.model") !== "t5") return () => false;
  const scores = metadata.numbers("tokenizer.ggml.scores");
  const sum = (ids: number[]) => ids.reduce((sum, id) => sum + scores[id], 0);
  return (a, b) => Math.abs(sum(a) - sum(b)) <= SINGLE_PRECISION * Math.abs(sum(a));
}
