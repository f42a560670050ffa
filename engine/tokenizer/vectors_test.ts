import { assert, assertEquals } from "@std/assert";
import { readGguf } from "../gguf/reader.ts";
import { loadTokenizer } from "./load.ts";

const DATA = new URL("../../tests/data/tokenizer/", import.meta.url).pathname;
const SHARED = new URL("../../../shared/", import.meta.url).pathname;
const NOVEL = `${SHARED}text/war-and-peace.txt`;

interface Vector {
  text: string;
  addSpecial: boolean;
  parseSpecial: boolean;
  tokens: number[];
}

for (const name of ["plain", "no-prefix", "phrases", "trimmed"]) {
  const peers: Record<string, Vector[]> = JSON.parse(Deno.readTextFileSync(`${DATA}${name}.json`));
  for (const [peer, vectors] of Object.entries(peers)) {
    Deno.test(`tokenizer: vocabulary "${name}" encodes as ${peer} does`, async () => {
      const tokenizer = loadTokenizer((await readGguf(`${DATA}${name}.gguf`)).metadata);
      assert(vectors.length > 50);
      for (const { text, tokens, ...options } of vectors) {
        const asked = `${JSON.stringify(text)} ${JSON.stringify(options)}`;
        assertEquals(tokenizer.encode(text, options), tokens, asked);
        assertEquals(
          tokenizer.encodeBytes(new TextEncoder().encode(text), options),
          tokens,
          `as bytes: ${asked}`,
        );
      }
    });
  }
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

for (const name of ["llama-spm", "llama-bpe", "gpt-2", "deepseek-coder"]) {
  const path = `${SHARED}vocab/ggml-vocab-${name}.gguf`;
  Deno.test(
    `tokenizer: the vocabulary ${name} encodes as llama.cpp's test vectors (ignored without ../shared/vocab)`,
    { ignore: !exists(path) },
    async () => {
      const tokenizer = loadTokenizer((await readGguf(path)).metadata);
      // Every text and every line of ids is followed by its separator, the last one as well.
      const texts = Deno.readTextFileSync(`${path}.inp`).split("\n__ggml_vocab_test__\n");
      const lines = Deno.readTextFileSync(`${path}.out`).split("\n");
      assertEquals([texts.pop(), lines.pop()], ["", ""]);
      assertEquals(texts.length, lines.length);
      assert(texts.length > 40);
      const bos = tokenizer.addBos ? [tokenizer.bos!] : [];
      assertEquals(bos.length, name.startsWith("llama") || name === "deepseek-coder" ? 1 : 0);
      for (const [i, text] of texts.entries()) {
        const wanted = lines[i].split(" ").filter((id) => id !== "").map(Number);
        assertEquals(tokenizer.encode(text, { addSpecial: false }), wanted, JSON.stringify(text));
        assertEquals(
          tokenizer.encode(text),
          [...bos, ...wanted],
          `with BOS: ${JSON.stringify(text)}`,
        );
        assertEquals(tokenizer.decode(wanted), text);
      }
    },
  );

  Deno.test(`tokenizer: a novel comes back whole from ${name} (ignored without ../shared)`, {
    ignore: !exists(path) || !exists(NOVEL),
  }, async () => {
    const tokenizer = loadTokenizer((await readGguf(path)).metadata);
    const text = Deno.readTextFileSync(NOVEL);
    assert(tokenizer.decode(tokenizer.encode(text)) === text);
  });
}
