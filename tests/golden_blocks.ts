/**
 * Blocks of every tensor type with the values that they stand for, and the instruction sets to try them on.
 *
 * @module
 */
import { M40Error } from "../engine/errors.ts";
import { BACKEND, Random, TestDevice } from "./device_harness.ts";

/** Some blocks of a tensor type, and their values. */
export interface GoldenBlocks {
  /** The type's name in GGUF. */
  readonly type: string;
  /** Its id in GGUF. */
  readonly id: number;
  /** Weights a block. */
  readonly blockSize: number;
  /** Bytes a block. */
  readonly typeSize: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly values: Float32Array<ArrayBuffer>;
}

interface DequantFile {
  vectors: {
    type: string;
    id: number;
    block_size: number;
    type_size: number;
    bytes: string;
    values: number[];
  }[];
}

async function vectorsOf(name: string): Promise<DequantFile["vectors"]> {
  const url = new URL(`data/golden/${name}`, import.meta.url);
  return (JSON.parse(await Deno.readTextFile(url)) as DequantFile).vectors;
}

const floats = Float32Array.of(0, -0, 1, -1.5, 3.4e38, -1e-45, 1.17549435e-38, Math.PI);

/** One entry a tensor type: those of the files, and F32, which stands for itself. */
export const GOLDEN_BLOCKS: readonly GoldenBlocks[] = [
  ...[...await vectorsOf("dequant.json"), ...await vectorsOf("dequant-rare.json")].map((
    { type, id, block_size, type_size, bytes, values },
  ) => ({
    type,
    id,
    blockSize: block_size,
    typeSize: type_size,
    bytes: Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0)),
    values: Float32Array.from(values),
  })),
  {
    type: "F32",
    id: 0,
    blockSize: 1,
    typeSize: 4,
    bytes: new Uint8Array(floats.buffer),
    values: floats,
  },
];

/** The same, for products, which have to stay finite: F32's values are others there. */
export const FACTOR_BLOCKS: readonly GoldenBlocks[] = GOLDEN_BLOCKS.map((blocks) => {
  if (blocks.type !== "F32") return blocks;
  const values = new Random(1).floats(1024);
  return { ...blocks, values, bytes: new Uint8Array(values.buffer) };
});

/** The blocks of a type by its name. */
export function blocksOf(name: string): GoldenBlocks {
  return FACTOR_BLOCKS.find(({ type }) => type === name)!;
}

/**
 * The instruction sets of the CPU library that this processor has, and those that it lacks. Other libraries
 * do not ask for one: their own name stands for it.
 */
export function instructionSets(): { present: string[]; absent: string[] } {
  if (BACKEND !== "cpu") return { present: [BACKEND], absent: [] };
  const present: string[] = [];
  const absent: string[] = [];
  for (const instructionSet of ["baseline", "avx", "avx2", "avx512"]) {
    try {
      new TestDevice({ instructionSet, arenaBytes: 4096 }).close();
      present.push(instructionSet);
    } catch (error) {
      if (!(error instanceof M40Error && error.code === "unsupported")) throw error;
      absent.push(instructionSet);
    }
  }
  return { present, absent };
}

/** A matrix put together at random from a type's blocks: its bytes, and its values [rows, columns]. */
export function matrixOf(
  blocks: GoldenBlocks,
  rows: number,
  columns: number,
  random: Random,
): { bytes: Uint8Array<ArrayBuffer>; values: Float32Array<ArrayBuffer> } {
  const { blockSize, typeSize } = blocks;
  const count = blocks.values.length / blockSize;
  const bytes = new Uint8Array(rows * columns / blockSize * typeSize);
  const values = new Float32Array(rows * columns);
  for (let i = 0; i < rows * columns / blockSize; i++) {
    const block = random.below(count);
    bytes.set(blocks.bytes.subarray(block * typeSize, (block + 1) * typeSize), i * typeSize);
    values.set(blocks.values.subarray(block * blockSize, (block + 1) * blockSize), i * blockSize);
  }
  return { bytes, values };
}
