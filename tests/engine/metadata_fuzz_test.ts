import { assert, assertEquals } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import { arrayEntry, entry } from "../../engine/gguf/entries.ts";
import { Metadata, type MetadataEntry, NestedArray } from "../../engine/gguf/metadata.ts";
import { FAMILIES } from "../../engine/gguf/ollama/families.ts";
import { translateOllama } from "../../engine/gguf/ollama/mod.ts";
import { applyOverrides, parseOverride } from "../../engine/gguf/override.ts";
import type { Gguf, GgufTensor } from "../../engine/gguf/reader.ts";
import { readModel } from "../../engine/models/read_model.ts";
import { readTokenizer } from "../../engine/tokenizer/read_tokenizer.ts";
import { goldenHeader } from "../fixtures/changed_model.ts";
import { GOLDEN_NAMES } from "../fixtures/goldens.ts";

const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 1500);

/** Values of every type, and the worst of each. */
const VALUES: readonly MetadataEntry[] = [
  ...[0, 1, 2, 3, 7, 64, 2 ** 31, 2 ** 32 - 1].map((value) => entry("uint32", value)),
  ...[-1, -(2 ** 31)].map((value) => entry("int32", value)),
  ...[NaN, Infinity, -Infinity, 0, -0, 1e-40, 1e38, 0.5].map((value) => entry("float32", value)),
  entry("uint64", 2n ** 64n - 1n),
  entry("int64", -(2n ** 63n)),
  entry("bool", true),
  entry("bool", false),
  ...["", "yarn", "default", "llama", "gpt2", "\u0000", "x".repeat(5000)]
    .map((value) => entry("string", value)),
  arrayEntry("int32", []),
  arrayEntry("int32", [1, -1, 2]),
  arrayEntry("uint64", [2n ** 64n - 1n]),
  arrayEntry("float32", [NaN, 1]),
  arrayEntry("bool", [true, false]),
  arrayEntry("string", ["a", "", "a"]),
  { type: "array", element: "array", value: new NestedArray([arrayEntry("int32", [1])]) },
];

/** Keys that dialects and audits look at, behind the architecture's prefix. */
const KEYS = [
  ...FAMILIES.flatMap(({ keys = {}, defaults = {} }) => [
    ...Object.keys(keys),
    ...Object.values(keys),
    ...Object.keys(defaults),
  ]),
  ..."block_count context_length attention.key_length attention.kv_lora_rank rope.dimension_count"
    .split(" ")
    .map((key) => `%s.${key}`),
  ..."rope.partial_rotary_factor rope.scaling.beta_fast norm_top_k_prob feed_forward_length expert_count"
    .split(
      " ",
    ).map((key) => `%s.${key}`),
  ..."rope.freq_base_swa attention.scale logit_scale swiglu_clamp_exp novelty".split(" ")
    .map((key) => `%s.${key}`),
  ..."model pre tokens scores token_type merges suppress_tokens eos_token_ids eos_token_id eot_token_id"
    .split(
      " ",
    ).map((key) => `tokenizer.ggml.${key}`),
  "general.architecture",
];

const TENSORS = [
  "token_embd.weight",
  "output_norm.weight",
  "dense.0.weight",
  "blk.0.ssm_dt",
  "blk.0.attn_sinks",
  "blk.0.ffn_gate.weight",
  "blk.0.ffn_gate_exps.weight",
  "blk.99999999999999999999.x",
  "mtp.x",
  "model.vision_tower.x",
  "v.x",
];

function randomNumbers(seed: number): (below: number) => number {
  let state = seed * 2654435761 >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

/** A golden's header with a few faults. */
function damaged(golden: Gguf, random: (below: number) => number): Gguf {
  const entries = new Map(golden.metadata.entries());
  const tensors = new Map<string, GgufTensor>(golden.tensors);
  let prefix = golden.metadata.entry("general.architecture")!.value as string;
  if (random(2) === 0) {
    const name = FAMILIES[random(FAMILIES.length)].architecture;
    for (const [key, value] of [...entries]) {
      if (key.startsWith(`${prefix}.`)) entries.set(name + key.slice(prefix.length), value);
    }
    entries.set("general.architecture", entry("string", prefix = name));
  }
  for (let faults = random(4); faults > 0; faults--) {
    const known = [...entries.keys()];
    const key = random(2) === 0
      ? known[random(known.length)]
      : KEYS[random(KEYS.length)].replace("%s", prefix);
    if (random(4) === 0) entries.delete(key);
    else entries.set(key, VALUES[random(VALUES.length)]);
  }
  if (random(2) === 0) {
    const name = TENSORS[random(TENSORS.length)];
    const [first] = golden.tensors.values();
    const shape = [[], [0], [1], [64], [64, 64], [64, 1], [1, 2, 3, 4]][random(7)];
    tensors.set(name, { ...first, name, shape });
  }
  return { ...golden, metadata: new Metadata(entries), tensors };
}

/** What is given back, or undefined where it is refused in words; anything else that is thrown is a fault. */
function orRefused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof M40Error) return undefined;
    throw error;
  }
}

Deno.test(`${CASES} headers with faults in their metadata are read, or refused in words`, async () => {
  const goldens = await Promise.all(GOLDEN_NAMES.map(goldenHeader));
  let models = 0;
  let refused = 0;
  for (let seed = 1; seed <= CASES; seed++) {
    const random = randomNumbers(seed);
    const golden = goldens[random(goldens.length)];
    try {
      const file = damaged(golden, random);
      const texts = [
        `${KEYS[random(KEYS.length)].replace("%s", "llama")}=${random(9)}`,
        "x.y=int:1",
      ];
      orRefused(() => applyOverrides(file, texts.map((text) => parseOverride(text)!)));
      const translated = translateOllama(file);
      // What is translated has nothing left to be translated.
      const again = translateOllama(translated);
      assertEquals([...again.tensors.keys()], [...translated.tensors.keys()]);
      assertEquals(new Set(again.metadata.keys()), new Set(translated.metadata.keys()));
      const model = orRefused(() => readModel(translated));
      if (model) models++;
      else refused++;
      orRefused(() => readTokenizer(translated));
    } catch (error) {
      throw new Error(`seed ${seed} (${golden.path}): ${error}`, { cause: error });
    }
  }
  assert(models > CASES / 10 && refused > CASES / 10, `${models} models, ${refused} refused`);
});

Deno.test("any text is an override, or none; none takes more than its length in time", () => {
  const random = randomNumbers(7);
  const parts = ["=", ":", "int", "float", "[", "]", "a", "1", ",", '"', ".", "-", "e9", "true"];
  for (let i = 0; i < 20_000; i++) {
    const text = Array.from({ length: random(12) }, () => parts[random(parts.length)]).join("");
    const override = parseOverride(text);
    if (override === undefined) continue;
    assert(text.startsWith(`${override.key}=`) && text.endsWith(override.value), text);
  }
});
