/**
 * A model whose products are large enough for their rows to be split over devices.
 *
 * @module
 */
import { join } from "@std/path";
import { writeGguf } from "../engine/gguf/writer.ts";
import { llamaShape } from "../tools/make_model/families/llama.ts";
import { randomModel } from "../tools/make_model/model.ts";

/** Tokens of its context. */
export const LARGE_CONTEXT = 1024;

/** Its file in a folder; returns its path. */
export async function writeLargeProductsModel(folder: string): Promise<string> {
  const shape = llamaShape({
    name: "large-products",
    ...{ hiddenSize: 512, layers: 2, heads: 8, kvHeads: 4, headDimension: 64, feedForward: 1024 },
    ...{ vocabSize: 1000, contextLength: LARGE_CONTEXT, ropeBase: 10_000, tied: false },
  });
  const path = join(folder, "large-products.gguf");
  await writeGguf(path, randomModel(shape, "F16", 1));
  return path;
}
