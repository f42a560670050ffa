/**
 * A small model with layers that attend to a window, in a context that is many windows long.
 *
 * @module
 */
import { join } from "@std/path";
import type { MetadataEntry } from "../engine/gguf/metadata.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { writeGguf } from "../engine/gguf/writer.ts";

const GOLDEN = new URL("data/golden/gemma2.gguf", import.meta.url).pathname;

/** Positions that a token sees in the first and the third of the three layers. */
export const WINDOW = 40;
/** Tokens of its context. */
export const CONTEXT = 1024;

/** Gemma 2's golden with another window and context, as a file in a folder. */
export async function writeWindowedModel(folder: string): Promise<string> {
  const { metadata, tensors } = await readGguf(GOLDEN);
  const file = await Deno.readFile(GOLDEN);
  const entries = new Map<string, MetadataEntry>(metadata.entries());
  const change = (key: string, value: number) =>
    entries.set(key, { ...entries.get(key)!, value } as MetadataEntry);
  change("gemma2.context_length", CONTEXT);
  change("gemma2.attention.sliding_window", WINDOW);
  const path = join(folder, "windowed.gguf");
  await writeGguf(path, {
    metadata: entries,
    tensors: [...tensors.values()].map(({ name, type, shape, offset, bytes }) => ({
      name,
      type,
      shape,
      data: file.subarray(offset, offset + bytes),
    })),
  });
  return path;
}
