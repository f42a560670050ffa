import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { type Gguf, type GgufTensor, readGguf } from "../../engine/gguf/reader.ts";
import { KernelLibrary } from "../../engine/device/library.ts";
import { writeGguf } from "../../engine/gguf/writer.ts";
import { loadTokenizer } from "../../engine/tokenizer/load.ts";
import { MODEL_TYPES, randomModel, weightType } from "../../tools/make_model/model.ts";
import { ropeFactors } from "../../tools/make_model/families/llama.ts";
import { SHAPES, TINY } from "../../tools/make_model/shapes.ts";
import {
  byteLevelVocabulary,
  SMALLEST_BYTE_LEVEL,
} from "../../tools/make_model/byte_level_vocabulary.ts";
import { madeUpVocabulary } from "../../tools/make_model/vocabulary.ts";
import { Metadata } from "../../engine/gguf/metadata.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

/** Blocks of 256 with eight scales and minimums: `fifth` is the highest bit of a quant, next to its nibble. */
function pairsOf6(block: DataView, nibblesAt: number, fifth: (i: number) => number): number[] {
  const d = block.getFloat16(0, true);
  const dmin = block.getFloat16(2, true);
  const byte = (i: number) => block.getUint8(4 + i);
  return Array.from({ length: 256 }, (_, i) => {
    const part = i >> 5;
    const [scale, min] = part < 4 ? [byte(part) & 63, byte(part + 4) & 63] : [
      (byte(part + 4) & 15) | ((byte(part - 4) >> 6) << 4),
      (byte(part + 4) >> 4) | ((byte(part) >> 6) << 4),
    ];
    const pair = block.getUint8(nibblesAt + (part >> 1) * 32 + i % 32);
    const quant = (part % 2 === 0 ? pair & 15 : pair >> 4) + 16 * fifth(i);
    return d * scale * quant - dmin * min;
  });
}

/** The upper half of a float. */
const HIGH = new DataView(new ArrayBuffer(4));

/** What the blocks of each type mean, in the words of the format: one block to its weights. */
const MEANINGS: Record<string, (block: DataView) => number[]> = {
  F32: (block) => [block.getFloat32(0, true)],
  F16: (block) => [block.getFloat16(0, true)],
  BF16(block) {
    HIGH.setUint16(2, block.getUint16(0, true), true);
    return [HIGH.getFloat32(0, true)];
  },
  Q4_0(block) {
    const d = block.getFloat16(0, true);
    return Array.from({ length: 32 }, (_, i) => {
      const byte = block.getUint8(2 + i % 16);
      return d * ((i < 16 ? byte & 15 : byte >> 4) - 8);
    });
  },
  Q5_0(block) {
    const d = block.getFloat16(0, true);
    const fifth = block.getUint32(2, true);
    return Array.from({ length: 32 }, (_, i) => {
      const byte = block.getUint8(6 + i % 16);
      return d * ((i < 16 ? byte & 15 : byte >> 4) + 16 * (fifth >>> i & 1) - 16);
    });
  },
  Q8_0(block) {
    const d = block.getFloat16(0, true);
    return Array.from({ length: 32 }, (_, i) => d * block.getInt8(2 + i));
  },
  Q4_K: (block) => pairsOf6(block, 16, () => 0),
  Q5_K: (block) => pairsOf6(block, 48, (i) => block.getUint8(16 + i % 32) >> (i >> 5) & 1),
  Q6_K(block) {
    const d = block.getFloat16(208, true);
    return Array.from({ length: 256 }, (_, i) => {
      const [half, quarter, at] = [i >> 7, (i >> 5) & 3, i & 31];
      const low = block.getUint8(half * 64 + (quarter & 1) * 32 + at) >> (quarter >> 1) * 4;
      const high = block.getUint8(128 + half * 32 + at) >> quarter * 2;
      const scale = block.getInt8(192 + (i >> 4));
      return d * scale * (((low & 15) | ((high & 3) << 4)) - 32);
    });
  },
};

/** The CPU library, which other tests compare with golden values, reads the types that have no meaning above. */
function weightsIn(
  file: Uint8Array<ArrayBuffer>,
  { type, shape, offset, bytes }: GgufTensor,
): number[] {
  if (!(type.name in MEANINGS)) {
    const library = KernelLibrary.find("cpu");
    const context = library.createContext({ threads: 1 });
    const [columns, rows] = shape;
    const arena = context.createArena(bytes + 4096);
    const desc = { type: type.id, n_experts: 1, rows, columns };
    const tensor = arena.upload(desc, file.subarray(offset, offset + bytes));
    const weights = Array.from(context.readTensor(tensor, 0, rows, columns));
    context.close();
    library.close();
    return weights;
  }
  const weights: number[] = [];
  for (let at = offset; at < offset + bytes; at += type.typeSize) {
    weights.push(...MEANINGS[type.name](new DataView(file.buffer, at, type.typeSize)));
  }
  return weights;
}

async function madeTiny(
  type: string,
  seed = 1,
): Promise<{ gguf: Gguf; file: Uint8Array<ArrayBuffer> }> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const path = join(folder, "tiny.gguf");
  await writeGguf(path, randomModel(SHAPES.tiny, type, seed));
  return { gguf: await readGguf(path), file: await Deno.readFile(path) };
}

