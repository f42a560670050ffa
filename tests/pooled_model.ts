/**
 * The small model with another `pooling_type`, for tests of embeddings.
 *
 * @module
 */
import type { MetadataEntry } from "../engine/gguf/metadata.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { writeGguf } from "../engine/gguf/writer.ts";
import { u32 } from "./changed_model.ts";
import { GOLDEN } from "./engine_fixture.ts";

/** Does work with the path of a copy of the small model whose file says how it is pooled. */
export async function withPooling<T>(type: number, work: (path: string) => Promise<T>): Promise<T> {
  const path = await Deno.makeTempFile({ suffix: ".gguf" });
  try {
    const { metadata, tensors } = await readGguf(GOLDEN);
    const file = await Deno.readFile(GOLDEN);
    const entries = new Map<string, MetadataEntry>(metadata.entries());
    entries.set("llama.pooling_type", u32(type));
    await writeGguf(path, {
      metadata: entries,
      tensors: [...tensors.values()].map(({ name, type, shape, offset, bytes }) => ({
        name,
        type,
        shape,
        data: file.subarray(offset, offset + bytes),
      })),
    });
    return await work(path);
  } finally {
    await Deno.remove(path);
  }
}
