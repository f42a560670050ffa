import { assert, assertEquals } from "@std/assert";
import { readGguf } from "../engine/gguf/reader.ts";
import { loadTokenizer } from "../engine/tokenizer/load.ts";

const DATA = new URL("./data/tokenizer/", import.meta.url).pathname;
const SHARED = new URL("../../shared/vocab/ggml-vocab-llama-spm.gguf", import.meta.url).pathname;

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

Deno.test({
  name:
    "tokenizer: the Llama vocabulary encodes as llama.cpp's test vectors (ignored without ../shared/vocab)",
  ignore: !exists(SHARED),
  async fn() {
    const tokenizer = loadTokenizer((await readGguf(SHARED)).metadata);
    // Every text and every line of ids is followed by its separator, the last one as well.
    const texts = Deno.readTextFileSync(`${SHARED}.inp`).split("\n__ggml_vocab_test__\n");
    const lines = Deno.readTextFileSync(`${SHARED}.out`).split("\n");
    assertEquals([texts.pop(), lines.pop()], ["", ""]);
    assertEquals(texts.length, lines.length);
    assert(texts.length > 40);
    for (const [i, text] of texts.entries()) {
      const wanted = lines[i].split(" ").filter((id) => id !== "").map(Number);
      assertEquals(tokenizer.encode(text, { addSpecial: false }), wanted, JSON.stringify(text));
      assertEquals(tokenizer.encode(text), [1, ...wanted], `with BOS: ${JSON.stringify(text)}`);
      assertEquals(tokenizer.decode(wanted), text);
    }
  },
});
