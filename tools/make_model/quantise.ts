import { readGguf } from "../../engine/gguf/reader.ts";
import { tensorTypeByName } from "../../engine/gguf/types.ts";
import { type GgufTensorInput, writeGguf } from "../../engine/gguf/writer.ts";

const BLOCK = 32;
/** The types of matrices that are quantised. */
const READ = ["F32", "F16", "Q8_0"];

/**
 * Writes a small model again with its matrices of F32, F16 and Q8_0 in Q4_0, where their rows are whole blocks; the other
 * tensors stay as they are. The file is read whole.
 *
 * @throws {M40Error} As reading and writing do.
 */
export async function writeQuantised(from: string, to: string): Promise<void> {
  const gguf = await readGguf(from, { asWritten: true });
  const file = await Deno.readFile(from);
  const tensors = [...gguf.tensors.values()].map(({ name, type, shape, offset, bytes }) => {
    const tensor = { name, type, shape, data: file.slice(offset, offset + bytes) };
    const isMatrix = shape.length > 1 && shape[0] % BLOCK === 0;
    return isMatrix && READ.includes(type.name) ? quantised(tensor) : tensor;
  });
  await writeGguf(to, { metadata: gguf.metadata, tensors });
}

type Tensor = GgufTensorInput & { readonly data: Uint8Array<ArrayBuffer> };

function quantised(tensor: Tensor): GgufTensorInput {
  const values = valuesOf(tensor);
  const blocks = values.length / BLOCK;
  const data = new Uint8Array(18 * blocks);
  for (let b = 0; b < blocks; b++) {
    quantiseBlock(values.subarray(b * BLOCK, (b + 1) * BLOCK), data.subarray(18 * b, 18 * b + 18));
  }
  return { ...tensor, type: tensorTypeByName("Q4_0")!, data };
}

/** The value that is furthest from 0 becomes -8 times the scale. */
function quantiseBlock(values: Float32Array, block: Uint8Array): void {
  const furthest = values.reduce((a, b) => Math.abs(b) > Math.abs(a) ? b : a);
  const scale = new Float16Array([furthest / -8]);
  block.set(new Uint8Array(scale.buffer));
  const quants = Array.from(
    values,
    (value) => scale[0] === 0 ? 8 : Math.min(15, Math.max(0, Math.round(value / scale[0]) + 8)),
  );
  for (let i = 0; i < 16; i++) block[2 + i] = quants[i] | quants[i + 16] << 4;
}

function valuesOf({ name, type, data }: Tensor): Float32Array {
  switch (type.name) {
    case "F32":
      return new Float32Array(data.buffer);
    case "F16":
      return Float32Array.from(new Float16Array(data.buffer));
    case "Q8_0": {
      const values = new Float32Array(data.length / 34 * BLOCK);
      const integers = new Int8Array(data.buffer);
      for (let b = 0; b < data.length / 34; b++) {
        const scale = new Float16Array(data.slice(34 * b, 34 * b + 2).buffer)[0];
        for (let i = 0; i < BLOCK; i++) values[BLOCK * b + i] = scale * integers[34 * b + 2 + i];
      }
      return values;
    }
  }
  throw new Error(`${name} is ${type.name}: wanted ${READ}`);
}
