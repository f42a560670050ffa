import { M40Error } from "../../../engine/errors.ts";
import { arrayEntry, entry } from "../../../engine/gguf/entries.ts";
import { Metadata, type MetadataEntry } from "../../../engine/gguf/metadata.ts";
import { type Gguf, parseGguf } from "../../../engine/gguf/reader.ts";
import { tensorTypeByName } from "../../../engine/gguf/types.ts";
import { encodeHeader } from "../../../engine/gguf/writer.ts";
import type { FuzzTarget } from "../target.ts";

/** Where a file of the seeds' tensors ends; what lies behind the header is never read. */
const FILE_BYTES = 2 ** 20;

function seed(entries: readonly (readonly [string, MetadataEntry])[], tensors: number): Uint8Array {
  const type = tensorTypeByName("Q8_0")!;
  const inputs = Array.from({ length: tensors }, (_, i) => ({
    name: `blk.${i}.attn_q.weight`,
    type,
    shape: [32, i + 1],
    data: new Uint8Array(),
  }));
  return encodeHeader(new Metadata(entries), inputs, 32);
}

/** Headers of GGUF files: metadata of every type, and tables of tensors. */
export const GGUF_HEADER: FuzzTarget = {
  name: "gguf-header",
  within: ["/engine/gguf/"],
  dictionary: [
    "GGUF",
    "general.alignment",
    "general.architecture",
    "llama",
    "split.count",
    "split.no",
  ],
  maxBytes: 16 * 1024,
  seeds: () => [
    seed([["general.architecture", entry("string", "llama")]], 2),
    seed([
      ["general.alignment", entry("uint32", 64)],
      ["a.u8", entry("uint8", 1)],
      ["a.i64", entry("int64", -1n)],
      ["a.f64", entry("float64", 0.5)],
      ["a.bool", entry("bool", true)],
      ["a.texts", arrayEntry("string", ["a", "", "ab"])],
      ["a.numbers", arrayEntry("float32", [1, 2, 3])],
      ["split.count", entry("uint16", 2)],
      ["split.no", entry("uint16", 0)],
    ], 3),
  ],
  run(input) {
    const source = {
      size: Math.max(FILE_BYTES, input.length),
      read(offset: number, into: Uint8Array): number {
        const piece = input.subarray(offset, offset + into.length);
        into.set(piece);
        into.fill(0, piece.length);
        return Math.min(into.length, this.size - offset);
      },
    };
    let gguf: Gguf;
    try {
      gguf = parseGguf(source, "fuzzed.gguf");
    } catch (error) {
      if (!(error instanceof M40Error) || error.code !== "invalid_model") throw error;
      return;
    }
    for (const [name, { offset, bytes }] of gguf.tensors) {
      if (!(offset >= gguf.dataOffset && bytes >= 0 && offset + bytes <= source.size)) {
        throw new Error(`tensor ${name} was taken, which lies outside of the file`);
      }
    }
  },
};
