import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { Home, m40, ROOT, TINY } from "./cli_program.ts";

Deno.test("m40 tokenize: a line a token, with its id and what it stands for", async () => {
  await using home = await Home.make();
  const { code, stdout, stderr } = await m40(home, ["tokenize", TINY, "hello\nwörld"]);
  assertEquals([code, stderr], [0, ""]);
  const lines = stdout.trimEnd().split("\n").map((line) => line.trim().split(/\s{2,}/));
  assertEquals(lines[0], ["1", "<s>"]);
  const texts = lines.slice(1).map(([, text]) => text);
  assertEquals(texts.includes('"\\n"'), true, "a line feed must not break the line");
  assertEquals(texts.includes('"\\xc3"') && texts.includes('"\\xb6"'), true, "halves of ö");
});

Deno.test("m40 tokenize --ids: one line, which m40 eval --tokens takes; --no-special leaves BOS out", async () => {
  await using home = await Home.make();
  const all = await m40(home, ["tokenize", TINY, "--ids", "hello"]);
  const bare = await m40(home, ["tokenize", TINY, "--ids", "--no-special", "hello"]);
  assertMatch(all.stdout, /^1(,\d+)+\n$/);
  assertEquals(all.stdout, `1,${bare.stdout}`);
  const { code, stdout } = await m40(home, ["eval", TINY, "--tokens", all.stdout]);
  assertEquals([code, stdout.trimEnd().split("\n").length], [0, all.stdout.split(",").length]);
});

Deno.test("m40 tokenize: --parse-special reads control tokens out of the text, without it they are text", async () => {
  await using home = await Home.make();
  const ids = async (...args: string[]) =>
    (await m40(home, ["tokenize", TINY, "--ids", "--no-special", ...args])).stdout.trim().split(
      ",",
    );
  assertEquals((await ids("a</s>")).includes("2"), false);
  assertEquals((await ids("a</s>", "--parse-special")).at(-1), "2");
});

Deno.test("m40 tokenize: standard input is taken byte for byte, UTF-8 or not", async () => {
  await using home = await Home.make();
  const ids = async (stdin: Uint8Array | string, ...args: string[]) => {
    const { code, stdout, stderr } = await m40(
      home,
      ["tokenize", TINY, "--ids", "--no-special", ...args],
      { stdin },
    );
    assertEquals([code, stderr], [0, ""]);
    return stdout.trim();
  };
  assertEquals(await ids(" hello\r\n\n"), await ids("", " hello\r\n\n"));
  assertEquals(await ids(""), "");
  // Byte tokens begin at 3 in this vocabulary: 0xff is 258, 0xc3 is 198, 0x00 is 3.
  const bytes = (await ids(new Uint8Array([0x61, 0xff, 0xc3, 0x00]))).split(",");
  assertEquals(bytes.slice(-3), ["258", "198", "3"]);
});

const vocabulary = join(ROOT, "../shared/vocab/ggml-vocab-llama-spm.gguf");
const hasVocabulary = await Deno.stat(vocabulary).then(() => true, () => false);

Deno.test({
  name:
    "m40 tokenize: a real vocabulary gives llama.cpp's tokens (ignored where ../shared/vocab is not)",
  ignore: !hasVocabulary,
  async fn() {
    await using home = await Home.make();
    const texts = (await Deno.readTextFile(`${vocabulary}.inp`)).split("\n__ggml_vocab_test__\n");
    const wanted = (await Deno.readTextFile(`${vocabulary}.out`)).split("\n");
    // Every text passes through the tokenizer's own tests; here, some through the whole program.
    for (let i = 0; i < texts.length; i += 9) {
      const { stdout } = await m40(
        home,
        ["tokenize", vocabulary, "--ids", "--no-special"],
        { stdin: texts[i] },
      );
      assertEquals(stdout.trim().replaceAll(",", " "), wanted[i].trim(), JSON.stringify(texts[i]));
    }
  },
});
