import type { ModelRecord } from "./record.ts";

/**
 * Where a model was found: it comes with the program, lies in the models directory, at a path, or in another program's
 * cache.
 */
export type ModelOrigin = "built-in" | "store" | "path" | "ollama" | "hugging-face";

/** A model that can be named. */
export interface StoredModel {
  readonly name: string;
  /**
   * The GGUF file, or the first of several. Of the built-in model in the executable, a path that only TypeScript can
   * read.
   */
  readonly path: string;
  /** All of its files that are there, in order. */
  readonly files: readonly string[];
  /** Bytes of all files. */
  readonly fileBytes: number;
  /** Whether it comes with the program. */
  readonly builtIn: boolean;
  readonly origin: ModelOrigin;
  /** What is known of it in addition to its file. {@link listModels} leaves it out, as it takes reading. */
  readonly record?: ModelRecord;
  /** Why its record is not used. */
  readonly recordProblem?: string;
}
