import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { loadTokenizer } from "../../engine/tokenizer/load.ts";
import {
  changed,
  type Changes,
  f32,
  goldenHeader,
  i32s,
  read,
  testRefusals,
  text,
  u32,
} from "../fixtures/changed_model.ts";
import { encodeOperations } from "../../engine/program/operation.ts";
import type { Gguf } from "../../engine/gguf/reader.ts";
import { BASIC, vocabularyMetadata } from "../fixtures/tokenizer_metadata.ts";

// What of a file makes no sense and does not keep the model from being run.

/** The bits of a program, as far as its weights' numbers go. */
function programOf(gguf: Gguf): Uint8Array {
  const { program } = read(gguf);
  return encodeOperations(program.operations, program.weights.map((_, i) => i));
}

const WARNED: readonly (readonly [model: string, changes: Changes, warning: RegExp])[] = [
  ["llama", { metadata: { "rope.scaling.factor": f32(0) } }, /^llama\.rope\.scaling\.factor is 0/],
  ["llama", { metadata: { "rope.scale_linear": f32(0) } }, /^llama\.rope\.scale_linear is 0/],
  ["llama", { metadata: { "rope.scaling.type": text("") } }, /^llama\.rope\.scaling\.type is ""/],
];

for (const [model, changes, warning] of WARNED) {
  Deno.test(`${model} with ${Object.keys(changes.metadata!)} is as without it, with one warning`, async () => {
    const golden = await goldenHeader(model);
    const other = changed(golden, changes);
    const { warnings } = read(other);
    assertEquals(warnings.length, 1);
    assertMatch(warnings[0], warning);
    assertEquals(read(golden).warnings, []);
    assertEquals(programOf(other), programOf(golden));
  });
}

Deno.test("YaRN with a factor of 0 scales nothing", async () => {
  const golden = await goldenHeader("llama");
  const yarn = changed(golden, {
    metadata: { "rope.scaling.type": text("yarn"), "rope.scaling.factor": f32(0) },
  });
  const one = changed(golden, {
    metadata: { "rope.scaling.type": text("yarn"), "rope.scaling.factor": f32(1) },
  });
  assertEquals(programOf(yarn), programOf(one));
  const plain = changed(golden, { metadata: { "rope.scaling.type": text("default") } });
  assertEquals(programOf(plain), programOf(golden));
  assertEquals(read(plain).warnings, []);
});

testRefusals([
  [
    "llama",
    { metadata: { "rope.scaling.factor": f32(-1) } },
    /factor is -1, wanted a number above 0/,
  ],
  [
    "llama",
    { metadata: { block_count: u32(2) } },
    /block_count is 2, but the file has 1 layer more/,
  ],
  ["qwen35-mtp", { metadata: { nextn_predict_layers: undefined } }, /./],
]);

Deno.test("layers that predict further tokens are known by their key, not by being too many", async () => {
  const golden = await goldenHeader("qwen35-mtp");
  assertMatch(read(golden).notes.join(), /predict further tokens/);
  const blocks = golden.metadata.number("qwen35.block_count");
  const uncounted = changed(golden, {
    metadata: { nextn_predict_layers: undefined, block_count: u32(blocks - 1) },
  });
  const wanted = new RegExp(`--override qwen35.block_count=${blocks}`);
  assertMatch(assertThrows(() => read(uncounted), M40Error).message, wanted);
});

/** A tokenizer, and what was warned of. */
function load(changes: Parameters<typeof vocabularyMetadata>[1]) {
  const warnings: string[] = [];
  const metadata = vocabularyMetadata([...BASIC, "a", "b"], changes);
  return {
    tokenizer: loadTokenizer(metadata, { onWarning: (one) => warnings.push(one) }),
    warnings,
  };
}

Deno.test("ids of special tokens beyond the vocabulary are warned of by name, and there is no such token", () => {
  const size = BASIC.length + 2;
  for (const name of ["bos", "eos", "unknown", "eot", "eom", "fim_pre", "fim_suf", "suffix"]) {
    const key = `tokenizer.ggml.${name}_token_id`;
    for (const id of [size, 2 ** 31]) {
      const { tokenizer, warnings } = load({ [key]: u32(id) });
      assertEquals(warnings.length, 1, warnings.join());
      assertMatch(warnings[0], new RegExp(`^${key} is ${id}, which is not in the vocabulary`));
      assertEquals(tokenizer.endTokens.has(id), false);
      assertEquals(tokenizer.encode("a").every((token) => token < size), true);
    }
    assertEquals(load({ [key]: u32(size - 1) }).warnings, []);
    assertThrows(() => load({ [key]: f32(1.5) }), M40Error, `${key} is 1.5`);
  }
});

Deno.test("a BOS that is wanted and is none is left out, with a warning", () => {
  const { tokenizer, warnings } = load({
    "tokenizer.ggml.bos_token_id": undefined,
    "tokenizer.ggml.add_bos_token": { type: "bool", value: true },
  });
  assertEquals(tokenizer.addBos, false);
  assertMatch(warnings.join(), /add_bos_token is true, but there is no such token/);
});

Deno.test("eos_token_ids: each of them ends an answer; those beyond the vocabulary are warned of", () => {
  const [a, b] = [BASIC.length, BASIC.length + 1];
  const key = "tokenizer.ggml.eos_token_ids";
  const { tokenizer, warnings } = load({ [key]: i32s(b, a, a) });
  assertEquals([a, b].map((id) => tokenizer.endTokens.has(id)), [true, true]);
  assertEquals(warnings, []);
  assertEquals(load({}).tokenizer.endTokens.has(a), false);
  const beyond = load({ [key]: i32s(a, 1000, 2000) });
  assertEquals(beyond.tokenizer.endTokens.has(a), true);
  assertMatch(beyond.warnings.join(), /eos_token_ids names 1000 and 1 more, which are not/);
});
