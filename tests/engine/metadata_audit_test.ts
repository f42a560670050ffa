import { assertEquals, assertLess, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { arrayEntry, entry } from "../../engine/gguf/entries.ts";
import { CHANGING_KEYS } from "../../engine/gguf/audit/changing_keys.ts";
import { auditMetadata, unknownKeysWarning } from "../../engine/gguf/audit/mod.ts";
import { HARMLESS_KEYS, HARMLESS_TOKENIZER_KEYS } from "../../engine/gguf/audit/harmless_keys.ts";
import { Metadata, type MetadataEntry } from "../../engine/gguf/metadata.ts";
import { type Gguf, readGguf } from "../../engine/gguf/reader.ts";
import { Engine } from "../../engine/mod.ts";
import { readModel } from "../../engine/models/read_model.ts";
import { readTokenizer } from "../../engine/tokenizer/read_tokenizer.ts";
import { SHAPES } from "../../tools/make_model/shapes.ts";
import { changed, f32, goldenHeader, text, u32 } from "../fixtures/changed_model.ts";
import { GOLDEN_NAMES } from "../fixtures/goldens.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { headerOf } from "../fixtures/model_header.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { BASIC, vocabularyMetadata } from "../fixtures/tokenizer_metadata.ts";
import { TemporaryFile } from "../fixtures/temporary.ts";

/** What is warned of when a model and its tokenizer are read. */
function warningsOf(gguf: Gguf): string[] {
  const warnings = [...readModel(gguf).warnings];
  readTokenizer(gguf, { onWarning: (warning) => warnings.push(warning) });
  return warnings;
}

Deno.test("no golden has metadata that is not known", async () => {
  assertLess(80, GOLDEN_NAMES.length);
  for (const name of GOLDEN_NAMES) assertEquals(warningsOf(await goldenHeader(name)), [], name);
});

Deno.test("no made-up model has metadata that is not known", () => {
  for (const shape of Object.keys(SHAPES)) {
    assertEquals(warningsOf(headerOf(shape, "Q4_0")), [], shape);
  }
});

/** A llama with another key. */
async function withKey(key: string, value: MetadataEntry): Promise<Gguf> {
  // With YaRN, as what says how it scales means nothing else.
  return changed(await goldenHeader("llama"), {
    metadata: { "rope.scaling.type": text("yarn"), [key]: value },
  });
}

const REFUSED: readonly (readonly [key: string, value: MetadataEntry])[] = [
  ["rope.scaling.mscale_all_dim", f32(0.5)],
  ["rope.scaling_beta", f32(0.1)],
  ["rope.global.freq_base", f32(1e6)],
  ["rope.local.freq_base", f32(1e4)],
  ["rope.freq_base_swa", f32(2e4)],
  ["rope.dimension_count_swa", u32(8)],
  ["attention.temperature_scale", f32(0.1)],
  ["attention.scale", f32(0.5)],
  ["attention.chunk_size", u32(4096)],
  ["attention.clamp_kqv", f32(8)],
  ["attention.max_alibi_bias", f32(8)],
  ["attn_logit_softcapping", f32(30)],
  ["final_logit_softcapping", f32(30)],
  ["router_logit_softcapping", f32(30)],
  ["attention.shared_kv_layers", u32(1)],
  ["attention.kv_lora_rank", u32(8)],
  ["attention.indexer.head_count", u32(8)],
  ["logit_scale", f32(0.1)],
  ["residual_scale", f32(0.2)],
  ["embedding_scale", f32(12)],
  ["embedding_length_per_layer_input", u32(16)],
  ["interleave_moe_layer_step", u32(2)],
  ["moe_latent_size", u32(8)],
  ["ssm.v_head_reordered", entry("bool", false)],
  ["swiglu_clamp_exp", arrayEntry("float32", [7, 7, 7])],
];

for (const [key, value] of REFUSED) {
  Deno.test(`${key} refuses a model whose architecture does not read it, by its name`, async () => {
    const gguf = await withKey(key, value);
    const { message, code } = assertThrows(() => readModel(gguf), M40Error);
    assertEquals(code, "unsupported");
    assertMatch(message, new RegExp(`llama\\.${key.replaceAll(".", "\\.")} is .*it changes `));
  });
}

Deno.test("a share of YaRN where nothing else of it is refuses a model", async () => {
  const metadata = { "rope.scaling.yarn_ext_factor": f32(0.5) };
  const gguf = changed(await goldenHeader("llama"), { metadata });
  assertThrows(() => readModel(gguf), M40Error, "llama.rope.scaling.yarn_ext_factor is");
});

const PASSED: readonly (readonly [key: string, value: MetadataEntry])[] = [
  ["rope.scaling.mscale_all_dim", f32(1)],
  ["rope.freq_base_swa", f32(10000)],
  ["attention.scale", f32(0.25)],
  ["attention.chunk_size", u32(8192)],
  ["logit_scale", f32(1)],
  ["logit_scale", f32(0)],
  ["final_logit_softcapping", f32(0)],
  ["attention.shared_kv_layers", u32(0)],
  ["ssm.v_head_reordered", entry("bool", true)],
  ["swiglu_clamp_exp", arrayEntry("float32", [0, 0, 0])],
  ["vision.block_count", u32(24)],
  ["image_token_id", u32(3)],
  ["rope.mrope_section", arrayEntry("int32", [1, 2, 3])],
  ["pooling_type", u32(1)],
];

for (const [key, value] of PASSED) {
  Deno.test(`${key} ${JSON.stringify(value.value)} passes without a word`, async () => {
    assertEquals(warningsOf(await withKey(key, value)), []);
  });
}

Deno.test("unknown keys are warned of by name, once, however many they are", async () => {
  assertMatch(
    (await warningsOfKeys("novelty")).join("|"),
    /^The file has metadata that m40 does not know: llama\.novelty\. If that[^|]*$/,
  );
  const many = await warningsOfKeys(...Array.from({ length: 20 }, (_, i) => `key_${i}`));
  assertEquals(many.length, 1);
  assertMatch(many[0], /llama\.key_0, llama\.key_1.* and 12 more\. /);
  // Keys of other programs are unknown and do not matter.
  const other = await goldenHeader("llama");
  const entries = new Map(other.metadata.entries()).set("quantize.imatrix.file", text("x"));
  assertEquals(warningsOf({ ...other, metadata: new Metadata(entries) }), []);
});

async function warningsOfKeys(...keys: string[]): Promise<string[]> {
  const metadata = Object.fromEntries(keys.map((key) => [key, u32(1)]));
  return warningsOf(changed(await goldenHeader("llama"), { metadata }));
}

/** What is warned of when a vocabulary with more keys is read. */
function tokenizerWarnings(changes: Parameters<typeof vocabularyMetadata>[1]): string[] {
  const warnings: string[] = [];
  const metadata = vocabularyMetadata(BASIC, changes);
  const gguf = { path: "x.gguf", files: [], version: 3, metadata, tensors: new Map() };
  const sizes = { alignment: 32, dataOffset: 0, fileBytes: 0 };
  readTokenizer({ ...gguf, ...sizes }, { onWarning: (warning) => warnings.push(warning) });
  return warnings;
}

Deno.test("a vocabulary's keys: unknown ones are warned of, those that change tokens refused", () => {
  const K = "tokenizer.ggml.";
  assertMatch(
    tokenizerWarnings({ [`${K}novelty`]: u32(1) }).join("|"),
    /tokenizer\.ggml\.novelty\. If/,
  );
  assertEquals(
    tokenizerWarnings({
      "tokenizer.chat_template": text("x"),
      "tokenizer.chat_template.tool_use": text("x"),
      [`${K}pre`]: text("default"),
      [`${K}padding_token_id`]: u32(0),
      [`${K}padding_token_ids`]: arrayEntry("int32", [0]),
      [`${K}add_padding_token`]: entry("bool", true),
      [`${K}mask_token_id`]: u32(0),
      [`${K}merges`]: arrayEntry("string", ["a b"]),
      "tokenizer.huggingface.json": text("{}"),
    }),
    [],
  );
  assertThrows(
    () => tokenizerWarnings({ [`${K}normalizer.lowercase`]: entry("bool", true) }),
    M40Error,
    "it changes which tokens a text becomes",
  );
});

Deno.test("no key is both known to change something and known to be harmless", () => {
  const keys = [...REFUSED, ...PASSED].map(([key]) => key);
  for (const key of keys) {
    const changing = CHANGING_KEYS.some((known) => known.key.test(key));
    const harmless = HARMLESS_KEYS.some((known) => known.test(key));
    assertEquals(changing && harmless, false, key);
    assertEquals(changing || harmless, true, key);
  }
  assertEquals(HARMLESS_TOKENIZER_KEYS.some((known) => known.test("ggml.model")), false);
});

Deno.test("a file with a million keys is looked at in a time that grows with their number", async () => {
  const golden = await goldenHeader("llama");
  // The steps are counted, not the time: each key is asked for once.
  const entries = new Map(golden.metadata.entries());
  for (let i = 0; i < 100_000; i++) entries.set(`llama.key_${i}`, u32(i));
  let looked = 0;
  class Counting extends Metadata {
    override entry(key: string) {
      looked++;
      return super.entry(key);
    }
  }
  const unknown = auditMetadata({ ...golden, metadata: new Counting(entries) }, "layers");
  const [warning] = unknownKeysWarning(unknown);
  assertMatch(warning, / and \d{5,6} more\. /);
  assertEquals(looked <= entries.size, true);
});

Deno.test("Engine.load says what of a file it does not know, and refuses what changes the result", async () => {
  using temporary = new TemporaryFile(".gguf");
  const path = temporary.path;
  const load = async () => {
    const warnings: string[] = [];
    const engine = await Engine.load(path, {
      device: BACKEND,
      contextTokens: 32,
      onWarning: (one) => warnings.push(one),
    });
    await engine.close();
    return warnings;
  };
  const file = await Rewritten.of("llama");
  await file.write(path);
  assertEquals(await load(), []);
  file.set("%s.novelty", u32(1)).set("tokenizer.ggml.novelty", u32(1));
  await file.write(path);
  // One sentence for layers and vocabulary together.
  assertEquals((await load()).map((one) => /know: (.+?)\. /.exec(one)?.[1]), [
    "llama.novelty, tokenizer.ggml.novelty",
  ]);
  file.set("%s.final_logit_softcapping", f32(30));
  await file.write(path);
  await assertRejects(load, M40Error, "llama.final_logit_softcapping is");
  assertEquals((await readGguf(path)).metadata.number("llama.final_logit_softcapping"), 30);
});