for (const type of MODEL_TYPES) {
  Deno.test(`make-model: weights in ${type} are finite, not zero, and neither grow nor vanish`, async () => {
    const { gguf, file } = await madeTiny(type);
    assertEquals(gguf.tensors.size, SHAPES.tiny.weights.length);
    for (const tensor of gguf.tensors.values()) {
      const weights = weightsIn(file, tensor);
      const columns = tensor.shape[0];
      assert(weights.every(Number.isFinite), `${tensor.name} has weights that are not finite`);
      let [sum, squares] = [0, 0];
      for (const w of weights) {
        sum += w;
        squares += w * w;
      }
      const mean = sum / weights.length;
      const square = squares / weights.length;
      if (tensor.shape.length === 1) {
        assert(weights.every((w) => w >= 0.85 && w <= 1.15), `${tensor.name} is no norm`);
        continue;
      }
      // A product of a row with a vector of length-1 components is of about length 1.
      const gain = Math.sqrt(square * columns);
      assert(
        gain > 0.9 && gain < 1.1,
        `${tensor.name} (${tensor.type.name}) multiplies by ${gain}`,
      );
      assertLess(Math.abs(mean) * Math.sqrt(columns), 0.05, `${tensor.name} has the mean ${mean}`);
    }
  });
}

Deno.test("make-model: no two rows of a matrix are alike, and a seed decides the weights", async () => {
  const { gguf, file } = await madeTiny("Q4_K");
  for (const tensor of gguf.tensors.values()) {
    if (tensor.shape.length === 1) continue;
    const rowBytes = tensor.bytes / tensor.shape[1];
    const rows = new Set<string>();
    for (let row = 0; row < tensor.shape[1]; row++) {
      const at = tensor.offset + row * rowBytes;
      rows.add(file.subarray(at, at + rowBytes).join());
    }
    assertEquals(rows.size, tensor.shape[1], tensor.name);
  }
  assertEquals((await madeTiny("Q4_K")).file, file);
  assert((await madeTiny("Q4_K", 2)).file.some((byte, i) => byte !== file[i]));
});

