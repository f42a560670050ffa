import type { Gguf } from "../gguf/reader.ts";
import type { Program } from "../program/program.ts";

/** The numbers of a model that the engine needs whatever its architecture. */
export interface ModelShape {
  readonly layers: number;
  readonly hiddenSize: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  /** Width of the feed-forward layer; of one expert, where there are experts. */
  readonly feedForward: number;
  readonly vocabSize: number;
  /** Tokens of context that the model was trained for. */
  readonly contextLength: number;
}

/** A family of models: reads the metadata, names the weights, emits the program. */
export interface Architecture {
  /** As in `general.architecture`. */
  readonly name: string;
  /**
   * @throws {M40Error} "invalid_model" where metadata or tensors are missing or do not fit together.
   */
  read(gguf: Gguf): { readonly shape: ModelShape; readonly program: Program };
}
