/**
 * A small model with a byte-level BPE vocabulary, a ChatML template, and tokens for fill-in-the-middle.
 *
 * @module
 */
import type { MetadataEntry } from "../engine/gguf/metadata.ts";
import { writeGguf } from "../engine/gguf/writer.ts";
import { randomModel } from "../tools/make_model/model.ts";
import { llamaShape } from "../tools/make_model/families/llama.ts";
import { TINY } from "../tools/make_model/shapes.ts";

/** Two layers, and a vocabulary of 1024 tokens. */
const SHAPE = llamaShape({
  ...TINY,
  name: "byte-level",
  hiddenSize: 128,
  layers: 2,
  heads: 2,
  kvHeads: 1,
  feedForward: 256,
  contextLength: 2048,
});

/** A key of the metadata, and its value. */
type Entry = readonly [string, MetadataEntry];

/** A model in a file of its own; disposing it removes the file. */
export interface ModelFile extends Disposable {
  readonly path: string;
}

/**
 * Writes the model, whose weights are random, the same for the same seed: what it generates means
 * nothing, and ends by chance.
 *
 * @param more Metadata beside what such a model has.
 */
export async function byteLevelModel(
  seed = 1,
  more: readonly Entry[] = [],
): Promise<ModelFile> {
  const path = await Deno.makeTempFile({ suffix: ".gguf" });
  const { metadata, tensors } = randomModel(SHAPE, "F32", seed, "byte-level");
  await writeGguf(path, { metadata: [...metadata as Iterable<Entry>, ...more], tensors });
  return { path, [Symbol.dispose]: () => Deno.removeSync(path) };
}