Deno.test("make-model: Q4_K_M mixes types as llama.cpp does", () => {
  const types = (name: string) => {
    const shape = SHAPES[name];
    const counts: Record<string, number> = {};
    for (const weight of shape.weights) {
      const kind = weight.name.replace(/blk\.\d+\./, "") + " " +
        weightType(weight, shape, "Q4_K_M");
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    return counts;
  };
  const mistral = types("mistral-7b");
  assertEquals(mistral["token_embd.weight Q4_K"], 1);
  assertEquals(mistral["output.weight Q6_K"], 1);
  // 32 layers: 4 first, 4 last, and 8 between.
  assertEquals([mistral["attn_v.weight Q6_K"], mistral["attn_v.weight Q4_K"]], [16, 16]);
  assertEquals([mistral["ffn_down.weight Q6_K"], mistral["ffn_down.weight Q4_K"]], [16, 16]);
  assertEquals(mistral["attn_q.weight Q4_K"], 32);
  assertEquals(mistral["ffn_norm.weight F32"], 32);
  const fused = types("phi4-14b");
  assertEquals(fused["attn_qkv.weight Q5_K"], 40);
  // 48 layers: 6 first, 6 last, and 12 between; routers as they are.
  const experts = types("qwen3-30b-a3b");
  assertEquals(experts["ffn_down_exps.weight Q6_K"], 24);
  assertEquals(experts["ffn_gate_inp.weight F32"], 48);
  // Rows of 192 are no whole number of blocks of 256.
  assertEquals(types("glm-4.7-flash")["attn_k_b.weight Q5_0"], 47);
  const tied = types("llama-3.2-1b");
  assertEquals(tied["token_embd.weight Q6_K"], 1);
  assertEquals(tied["attn_v.weight Q6_K"], 8);
});

Deno.test("make-model: shapes have the sizes that the models of their names are known for", () => {
  const count = (name: string) =>
    SHAPES[name].weights.filter((weight) => weight.name !== "rope_freqs.weight")
      .reduce((sum, { shape }) => sum + shape.reduce((product, n) => product * n, 1), 0);
  assertEquals(count("llama-3.2-1b"), 1_235_814_400);
  assertEquals(count("mistral-7b"), 7_241_732_096);
  assertEquals(count("llama-3.1-8b"), 8_030_261_248);
  assertEquals(count("gpt-oss-20b"), 20_914_757_184);
  assertEquals(count("qwen3-30b-a3b"), 30_532_122_624);
  // Without the vision part.
  assertEquals(count("gemma3-12b"), 11_766_034_176);
  assertEquals(count("phi4-14b"), 14_659_507_200);
  // Known as 8.95 and 34.66 billion: without the vision part and the layer that predicts further tokens.
  assertEquals(count("qwen3.5-9b"), 8_953_803_264);
  assertEquals(count("qwen3.6-35b-a3b"), 34_660_610_688);
  // Where it is published its routers' biases, 128 in each of 23 layers, do not count.
  assertEquals(count("nemotron-3-nano-30b-a3b"), 31_577_937_344 + 23 * 128);
});

Deno.test("make-model: rope factors leave short waves alone, divide long ones, and rise between", () => {
  assertEquals(ropeFactors(TINY), undefined);
  const ropeScaling = { factor: 32, low: 1, high: 4, originalContext: 8192 };
  const factors = [...ropeFactors({ headDimension: 64, ropeBase: 500_000, ropeScaling })!];
  assertEquals(factors.length, 32);
  assertEquals([factors[0], factors[31]], [1, 32]);
  assert(factors.every((factor, i) => i === 0 || factor >= factors[i - 1]));
  assertGreater(factors.filter((factor) => factor > 1 && factor < 32).length, 1);
});

Deno.test("make-model: the vocabulary has the size asked for and writes any text", () => {
  for (const size of [354, 1024, 32_000, 128_256]) {
    const metadata = new Metadata(madeUpVocabulary(size));
    const tokens = metadata.strings("tokenizer.ggml.tokens");
    assertEquals(tokens.length, size);
    assertEquals(new Set(tokens).size, size);
    assertEquals(metadata.numbers("tokenizer.ggml.scores").length, size);
    const tokenizer = loadTokenizer(metadata);
    const text = "The weather is fine, isn't it? 123 {x}\n日本 🦙";
    const ids = tokenizer.encode(text, { addSpecial: false });
    assertEquals(tokenizer.decode(ids).trimStart(), text);
    assert(ids.every((id) => id < size));
    if (size >= 32_000) assertGreater(ids.filter((id) => tokens[id].length > 2).length, 3);
  }
});

Deno.test("make-model: every token of a byte-level vocabulary is a byte, merged from two before it, or special", () => {
  for (const size of [SMALLEST_BYTE_LEVEL, 1024, 32_000]) {
    const metadata = new Metadata(byteLevelVocabulary(size));
    const tokens = metadata.strings("tokenizer.ggml.tokens");
    assertEquals(tokens.length, size);
    assertEquals(new Set(tokens).size, size);
    const bytes = tokens.slice(0, 256);
    assert(bytes.every((text) => text.length === 1));
    const known = new Set(bytes);
    const merges = metadata.strings("tokenizer.ggml.merges");
    assertEquals(merges.length, size - SMALLEST_BYTE_LEVEL);
    for (const [i, merge] of merges.entries()) {
      const [left, right] = merge.split(" ");
      assert(known.has(left) && known.has(right), merge);
      assertEquals(left + right, tokens[256 + i]);
      known.add(left + right);
    }
    const tokenizer = loadTokenizer(metadata);
    const text = "The weather is fine, isn't it? 123 {x}\n日本 🦙";
    const ids = tokenizer.encode(text);
    assertEquals(tokenizer.decode(ids), text);
    if (size > 1000) assertLess(ids.length, text.length);
    const id = (text: string) => tokens.indexOf(text);
    assertEquals(tokenizer.encode("<|im_end|>", { parseSpecial: true }), [id("<|im_end|>")]);
    assert(
      tokenizer.endTokens.has(id("<|im_end|>")) && tokenizer.endTokens.has(id("<|endoftext|>")),
    );
    assertEquals(tokenizer.fim?.middle, id("<|fim_middle|>"));
    assertEquals(tokenizer.decode([id("<think>")]), "<think>");
  }
  assertThrows(() => byteLevelVocabulary(SMALLEST_BYTE_LEVEL - 1), RangeError, "266");
});

Deno.test("make-model: the command names what is known when an argument is wrong", async () => {
  const tool = fromFileUrl(new URL("../../tools/make_model.ts", import.meta.url));
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", tool, ...args],
    }).output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), err: decoder.decode(stderr) };
  };
  const shape = await run("llama-9", "Q8_0", "x.gguf");
  assertEquals(shape.code, 2);
  assertStringIncludes(shape.err, '"llama-9"');
  assertStringIncludes(shape.err, "tiny, llama-3.2-1b, mistral-7b");
  const type = await run("tiny", "Q9_Z", "x.gguf");
  assertEquals(type.code, 2);
  assertStringIncludes(type.err, '"Q9_Z"');
  assertStringIncludes(type.err, "Q4_K_M");
  const vocabulary = await run("tiny", "Q8_0", "x.gguf", "--vocabulary", "words");
  assertEquals(vocabulary.code, 2);
  assertStringIncludes(vocabulary.err, '"words"');
  assertStringIncludes(vocabulary.err, "sentencepiece, byte-level");
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const path = join(folder, "tiny.gguf");
  const good = await run("tiny", "q8_0", path);
  assertEquals(good.code, 0, good.err);
  assertStringIncludes(good.out, "30 tensors");
  assertEquals((await readGguf(path)).metadata.string("general.architecture"), "llama");
  const nowhere = await run("tiny", "F16", join(folder, "no", "such.gguf"));
  assertEquals(nowhere.code, 1);
  assertStringIncludes(nowhere.err, "could not be written");
});
