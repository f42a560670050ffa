import {
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { parseConfig } from "../../cli/config/config.ts";
import { M40Error } from "../../engine/errors.ts";
import { arrayEntry, entry } from "../../engine/gguf/entries.ts";
import type { MetadataEntry } from "../../engine/gguf/metadata.ts";
import { applyOverrides, type Override, parseOverride } from "../../engine/gguf/override.ts";
import { readGguf } from "../../engine/gguf/reader.ts";
import type { StringArray } from "../../engine/gguf/string_array.ts";
import { readModel } from "../../engine/models/read_model.ts";
import { changed, f32, goldenHeader, text, u32 } from "../fixtures/changed_model.ts";
import { Home, TINY } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

/** What a key is once an override was applied to a golden. */
async function overridden(...texts: string[]): Promise<(key: string) => MetadataEntry | undefined> {
  const golden = changed(await goldenHeader("llama"), {
    metadata: { list: arrayEntry("int32", [1, 2]), names: arrayEntry("string", ["a"]) },
  });
  const { metadata } = applyOverrides(golden, texts.map((one) => parseOverride(one)!));
  return (key) => metadata.entry(key);
}

const TAKEN: readonly (readonly [text: string, key: string, wanted: MetadataEntry])[] = [
  ["llama.block_count=2", "llama.block_count", u32(2)],
  ["llama.rope.freq_base=1e6", "llama.rope.freq_base", f32(1e6)],
  ["llama.rope.freq_base=0.1", "llama.rope.freq_base", f32(Math.fround(0.1))],
  ["llama.novelty=int:-3", "llama.novelty", entry("int64", -3)],
  ["llama.novelty=float:0.5", "llama.novelty", f32(0.5)],
  ["llama.novelty=bool:true", "llama.novelty", entry("bool", true)],
  ["llama.novelty=string:", "llama.novelty", text("")],
  ["llama.novelty=str:int:3", "llama.novelty", text("int:3")],
  ["llama.novelty=float:[1,0.5]", "llama.novelty", arrayEntry("float32", [1, 0.5])],
  ["llama.novelty=bool:[true,false]", "llama.novelty", arrayEntry("bool", [true, false])],
  [
    "llama.novelty=int:[1234567890123456789,-2]",
    "llama.novelty",
    arrayEntry("int64", [1234567890123456789n, -2]),
  ],
  ["llama.list=[3]", "llama.list", arrayEntry("int32", [3])],
  ["llama.list=[]", "llama.list", arrayEntry("int32", [])],
  ["llama.block_count=[2,2,2]", "llama.block_count", arrayEntry("uint32", [2, 2, 2])],
  ["general.name=a=b: [c]", "general.name", text("a=b: [c]")],
  ["tokenizer.ggml.add_bos_token=false", "tokenizer.ggml.add_bos_token", entry("bool", false)],
];

for (const [given, key, wanted] of TAKEN) {
  Deno.test(`--override ${given} is of the type of the key, or of the one that is named`, async () => {
    assertEquals((await overridden(given))(key), wanted);
  });
}

Deno.test("--override of texts in a list", async () => {
  const values = async (given: string) => {
    const found = (await overridden(given))(given.slice(0, given.indexOf("=")));
    return (found!.value as StringArray).toArray();
  };
  assertEquals(await values('llama.names=["b","c"]'), ["b", "c"]);
  assertEquals(await values('llama.novelty=strings:["b"]'), ["b"]);
});

const REFUSED: readonly (readonly [text: string, wanted: RegExp])[] = [
  ["llama.novelty=1", /no such key, so its type has to be said: --override llama\.novelty=int:/],
  ["llama.block_count=1.5", /got "1\.5"; wanted uint32/],
  ["llama.block_count=-1", /wanted uint32/],
  ["llama.block_count=99999999999", /wanted uint32/],
  ["llama.block_count=two", /wanted uint32/],
  ["llama.rope.freq_base=NaN", /wanted float32/],
  ["llama.rope.freq_base=1e40", /wanted float32/],
  ["llama.rope.freq_base=Infinity", /wanted float32/],
  ["tokenizer.ggml.add_bos_token=yes", /wanted bool/],
  ["llama.list=3", /wanted a JSON array of int32/],
  ["llama.list=[1", /wanted a JSON array of int32/],
  ["llama.list=[[1]]", /wanted a JSON array of int32/],
  ['llama.list=["1"]', /wanted a JSON array of int32/],
  ["llama.list=[null]", /wanted a JSON array of int32/],
  ["llama.names=[1]", /wanted a JSON array of string/],
  ["general.alignment=int:64", /how the file lies/],
  ["split.count=int:2", /how the file lies/],
];

for (const [given, wanted] of REFUSED) {
  Deno.test(`--override ${given} is refused with what was wanted`, async () => {
    const error = await assertRejects(() => overridden(given), M40Error);
    assertEquals(error.code, "invalid_request");
    assertMatch(error.message, wanted);
  });
}

Deno.test("an override without a key or without a value is none", () => {
  for (const given of ["", "a", "=1", `a=${"x".repeat(2 ** 20)}`]) {
    assertEquals(parseOverride(given), undefined);
  }
});

Deno.test("an override comes before names are translated, and may have either dialect's", async () => {
  using temporary = new TemporaryFile(".gguf");
  const path = temporary.path;
  const file = (await Rewritten.of("gpt-oss")).renameArchitecture("gptoss");
  await file.write(path);
  const contextOf = async (key: string) => {
    const overrides = [parseOverride(`${key}=int:77`)!];
    return (await readGguf(path, { overrides })).metadata.number("gpt-oss.context_length");
  };
  assertEquals(await contextOf("gptoss.context_length"), 77);
  assertEquals(await contextOf("gpt-oss.context_length"), 77);
});

Deno.test("an override repairs what the metadata says wrongly of the layers", async () => {
  const golden = await goldenHeader("llama");
  const cut = changed(golden, { metadata: { block_count: u32(2) } });
  const { message } = assertThrows(() => readModel(cut), M40Error);
  const [, advice] = /--override (\S+)/.exec(message)!;
  const repaired = applyOverrides(cut, [parseOverride(advice)!]);
  assertEquals(readModel(repaired).shape, readModel(golden).shape);
  const softcap = changed(golden, { metadata: { final_logit_softcapping: f32(30) } });
  const [, ignored] = /--override (\S+)/.exec(
    assertThrows(() => readModel(softcap), M40Error).message,
  )!;
  assertEquals(readModel(applyOverrides(softcap, [parseOverride(ignored)!])).warnings, []);
});

/** What a configuration says of a model's overrides. */
function configured(toml: string): readonly Override[] | undefined {
  return parseConfig(`[models.tiny]\nfile = "/x.gguf"\n${toml}`, "m40.toml").models.get("tiny")!
    .options
    .override;
}

Deno.test("m40.toml: overrides as a list and as a table, with dots in quotes and without", async () => {
  const golden = await goldenHeader("llama");
  const applied = (toml: string) => {
    const { metadata } = applyOverrides(golden, configured(toml));
    return (key: string) => metadata.entry(key);
  };
  const list = applied('override = ["llama.block_count=2", "llama.x=float:1"]');
  assertEquals([list("llama.block_count"), list("llama.x")], [u32(2), f32(1)]);
  assertEquals(applied('override = "llama.block_count=2"')("llama.block_count"), u32(2));
  const table = applied(`[models.tiny.override]
"llama.block_count" = 2
llama.rope.freq_base = 500000
llama.x = 1.5
llama.y = -3
"llama.z" = true
llama.list = [1, 2]
llama.names = ["a"]
"general.name" = "named"`);
  assertEquals(table("llama.block_count"), u32(2));
  assertEquals(table("llama.rope.freq_base"), f32(500000));
  assertEquals(table("llama.x"), f32(1.5));
  assertEquals(table("llama.y"), entry("int64", -3));
  assertEquals(table("llama.z"), entry("bool", true));
  assertEquals(table("llama.list"), arrayEntry("int64", [1, 2]));
  assertEquals((table("llama.names")!.value as StringArray).toArray(), ["a"]);
  assertEquals(table("general.name"), text("named"));
  assertEquals(configured(""), undefined);
  for (
    const wrong of [
      'override = ["x"]',
      "override = 3",
      "override.x = 2026-01-01",
      'override.x = [1, "a"]',
    ]
  ) {
    assertMatch(assertThrows(() => configured(wrong), M40Error).message, /m40\.toml.*override/);
  }
});

Deno.test("m40 eval, tokenize and show take overrides; the file stays as it is", async () => {
  await using home = await Home.make();
  const before = await Deno.readFile(TINY);
  const logits = async (...options: string[]) => {
    const { code, stdout, stderr } = await m40(home, [
      "eval",
      TINY,
      "--tokens",
      "1,30,31,32",
      ...options,
    ]);
    assertEquals([code, stderr], [0, ""]);
    return stdout;
  };
  const plain = await logits();
  const key = "llama.rope.freq_base";
  assertEquals(await logits("--override", `${key}=10000`), plain);
  assertNotEquals(await logits("--override", `${key}=100`), plain);
  const ids = async (...options: string[]) =>
    (await m40(home, ["tokenize", TINY, "--ids", "a", ...options])).stdout;
  assertNotEquals(await ids("--override", "tokenizer.ggml.add_bos_token=false"), await ids());
  const shown = await m40(home, ["show", TINY, "--override", `${key}=100`]);
  assertMatch(shown.stdout, /llama\.rope\.freq_base +float32 +100\n/);
  const wrong = await m40(home, ["eval", TINY, "--tokens", "1", "--override", "llama.x=1"]);
  assertEquals(wrong.code, 2);
  assertMatch(wrong.stderr, /its type has to be said/);
  const none = await m40(home, ["eval", TINY, "--tokens", "1", "--override", "x"]);
  assertEquals(none.code, 2);
  assertMatch(none.stderr, /wanted KEY=VALUE/);
  assertEquals(await Deno.readFile(TINY), before);
});
