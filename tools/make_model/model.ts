import { entry } from "../../engine/gguf/entries.ts";
import type { MetadataEntry } from "../../engine/gguf/metadata.ts";
import { tensorTypeByName } from "../../engine/gguf/types.ts";
import type { GgufInput, GgufTensorInput } from "../../engine/gguf/writer.ts";
import { BlockPool, Random, RANDOM_TYPES } from "./blocks.ts";
import { ropeFactors, type Shape, type Weight, weightsOf } from "./shapes.ts";
import { byteLevelVocabulary } from "./byte_level_vocabulary.ts";
import { madeUpVocabulary } from "./vocabulary.ts";

/** What a model can be written in, with GGUF's number of it (`general.file_type`). */
const FILE_TYPES: Readonly<Record<string, number>> = {
  F32: 0,
  F16: 1,
  BF16: 32,
  Q4_0: 2,
  Q8_0: 7,
  Q4_K: 14,
  Q6_K: 18,
  IQ1_S: 24,
  IQ1_M: 31,
  IQ2_XXS: 19,
  IQ2_XS: 20,
  IQ2_S: 28,
  IQ3_XXS: 23,
  IQ3_S: 26,
  TQ1_0: 36,
  TQ2_0: 37,
  MXFP4: 38,
  NVFP4: 39,
  Q4_K_M: 15,
};

/** The vocabularies that a model can have, by name: its metadata for a number of tokens. */
const VOCABULARIES = {
  "sentencepiece": madeUpVocabulary,
  "byte-level": byteLevelVocabulary,
} as const;

/** The name of a vocabulary that a model can have. */
export type VocabularyName = keyof typeof VOCABULARIES;

export const VOCABULARY_NAMES = Object.keys(VOCABULARIES) as readonly VocabularyName[];

/** The names of the types that a model can be written in: one for all matrices, or a mixture. */
export const MODEL_TYPES: readonly string[] = Object.keys(FILE_TYPES);

/**
 * A Llama model of a shape with random weights: not a word of sense in it, but every number finite and
 * of the size that a trained model's have, and a vocabulary to serve it with.
 *
 * @param type One of {@link MODEL_TYPES}.
 */
export function randomModel(
  shape: Shape,
  type: string,
  seed: number,
  vocabulary: VocabularyName = "sentencepiece",
): GgufInput {
  return {
    metadata: [...metadataOf(shape, type), ...VOCABULARIES[vocabulary](shape.vocabSize)],
    tensors: tensorsOf(shape, type, new Random(seed)),
  };
}

function metadataOf(shape: Shape, type: string): [string, MetadataEntry][] {
  return [
    ["general.architecture", entry("string", "llama")],
    ["general.name", entry("string", `${shape.name} with random weights`)],
    ["general.file_type", entry("uint32", FILE_TYPES[type])],
    ["general.quantization_version", entry("uint32", 2)],
    ["llama.block_count", entry("uint32", shape.layers)],
    ["llama.context_length", entry("uint32", shape.contextLength)],
    ["llama.embedding_length", entry("uint32", shape.hiddenSize)],
    ["llama.feed_forward_length", entry("uint32", shape.feedForward)],
    ["llama.attention.head_count", entry("uint32", shape.heads)],
    ["llama.attention.head_count_kv", entry("uint32", shape.kvHeads)],
    ["llama.attention.key_length", entry("uint32", shape.headDimension)],
    ["llama.attention.value_length", entry("uint32", shape.headDimension)],
    ["llama.attention.layer_norm_rms_epsilon", entry("float32", 1e-5)],
    ["llama.rope.freq_base", entry("float32", shape.ropeBase)],
    ["llama.rope.dimension_count", entry("uint32", shape.headDimension)],
    ["llama.vocab_size", entry("uint32", shape.vocabSize)],
  ];
}

function tensorsOf(shape: Shape, type: string, random: Random): GgufTensorInput[] {
  const pools = new Map<string, BlockPool>();
  return weightsOf(shape).map((weight) => {
    const { name, shape: size } = weight;
    const typeName = weightType(weight, shape, type);
    const tensorType = tensorTypeByName(typeName)!;
    const bytes = size.reduce((product, n) => product * n, 1) / tensorType.blockSize *
      tensorType.typeSize;
    const start = random.bits();
    const data = function* () {
      if (name === "rope_freqs.weight") {
        yield new Uint8Array(ropeFactors(shape)!.buffer);
      } else if (size.length === 1) {
        const norm = Float32Array.from({ length: size[0] }, () => 1 + 0.1 * random.signed());
        yield new Uint8Array(norm.buffer);
      } else {
        // Products with such a matrix are as large as what went in.
        const key = `${typeName} ${size[0]}`;
        const pool = pools.get(key) ??
          new BlockPool(tensorType, 1 / Math.sqrt(size[0]), shape.vocabSize, random);
        pools.set(key, pool);
        yield* pool.read(bytes, start);
      }
    };
    return { name, type: tensorType, shape: size, data };
  });
}

/** The type of a weight's tensor in a model written in `type`. */
export function weightType({ name, shape: size, layer }: Weight, shape: Shape, type: string) {
  if (size.length === 1) return "F32";
  if (RANDOM_TYPES.includes(type)) return type;
  // Q4_K_M as llama.cpp mixes it.
  const output = name === "output.weight" || (shape.tied && name === "token_embd.weight");
  const precious = layer !== undefined && /\.(attn_v|ffn_down)\.weight$/.test(name) &&
    usesMoreBits(layer, shape.layers);
  return output || precious ? "Q6_K" : "Q4_K";
}

/** llama.cpp's rule: the first eighth of the layers, the last eighth, and every third between. */
function usesMoreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor(7 * layers / 8) || (layer - eighth) % 3 === 2;
}
