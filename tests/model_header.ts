import { Metadata, type MetadataEntry } from "../engine/gguf/metadata.ts";
import type { Gguf } from "../engine/gguf/reader.ts";
import { tensorBytes } from "../engine/gguf/types.ts";
import { randomModel } from "../tools/make_model/model.ts";
import { SHAPES } from "../tools/make_model/shapes.ts";

/** A model's header without its file: what a plan is made from. */
export function headerOf(shape: string, type: string): Gguf {
  const { metadata, tensors } = randomModel(SHAPES[shape], type, 1);
  return {
    path: `${shape}.gguf`,
    files: [{ path: `${shape}.gguf`, bytes: 0 }],
    version: 3,
    metadata: new Metadata(metadata as Iterable<readonly [string, MetadataEntry]>),
    tensors: new Map(tensors.map(({ name, type, shape }) => {
      const bytes = tensorBytes(type, shape.reduce((product, n) => product * n, 1));
      return [name, { name, type, shape: [...shape], file: 0, offset: 0, bytes }];
    })),
    alignment: 32,
    dataOffset: 0,
    fileBytes: 0,
  };
}
