import { entry } from "../../engine/gguf/entries.ts";
import type { MetadataEntry } from "../../engine/gguf/metadata.ts";
import { tensorTypeByName } from "../../engine/gguf/types.ts";
import type { GgufInput, GgufTensorInput } from "../../engine/gguf/writer.ts";
import { BlockPool, Random, RANDOM_TYPES } from "./blocks.ts";
import type { Shape, Weight } from "./shape.ts";
import { byteLevelVocabulary } from "./byte_level_vocabulary.ts";
import { madeUpVocabulary } from "./vocabulary.ts";

/** What a model can be written in, with GGUF's number of it (`general.file_type`). */
const FILE_TYPES: Readonly<Record<string, number>> = {
  F32: 0,
  F16: 1,
  BF16: 32,
  Q4_0: 2,
  Q8_0: 7,
  Q5_0: 8,
  Q4_K: 14,
  Q5_K: 16,
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
  MXFP4_MOE: 38,
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
 * A model of a shape with random weights: not a word of sense in it, but every number finite and of the
 * size that a trained model's have, and a vocabulary to serve it with.
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
    metadata: [
      ["general.architecture", entry("string", shape.architecture)],
      ["general.name", entry("string", `${shape.name} with random weights`)],
      ["general.file_type", entry("uint32", FILE_TYPES[type])],
      ["general.quantization_version", entry("uint32", 2)],
      ...shape.metadata.map(([key, value]): [string, MetadataEntry] => [
        `${shape.architecture}.${key}`,
        value,
      ]),
      ...VOCABULARIES[vocabulary](shape.vocabSize),
    ],
    tensors: tensorsOf(shape, type, new Random(seed)),
  };
}

function tensorsOf(shape: Shape, type: string, random: Random): GgufTensorInput[] {
  const pools = new Map<string, BlockPool>();
  return shape.weights.map((weight) => {
    const { name, shape: size, values = normValues } = weight;
    const typeName = weightType(weight, shape, type);
    const tensorType = tensorTypeByName(typeName)!;
    const count = size.reduce((product, n) => product * n, 1);
    const bytes = count / tensorType.blockSize * tensorType.typeSize;
    const start = random.bits();
    const data = function* () {
      if (isVector(weight)) {
        yield new Uint8Array(values(count, random).buffer);
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

/** Whether a weight's values are given, or a norm's: they are written in F32, whatever the model's type. */
function isVector({ shape, values }: Weight): boolean {
  return shape.length === 1 || values !== undefined;
}

function normValues(count: number, random: Random): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: count }, () => 1 + 0.1 * random.signed());
}

/** What llama.cpp takes where a row is no whole number of a type's blocks of 256. */
const FALLBACKS: Readonly<Record<string, string>> = { Q4_K: "Q5_0", Q6_K: "Q8_0" };

/** The type of a weight's tensor in a model written in `type`. */
export function weightType(weight: Weight, shape: Shape, type: string): string {
  if (isVector(weight)) return "F32";
  const wanted = mixedType(weight, shape, type);
  const { blockSize } = tensorTypeByName(wanted)!;
  return weight.shape[0] % blockSize === 0 ? wanted : FALLBACKS[wanted] ?? "F16";
}

function mixedType({ name, shape: size, layer }: Weight, shape: Shape, type: string): string {
  // As gpt-oss is published: its experts in MXFP4, all else in more.
  if (type === "MXFP4_MOE") return size.length === 3 ? "MXFP4" : "Q8_0";
  if (RANDOM_TYPES.includes(type)) return type;
  // Q4_K_M as llama.cpp mixes it.
  const output = name === "output.weight" || (shape.tied && name === "token_embd.weight");
  const precious = layer !== undefined &&
    /\.(attn_v|ffn_down|ffn_down_exps|ffn_down_shexp)\.weight$/.test(name) &&
    usesMoreBits(layer, shape.layers);
  if (output || precious) return "Q6_K";
  return name.endsWith(".attn_qkv.weight") ? "Q5_K" : "Q4_K";
}

/** llama.cpp's rule: the first eighth of the layers, the last eighth, and every third between. */
function usesMoreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor(7 * layers / 8) || (layer - eighth) % 3 === 2;
}
