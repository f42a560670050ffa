import { assert, assertEquals } from "@std/assert";
import { readGguf } from "../gguf/reader.ts";
import { loadTokenizer } from "./load.ts";
import type { Tokenizer } from "./tokenizer.ts";

const DATA = new URL("../../tests/data/tokenizer/", import.meta.url).pathname;

/** Texts, and the ids that others give for them, by program or pre-tokenizer. */
interface Vectors {
  texts: string[];
  tokens: Record<string, number[][]>;
}

async function readVectors(name: string): Promise<Vectors> {
  const file = await Deno.open(`${DATA}${name}.json.gz`);
  return await new Response(file.readable.pipeThrough(new DecompressionStream("gzip"))).json();
}

function assertEncodes(
  tokenizer: Tokenizer,
  texts: string[],
  tokens: number[][],
  parseSpecial = false,
): void {
  assert(texts.length > 100 && tokens.length === texts.length);
  for (const [i, text] of texts.entries()) {
    const got = tokenizer.encode(text, { addSpecial: false, parseSpecial });
    assertEquals(got, tokens[i], JSON.stringify(text));
  }
}

for (const name of ["word-piece", "word-piece-cased", "unigram", "unigram-plain", "gemma4"]) {
  Deno.test(`tokenizer: vocabulary "${name}" encodes hard texts as its peers do`, async () => {
    const { metadata } = await readGguf(`${DATA}${name}.gguf`);
    const { texts, tokens } = await readVectors(name);
    for (const ids of Object.values(tokens)) {
      // BERT's peer takes the names of control tokens for those tokens wherever they stand.
      assertEncodes(loadTokenizer(metadata), texts, ids, name.startsWith("word-piece"));
    }
  });
}

Deno.test("tokenizer: every pre-tokenizer cuts hard texts as the model's own tokenizer does", async () => {
  const { metadata } = await readGguf(`${DATA}byte-level.gguf`);
  const { texts, tokens } = await readVectors("byte-level");
  let names = 0;
  for (const [group, ids] of Object.entries(tokens)) {
    for (const preTokenizer of group.split(" ")) {
      assertEncodes(loadTokenizer(metadata, { preTokenizer }), texts, ids);
      names++;
    }
  }
  assert(names > 70);
});
