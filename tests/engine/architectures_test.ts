import { assert, assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import { NONE } from "../../engine/device/structs.ts";
import { M40Error } from "../../engine/errors.ts";
import type { MetadataEntry } from "../../engine/gguf/metadata.ts";
import { architectureNames, architectureOf } from "../../engine/models/architecture.ts";
import { attentionSpans, sharingLayers } from "../../engine/loading/model_info.ts";
import {
  booleans,
  changed,
  f32,
  goldenHeader,
  i32s,
  read,
  type Refusal,
  testRefusals,
  text,
  u32,
} from "../fixtures/changed_model.ts";
import { Random } from "../fixtures/device_harness.ts";
import { GOLDEN_NAMES } from "../fixtures/goldens.ts";

// What architectures make of files that are changed: the golden models' own.

const WRONG: readonly Refusal[] = [
  ["llama", { metadata: { "attention.head_count_kv": u32(3) } }, /4 heads cannot share 3 KV heads/],
  ["llama", { metadata: { "attention.head_count": u32(0) } }, /head_count is 0, wanted an integer/],
  ["llama", { metadata: { block_count: f32(2.5) } }, /block_count is 2\.5, wanted an integer/],
  ["llama", { metadata: { block_count: u32(2 ** 31) } }, /block_count is 2147483648, wanted/],
  ["llama", { metadata: { block_count: u32(2 ** 24) } }, /16777216 layers, but \d+ tensors/],
  ["llama", { metadata: { "rope.dimension_count": u32(7) } }, /wanted an even number up to/],
  ["llama", { metadata: { "rope.dimension_count": u32(64) } }, /wanted an even number up to/],
  [
    "llama",
    { metadata: { "rope.freq_base": f32(-1) } },
    /freq_base is -1, wanted a number above 0/,
  ],
  ["llama", { metadata: { "rope.scaling.type": text("su") } }, /rope scaling "su" is not known/],
  [
    "llama",
    { metadata: { "attention.layer_norm_rms_epsilon": f32(2) } },
    /epsilon is 2, wanted a number from 0 to 1/,
  ],
  ["llama", { tensors: { "token_embd.weight": undefined } }, /no tensor token_embd\.weight/],
  ["mixtral-moe", { metadata: { expert_used_count: u32(9) } }, /expert_used_count is 9, wanted/],
  ["mixtral-moe", { metadata: { expert_used_count: u32(0) } }, /expert_used_count is 0, wanted/],
  ["qwen3moe", { metadata: { expert_count: u32(0) } }, /expert_count is 0 or missing/],
  ["gpt-oss", { metadata: { "attention.sliding_window": u32(0) } }, /sliding_window is 0, wanted/],
  [
    "gpt-oss",
    { metadata: { "attention.sliding_window": { type: "int32", value: -8 } } },
    /sliding_window is -8, wanted/,
  ],
  [
    "gpt-oss",
    { tensors: { "blk.1.attn_sinks.weight": [5] } },
    /attn_sinks\.weight is \[5\], wanted \[4\]/,
  ],
  [
    "gemma3",
    { metadata: { "attention.head_count_kv": i32s(2, 2) } },
    /has 2 elements, wanted one for each of 7/,
  ],
  [
    "gemma4",
    { metadata: { "attention.head_count_kv": i32s(2, 2, 3, 2, 2, 1) } },
    /4 heads cannot share 3 KV heads/,
  ],
  [
    "gemma4",
    { metadata: { "attention.sliding_window_pattern": booleans(true) } },
    /has 1 elements, wanted one for each of 6/,
  ],
  ["gemma4-e2b", { metadata: { "attention.shared_kv_layers": u32(6) } }, /6 of 6 layers look/],
  // Both layers that see everything would look at the keys of none.
  [
    "gemma4-e2b",
    { metadata: { "attention.shared_kv_layers": u32(4) } },
    /layer 2 looks at .* no global layer/,
  ],
  [
    "gemma4-e2b",
    { metadata: { feed_forward_length: i32s(96, 96, 96, 96, 96, 96) } },
    /ffn_gate\.weight/,
  ],
  [
    "deepseek2",
    { metadata: { expert_feed_forward_length: i32s(32, 32, 16) } },
    /expert_feed_forward_length differs by layer/,
  ],
  ["deepseek2", { metadata: { expert_group_count: u32(3) } }, /8 experts do not divide into 3/],
  [
    "deepseek2",
    { metadata: { expert_group_count: u32(8), expert_group_used_count: u32(1) } },
    /1 groups of 1 experts have no 2/,
  ],
  ["deepseek2", { metadata: { expert_gating_func: u32(9) } }, /expert_gating_func 9 is not known/],
  [
    "deepseek2",
    { metadata: { "rope.dimension_count": u32(32) } },
    /all 32 values of a key are rot/,
  ],
  ["deepseek2", { metadata: { nextn_predict_layers: u32(3) } }, /3 of 3 layers predict/],
  [
    "deepseek2",
    { tensors: { "blk.0.attn_kv_b.weight": [32, 160], "blk.0.attn_k_b.weight": undefined } },
    /attn_kv_b is in one piece.*convert the model again/,
  ],
  ["llama4", { metadata: { interleave_moe_layer_step: u32(0) } }, /moe_layer_step is 0, wanted/],
  ["olmo", { metadata: { "attention.clamp_kqv": f32(8) } }, /clamp_kqv/],
  ["deci", { metadata: { "attention.head_count_kv": i32s(0, 0, 0, 0) } }, /no layer has attention/],
  [
    "deci",
    { metadata: { "attention.head_count": i32s(0, 2, 0, 2) } },
    /0 heads cannot share 1 KV heads/,
  ],
  ["qwen2", { metadata: { feed_forward_length: i32s(96, 0, 96) } }, /feed_forward_length is 0/],
  [
    "granite-swa",
    { metadata: { "attention.rope_pattern": booleans(true) } },
    /rope_pattern has 1 elements, wanted one for each of 3/,
  ],
];

testRefusals(WRONG);

Deno.test("metadata of any value gives a model or a reason, never another failure", async () => {
  const random = new Random(11);
  const values: (MetadataEntry | undefined)[] = [
    undefined,
    u32(0),
    u32(1),
    u32(3),
    u32(2 ** 32 - 1),
    f32(0.5),
    f32(-1),
    f32(NaN),
    f32(Infinity),
    text("yarn"),
    text(""),
    i32s(),
    i32s(1, 2, 3),
    booleans(true, false, true),
    { type: "bool", value: false },
    { type: "uint64", value: 2n ** 60n },
  ];
  let refused = 0;
  for (const name of GOLDEN_NAMES) {
    const gguf = await goldenHeader(name);
    const prefix = `${gguf.metadata.string("general.architecture")}.`;
    for (const key of gguf.metadata.keys()) {
      if (!key.startsWith(prefix)) continue;
      for (let i = 0; i < 4; i++) {
        const entry = values[random.below(values.length)];
        const other = changed(gguf, { metadata: { [key.slice(prefix.length)]: entry } });
        try {
          read(other);
        } catch (error) {
          assert(error instanceof M40Error, `${name}: ${key} ${entry?.value}: ${error}`);
          assertNotEquals(error.code, "internal", `${name}: ${key} ${entry?.value}: ${error}`);
          refused++;
        }
      }
    }
  }
  assert(refused > 500, `${refused}`);
});

Deno.test("an architecture that is not known is named first, with those most like it, and where all are listed", async () => {
  const gguf = changed(await goldenHeader("llama"), {
    metadata: { "general.architecture": text("qwen3mo") },
  });
  const { code, message } = assertThrows(() => architectureOf(gguf), M40Error);
  assertEquals(code, "unsupported");
  assertMatch(
    message,
    /^[^ ]*llama\.gguf: architecture "qwen3mo" is not known; the nearest that are: qwen3moe(, [^,.]+){0,2}\. docs\/models\.md/,
  );
  // Sixty names would hide the reason.
  assertEquals(/gptneox|mamba2/.test(message), false, message);
});

Deno.test("docs/models.md names every architecture that there is, and no other", async () => {
  const kvBlock = await Deno.readTextFile(new URL("../../docs/models.md", import.meta.url));
  const [table] = kvBlock.split("\n## ");
  const rows = table.split("\n").filter((line) => line.startsWith("| `"));
  const named = rows.flatMap((row) => [...row.split("|")[1].matchAll(/`([^`]+)`/g)]);
  assertEquals(named.map(([, name]) => name).sort(), architectureNames().sort());
});

Deno.test("every architecture has a golden, or is read as one that has", async () => {
  const reads = new Set<unknown>();
  for (const name of GOLDEN_NAMES) reads.add(architectureOf(await goldenHeader(name)).read);
  const llama = await goldenHeader("llama");
  const without = architectureNames().filter((name) => {
    const other = changed(llama, { metadata: { "general.architecture": text(name) } });
    return !reads.has(architectureOf(other).read);
  });
  assertEquals(without, []);
});

Deno.test("a model that lacks only its other senses runs as text and says so; other tensors are refused", async () => {
  const gguf = await goldenHeader("gemma3");
  assertEquals(read(gguf).notes, []);
  const seeing = changed(gguf, {
    tensors: { "v.blk.0.attn_q.weight": [8, 8], "mm.0.weight": [8] },
  });
  assertEquals(read(seeing).notes, ["Its vision part is not used: it runs as a model of text."]);
  const hearing = changed(seeing, { tensors: { "a.blk.0.ln.weight": [8] } });
  assertEquals(read(hearing).notes, [
    "Its vision and audio part is not used: it runs as a model of text.",
  ]);
  const scaled = changed(gguf, { tensors: { "blk.0.attn_q.input_scale": [1] } });
  assertEquals(read(scaled).notes, []);
  const strange = changed(gguf, { tensors: { "blk.0.attn_strange.weight": [8] } });
  assertMatch(
    assertThrows(() => read(strange), M40Error).message,
    /does not use: blk\.0\.attn_strange/,
  );
});

Deno.test("a file with only the language part of a model that sees says that it runs as text", async () => {
  for (const name of ["qwen2vl", "qwen3vl"]) {
    assertEquals(read(await goldenHeader(name)).notes, [
      "The model also takes pictures or sound: here it runs as a model of text.",
    ]);
  }
});

Deno.test("a layer of Deci without attention takes no room in the cache", async () => {
  const { shape, program } = read(await goldenHeader("deci"));
  assertEquals([shape.layers, program.cacheLayers.length], [4, 2]);
});

Deno.test("layers that predict further tokens are left out, and that is said", async () => {
  const gguf = changed(await goldenHeader("glm4moe"), {
    metadata: { block_count: u32(4), nextn_predict_layers: u32(1) },
    tensors: { "blk.3.nextn.eh_proj.weight": [128, 64], "blk.3.attn_norm.weight": [64] },
  });
  const { shape, notes } = read(gguf);
  assertEquals(shape.layers, 3);
  assertEquals(notes, ["Its layers that predict further tokens (2 tensors) are not used."]);
});

Deno.test("a scale next to a weight multiplies its product, one of experts each expert's; one of inputs is left", async () => {
  const scales = {
    "blk.0.attn_k.scale": [1],
    "blk.0.ffn_up_exps.scale": [8],
    "blk.0.ffn_up_exps.input_scale": [8],
  };
  const { program, notes } = read(changed(await goldenHeader("qwen3moe"), { tensors: scales }));
  assertEquals(notes, []);
  const { operations, weights } = program;
  const names = (factors: readonly number[]) =>
    factors.map((i) => i === NONE ? undefined : weights[i].tensor.name);
  const product = operations.find((operation) => operation.kind === "matmul")!;
  assertEquals(names(product.factor), [undefined, "blk.0.attn_k.scale", undefined]);
  const experts = operations.find((operation) => operation.kind === "expert_matmul")!;
  assertEquals(names(experts.factor), [undefined, "blk.0.ffn_up_exps.scale"]);
  const short = changed(await goldenHeader("qwen3moe"), {
    tensors: { "blk.0.ffn_up_exps.scale": [7] },
  });
  assertMatch(assertThrows(() => read(short), M40Error).message, /scale is \[7\], wanted \[8\]/);
});

Deno.test("one width of experts may be written for each layer", async () => {
  const gguf = changed(await goldenHeader("deepseek2"), {
    metadata: { expert_feed_forward_length: i32s(32, 32, 32) },
  });
  assertEquals(read(gguf).shape.feedForward, 32);
});

Deno.test("Phi's long factors are taken where more context is asked for than it was first trained with", async () => {
  const [short, long] = ["rope_factors_short.weight", "rope_factors_long.weight"];
  const gguf = changed(await goldenHeader("phi3"), {
    metadata: { context_length: u32(131072), "rope.scaling.original_context_length": u32(4096) },
    tensors: { [short]: [8], [long]: [8] },
  });
  const factors = (contextTokens?: number) => {
    const { operations, weights } = read(gguf, { contextTokens }).program;
    const ropes = operations.filter((operation) => operation.kind === "rope_store");
    assertEquals(ropes.length, 3);
    return new Set(ropes.map(({ factors }) => weights[factors].tensor.name));
  };
  assertEquals(factors(4096), new Set([short]));
  assertEquals(factors(4097), new Set([long]));
  assertEquals(factors(), new Set([long]), "the default is 8192 tokens");
});

Deno.test("layers that look at others' keys have no cache of their own, and windows are the layers' own", async () => {
  const { program } = read(await goldenHeader("gemma4-e2b"));
  assertEquals(sharingLayers(program), 3);
  assertEquals(program.cacheLayers.map(({ headDim, window }) => [headDim, window]), [
    [16, 8],
    [16, 8],
    [32, 0],
  ]);
  assertEquals(attentionSpans(program), [
    { window: 8, chunk: 0, layers: 4 },
    { window: 0, chunk: 0, layers: 2 },
  ]);
  const { cacheLayers } = read(await goldenHeader("deepseek2")).program;
  assertEquals(cacheLayers[0], { kvHeads: 1, headDim: 40, valueDim: 0, window: 0, chunk: 0 });
});
