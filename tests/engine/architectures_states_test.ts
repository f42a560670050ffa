import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { M40Error } from "../../engine/errors.ts";
import type { Gguf } from "../../engine/gguf/reader.ts";
import { keptStates } from "../../engine/loading/model_info.ts";
import {
  booleans,
  changed,
  f32,
  goldenHeader,
  read,
  type Refusal,
  testRefusals,
  u32,
} from "../fixtures/changed_model.ts";

// How architectures with states read changed files.

const WRONG: readonly Refusal[] = [
  ["qwen35", { metadata: { "ssm.inner_size": u32(66) } }, /66 does not divide into 4 heads/],
  ["qwen35", { metadata: { "ssm.group_count": u32(3) } }, /4 heads do not divide into .* 3/],
  ["qwen35", { metadata: { "ssm.conv_kernel": u32(9) } }, /conv_kernel is 9, wanted 2 to 8/],
  [
    "qwen35",
    { metadata: { "attention.recurrent_layers": booleans(true) } },
    /recurrent_layers has 1 elements, wanted one for each of 4/,
  ],
  [
    "qwen35",
    {
      metadata: { "attention.value_length": u32(16) },
      tensors: { "blk.3.attn_v.weight": [64, 32] },
    },
    /a gate of 32 values, but attention gives 16/,
  ],
  [
    "qwen35",
    { tensors: { "blk.0.ssm_conv1d.weight": [128, 4] } },
    /ssm_conv1d.weight is \[128, 4\], wanted \[4, 128\]/,
  ],
  ["granitehybrid", { tensors: { "blk.0.ssm_a": [2, 4] } }, /ssm_a is \[2, 4\], wanted \[1, 8\]/],
  [
    "qwen3next",
    { tensors: { "blk.0.ssm_in.weight": [64, 192], "blk.0.attn_qkv.weight": undefined } },
    /ssm_in is in one piece.*convert the model again/,
  ],
  [
    "lfm2",
    { metadata: { "attention.causal": { type: "bool", value: false } } },
    /causal is false.*embeddings, not text/,
  ],
  ["lfm2", { metadata: { "shortconv.l_cache": u32(1) } }, /l_cache is 1, wanted 2 to 8/],
  [
    "lfm2",
    { tensors: { "token_embd_norm.weight": undefined } },
    /no tensor token_embd_norm.weight/,
  ],
];

testRefusals(WRONG);

Deno.test("a layer with a state takes no room in the cache, one of attention keeps no state", async () => {
  const { shape, program } = read(await goldenHeader("qwen35"));
  assertEquals([shape.layers, program.cacheLayers.length], [4, 1]);
  // Of each: 3 tokens of 128 columns for the convolution; 4 heads of 16 x 16.
  assertEquals(program.states, [384, 1024, 384, 1024, 384, 1024]);
  assertEquals(keptStates(program), { layers: 3, bytes: 4 * 3 * (384 + 1024) });
  const { program: convolutions } = read(await goldenHeader("lfm2"));
  assertEquals(keptStates(convolutions), { layers: 2, bytes: 4 * 2 * 2 * 64 });
});

Deno.test("layers with a state are all but the last of each interval where a file does not list them", async () => {
  const gguf = await goldenHeader("qwen35");
  const { program } = read(gguf);
  const unlisted = { "attention.recurrent_layers": undefined };
  assertEquals(read(changed(gguf, { metadata: unlisted })).program, program);
  const other = changed(gguf, { metadata: { ...unlisted, full_attention_interval: u32(2) } });
  assertMatch(assertThrows(() => read(other), M40Error).message, /tensor blk\.1\.attn_/);
});

Deno.test("a file whose layers are all of experts need not say how wide the others are", async () => {
  const gguf = await goldenHeader("qwen35moe");
  const without = changed(gguf, { metadata: { feed_forward_length: undefined } });
  assertEquals(read(without).program, read(gguf).program);
});

Deno.test("Nemotron-H's norms have the epsilon of either key", async () => {
  const gguf = await goldenHeader("nemotron_h");
  const epsilons = (of: Gguf) =>
    new Set(read(of).program.operations.flatMap((o) => o.kind === "norm" ? [o.epsilon] : []));
  assertEquals(epsilons(gguf).size, 1);
  const other = changed(gguf, {
    metadata: {
      "attention.layer_norm_epsilon": undefined,
      "attention.layer_norm_rms_epsilon": f32(0.25),
    },
  });
  assertEquals(epsilons(other), new Set([0.25]));
});

Deno.test("a layer that predicts further tokens keeps no state", async () => {
  const { shape, program } = read(await goldenHeader("qwen35-mtp"));
  assertEquals([shape.layers, program.cacheLayers.length, program.states.length], [4, 1, 6]);
});
