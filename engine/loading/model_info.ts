import { basename } from "@std/path";
import type { Gguf } from "../gguf/mod.ts";
import { type Model, type ModelShape, poolingType } from "../models/mod.ts";
import type { Program } from "../program/mod.ts";

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
  /** How embeddings are made of its hidden states, as its file says: see {@link poolingOf}. */
  readonly poolingType?: number;
}

/** How far back layers of a model attend. */
export interface AttentionSpan {
  readonly layers: number;
  /** Tokens that are seen, the own one included; 0: all. */
  readonly window: number;
  /** Tokens: those from the last multiple of it on are seen; 0: all. */
  readonly chunk: number;
}

/** The spans of a model's layers, those of the first layers first. */
export function attentionSpans({ operations }: Program): AttentionSpan[] {
  const spans = new Map<string, AttentionSpan>();
  for (const operation of operations) {
    if (operation.kind !== "attention") continue;
    const { window, chunk } = operation;
    const key = `${window} ${chunk}`;
    spans.set(key, { window, chunk, layers: (spans.get(key)?.layers ?? 0) + 1 });
  }
  return [...spans.values()];
}

/** Layers of a model that look at the keys and values of another. */
export function sharingLayers({ operations }: Program): number {
  const layers = operations.filter((operation) => operation.kind === "attention")
    .map(({ layer }) => layer);
  return layers.length - new Set(layers).size;
}

/** What a model keeps of a sequence however long it is: in how many of its layers, and how many bytes. */
export function keptStates({ operations, states }: Program): { layers: number; bytes: number } {
  const count = (...kinds: string[]) =>
    operations.filter(({ kind }) => kinds.includes(kind)).length;
  return {
    // A convolution before another operation with a state is of the same layer.
    layers: count("delta_rule", "selective_scan") || count("conv"),
    bytes: states.reduce((sum, values) => sum + values, 0) * Float32Array.BYTES_PER_ELEMENT,
  };
}

/** Bytes and weights of a file's tensors by their type, the largest first. */
export function sizesByType(gguf: Gguf) {
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
    poolingType: poolingType(gguf),
    chatTemplate: typeof template === "string" ? template : undefined,
    notes,
    ...shape,
  };
}
