import { M40Error } from "../errors.ts";
import type { Gguf } from "../gguf/reader.ts";
import type { ProgramSource } from "../program/builder.ts";
import { llama } from "./llama.ts";

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
  read(gguf: Gguf): { readonly shape: ModelShape; readonly program: ProgramSource };
}

const ARCHITECTURES: readonly Architecture[] = [llama];

/** The names of the architectures that the engine knows. */
export function architectureNames(): string[] {
  return ARCHITECTURES.map((architecture) => architecture.name);
}

/**
 * The architecture of a file.
 *
 * @throws {M40Error} "unsupported" where the engine does not know it; "invalid_model" where the file
 * does not say.
 */
export function architectureOf(gguf: Gguf): Architecture {
  const name = gguf.metadata.string("general.architecture");
  const found = ARCHITECTURES.find((architecture) => architecture.name === name);
  if (found === undefined) {
    throw new M40Error(
      "unsupported",
      `${gguf.path}: architecture ${JSON.stringify(name)} is not known; ` +
        `known: ${architectureNames().join(", ")}`,
    );
  }
  return found;
}
