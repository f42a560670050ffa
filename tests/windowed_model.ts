/**
 * A small model with layers that attend to a window, in a context that is many windows long.
 *
 * @module
 */
import { join } from "@std/path";
import type { MetadataEntry } from "../engine/gguf/metadata.ts";
import { readGguf } from "../engine/gguf/reader.ts";
import { writeGguf } from "../engine/gguf/writer.ts";

/** Positions that a token sees in layers with a window. */
export const WINDOW = 40;
/** Tokens of the context. */
export const CONTEXT = 1024;

/**
 * The golden model of a name with another context, and another window where it has one, as a file in a folder;
 * returns its path.
 */
export async function writeWindowedModel(
  folder: string,
  name = "gemma2",
  context = CONTEXT,
): Promise<string> {
  const golden = new URL(`data/golden/${name}.gguf`, import.meta.url).pathname;
  const { metadata, tensors } = await readGguf(golden);
  const file = await Deno.readFile(golden);
  const entries = new Map<string, MetadataEntry>(metadata.entries());
  const prefix = metadata.string("general.architecture");
  const change = (key: string, value: number) =>
    entries.set(key, { ...entries.get(key)!, value } as MetadataEntry);
  change(`${prefix}.context_length`, context);
  const window = `${prefix}.attention.sliding_window`;
  if (entries.has(window)) change(window, WINDOW);
  const path = join(folder, `${name}.gguf`);
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
