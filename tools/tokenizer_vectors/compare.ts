/**
 * Compares m40's tokenizers with what compare.py has others make of the same texts: for every
 * `NAME.gguf` of a folder the texts and ids in `NAME.jsonl`.
 *
 *     deno run -A tools/tokenizer_vectors/compare.ts FOLDER [NAME ...]
 *
 * @module
 */
import { readGguf } from "../../engine/gguf/reader.ts";
import { loadTokenizer } from "../../engine/tokenizer/load.ts";

/** How many differences are shown of a vocabulary. */
const SHOWN = 3;

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

/** Compares the texts of one vocabulary, and gives how many were encoded in another way. */
async function compare(name: string): Promise<number> {
  const tokenizer = loadTokenizer((await readGguf(`${folder}/${name}.gguf`)).metadata);
  const lines = Deno.readTextFileSync(`${folder}/${name}.jsonl`).split("\n");
  lines.pop();
  let different = 0;
  for (const line of lines) {
    const [text, wanted]: [string, number[]] = JSON.parse(line);
    const got = tokenizer.encode(text, { addSpecial: false });
    if (got.length === wanted.length && got.every((id, i) => id === wanted[i])) continue;
    if (different++ >= SHOWN) continue;
    const show = (ids: number[]) => ids.map((id) => tokenizer.tokenText(id)).join(" | ");
    console.log(
      `${name}: ${JSON.stringify(text)}\n  got    ${show(got)}\n  wanted ${show(wanted)}`,
    );
  }
  console.log(`${name}: ${lines.length} texts, ${different} different`);
  return different;
}
