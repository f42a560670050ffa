/**
 * Cuts a GGUF file into parts, as tools for GGUF do.
 *
 * @module
 */
import { join } from "@std/path";
import type { MetadataEntry } from "../engine/gguf/metadata.ts";
import { joinFileName } from "../engine/gguf/part_names.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { type GgufTensorInput, writeGguf } from "../engine/gguf/writer.ts";

/** How {@link splitModel} cuts. */
export interface Cut {
  readonly parts: number;
  /** The first part has the metadata only. */
  readonly emptyFirst?: boolean;
  /** Changes what a part says, numbered from 1. */
  readonly change?: (part: number, metadata: Map<string, MetadataEntry>) => void;
}

/** Writes the parts of the model at `path`, `STEM-00001-of-00003.gguf` and so on; returns their paths. */
export async function splitModel(
  path: string,
  folder: string,
  stem: string,
  { parts, emptyFirst = false, change = () => {} }: Cut,
): Promise<string[]> {
  const gguf = await readGguf(path);
  const bytes = await Deno.readFile(path);
  const tensors = [...gguf.tensors.values()].map(
    ({ name, type, shape, offset, bytes: length }): GgufTensorInput => ({
      name,
      type,
      shape,
      data: bytes.subarray(offset, offset + length),
    }),
  );
  const first = emptyFirst ? 2 : 1;
  const each = Math.ceil(tensors.length / (parts - first + 1));
  const paths: string[] = [];
  for (let number = 1; number <= parts; number++) {
    const metadata = new Map(number === 1 ? gguf.metadata.entries() : []);
    metadata.set("split.no", { type: "uint16", value: number - 1 });
    metadata.set("split.count", { type: "uint16", value: parts });
    metadata.set("split.tensors.count", { type: "int32", value: tensors.length });
    change(number, metadata);
    const at = (number - first) * each;
    const to = join(folder, joinFileName(stem, { number, count: parts }));
    await writeGguf(to, { metadata, tensors: at < 0 ? [] : tensors.slice(at, at + each) });
    paths.push(to);
  }
  return paths;
}
