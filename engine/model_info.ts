import { basename } from "@std/path";
import type { Gguf } from "./gguf/reader.ts";
import type { Model, ModelShape } from "./models/model.ts";

/** What a model is, for people. */
export interface ModelInfo extends ModelShape {
  readonly name: string;
  readonly path: string;
  readonly architecture: string;
  /** How many weights it has. */
  readonly parameters: number;
  /** The tensor type that most of its weights have. */
  readonly quantisation: string;
  readonly fileBytes: number;
  /** Sentences for people: what of the file is not used, for example. */
  readonly notes: readonly string[];
  /** The template of its conversations (Jinja), where it has one. */
  readonly chatTemplate?: string;
}

/** Bytes and weights of a file's tensors by their type, the largest first. */
export function sizesByType(
  gguf: Gguf,
): { type: string; tensors: number; weights: number; bytes: number }[] {
  const sizes = new Map<
    string,
    { type: string; tensors: number; weights: number; bytes: number }
  >();
  for (const { type, shape, bytes } of gguf.tensors.values()) {
    const size = sizes.get(type.name) ?? { type: type.name, tensors: 0, weights: 0, bytes: 0 };
    size.tensors++;
    size.weights += shape.reduce((product, n) => product * n, 1);
    size.bytes += bytes;
    sizes.set(type.name, size);
  }
  return [...sizes.values()].sort((a, b) => b.bytes - a.bytes);
}

/** Describes a model out of its file's header. */
export function describeModel(gguf: Gguf, { shape, notes }: Model, name?: string): ModelInfo {
  const { metadata } = gguf;
  const sizes = sizesByType(gguf);
  const template = metadata.get("tokenizer.chat_template");
  return {
    name: name ?? metadata.string("general.name", basename(gguf.path, ".gguf")),
    path: gguf.path,
    architecture: metadata.string("general.architecture"),
    parameters: sizes.reduce((sum, { weights }) => sum + weights, 0),
    quantisation: sizes.toSorted((a, b) => b.weights - a.weights)[0]?.type ?? "none",
    fileBytes: gguf.fileBytes,
    chatTemplate: typeof template === "string" ? template : undefined,
    notes,
    ...shape,
  };
}
