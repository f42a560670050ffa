import type { Gguf } from "../gguf/mod.ts";
import type { Program } from "../program/mod.ts";

/** The context that a model should have at least, if it was trained for as much. */
const USUAL_CONTEXT = 8192;

/** The numbers of a model that the engine needs whatever its architecture, and that people ask for. */
export interface ModelShape {
  readonly layers: number;
  readonly hiddenSize: number;
  /** Where layers differ in this and the next three, the largest of them. */
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Width of the feed-forward layer; of one expert, where there are experts. */
  readonly feedForward: number;
  readonly vocabSize: number;
  /** Tokens of context that the model was trained for. */
  readonly contextLength: number;
  /** Where there are experts: how many, and how many of them a token has. */
  readonly experts?: { readonly count: number; readonly used: number };
}

/** What a file holds. */
export interface Model {
  readonly shape: ModelShape;
  readonly program: Program;
  /** Sentences for people: what of the file is not used, for example. */
  readonly notes: readonly string[];
  /** Sentences about what of the file is not right, and what is done instead. */
  readonly warnings: readonly string[];
}

/** How a model will be served, as far as its program depends on it. */
export interface ReadOptions {
  /** Tokens of context that are asked for; absent: as many as the model was trained for and memory allows. */
  readonly contextTokens?: number;
}

/** A family of models: reads the metadata, names the weights, emits the program. */
export interface Architecture {
  /** As in `general.architecture`. */
  readonly name: string;
  /**
   * @throws {M40Error} "invalid_model" where metadata or tensors are missing or do not fit together;
   * "unsupported" where the file is right but has what the engine lacks.
   */
  read(gguf: Gguf, options?: ReadOptions): Model;
}

/**
 * Tokens of context that a model should have room for: those that are asked for, else 8192 or what it was trained for, if
 * that is less. Where none are asked for, memory may allow for more, up to what it was trained for, or for fewer.
 */
export function wantedContext(
  { contextLength }: Pick<ModelShape, "contextLength">,
  asked?: number,
): number {
  return asked ?? Math.min(contextLength, USUAL_CONTEXT);
}
