import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { Home, m40 as m40Process, ROOT, TINY } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";

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
    const { code, stdout, stderr } = await m40Process(
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

Deno.test(
  "m40 tokenize: a real vocabulary gives llama.cpp's tokens (ignored where ../shared/vocab is not)",
  { ignore: !hasVocabulary },
  async () => {
    await using home = await Home.make();
    const texts = (await Deno.readTextFile(`${vocabulary}.inp`)).split("\n__ggml_vocab_test__\n");
    const wanted = (await Deno.readTextFile(`${vocabulary}.out`)).split("\n");
    // Every text passes through the tokenizer's own tests; here, some through the whole program.
    for (let i = 0; i < texts.length; i += 9) {
      const { stdout } = await m40Process(
        home,
        ["tokenize", vocabulary, "--ids", "--no-special"],
        { stdin: texts[i] },
      );
      assertEquals(stdout.trim().replaceAll(",", " "), wanted[i].trim(), JSON.stringify(texts[i]));
    }
  },
);

const CHAT = ["--chat-template", "chatml"];
const USER = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n";

Deno.test("m40 tokenize --chat: a user's message becomes the prompt that the template makes of it; --messages a whole conversation", async () => {
  await using home = await Home.make();
  const json = async (...args: string[]) => {
    const { stdout, stderr } = await m40(home, ["tokenize", TINY, ...args, ...CHAT, "--json"]);
    assertEquals(stderr, "");
    return JSON.parse(stdout);
  };
  const messages = [{ role: "system", content: "Be kind." }, { role: "user", content: "hello" }];
  const [{ prompt, tokens }, whole, list] = await Promise.all([
    json("--chat", "hello"),
    json("--messages", JSON.stringify({ model: "x", messages })),
    json("--messages", JSON.stringify(messages)),
  ]);
  assertEquals(prompt, USER);
  assertEquals(tokens[0], { id: 1, text: "<s>", control: true });
  assertEquals(whole.prompt, `<|im_start|>system\nBe kind.<|im_end|>\n${USER}`);
  assertEquals(list, whole);
});

Deno.test("m40 tokenize --chat: the name of a control token in a message is text", async () => {
  await using home = await Home.make();
  const { stdout } = await m40(home, ["tokenize", TINY, "--chat", ...CHAT, "--json", "a<s></s>b"]);
  const { tokens } = JSON.parse(stdout) as { tokens: { id: number; control?: boolean }[] };
  assertEquals(tokens.filter(({ control }) => control).map(({ id }) => id), [1]);
});

Deno.test("m40 tokenize --json has text, control tokens, and bytes that are no text in hex", async () => {
  await using home = await Home.make();
  const { stdout } = await m40(home, ["tokenize", TINY, "--json", "aé"]);
  assertEquals(JSON.parse(stdout).tokens, [
    { id: 1, text: "<s>", control: true },
    { id: 261, text: " a" },
    { id: 198, bytes: "c3" },
    { id: 172, bytes: "a9" },
  ]);
});

Deno.test("m40 tokenize: what cannot be a conversation, and options that contradict each other, are refused", async () => {
  await using home = await Home.make();
  const cases: [string[], RegExp][] = [
    [["--messages", ...CHAT, "{nope"], /the conversation is no JSON: /],
    [["--messages", ...CHAT, "3"], /The body: .*expected object, received number/],
    [["--messages", ...CHAT, '[{"role":"me","content":""}]'], /messages\.0\.role: wanted "system"/],
    [
      ["--chat", "hello"],
      /the model has no chat template; --chat-template NAME\|FILE gives it one/,
    ],
    [["--chat", "--messages", "hello"], /--chat and --messages do not go together/],
    [["--chat", ...CHAT, "--no-special", "hello"], /--no-special and --chat do not go together/],
    [["--ids", "--json", "hello"], /--ids and --json do not go together/],
    [[...CHAT, "hello"], /--chat-template needs --chat or --messages/],
    [["--chat", "--chat-template", "./none", "hello"], /\.\/none cannot be read/],
  ];
  await Promise.all(cases.map(async ([args, message]) => {
    const { code, stdout, stderr } = await m40(home, ["tokenize", TINY, ...args]);
    assertEquals(stdout, "");
    assertEquals(code !== 0, true);
    assertMatch(stderr, message);
  }));
});

Deno.test("m40 tokenize --pre-tokenizer: cuts text as another name does; one that is unknown is refused", async () => {
  await using home = await Home.make();
  const vocabulary = join(ROOT, "tests/data/tokenizer/byte-level.gguf");
  const run = (...args: string[]) =>
    m40(home, ["tokenize", vocabulary, "--ids", "don't 12345", ...args]);
  const byName = async (name: string) => {
    const { code, stdout, stderr } = await run("--pre-tokenizer", name);
    assertEquals([code, stderr], [0, ""]);
    return stdout.trim().split(",").length;
  };
  assert(await byName("starcoder") > await byName("gpt-2"), "each digit is a word");
  const { code, stdout, stderr } = await run("--pre-tokenizer", "lama3");
  assertEquals([code, stdout], [1, ""]);
  assertMatch(stderr, /--pre-tokenizer "lama3" is not known.*"llama3"/);
});
