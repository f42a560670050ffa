import type { ModelRecord } from "../record.ts";

/** A model in another program's cache: used where it is, and never changed. */
export interface ForeignModel {
  readonly origin: "ollama" | "hugging-face";
  /** What it is called, unless another model is: the first of these that is free. */
  readonly names: readonly string[];
  /** What else finds it: `mistral` is `mistral:latest`. */
  readonly alias?: string;
  /** Its name where all of {@link names} are taken. */
  readonly longName: string;
  /** Paths in order. */
  readonly files: readonly string[];
  readonly fileBytes: number;
  /** The quantisation that its file's name says. */
  readonly quantisation?: string;
  /** Why it cannot be used, without a full stop. */
  readonly problem?: string;
  /** Reads what the cache knows of it in addition to its files; `warn` gets what cannot be read. */
  readonly record: (warn: (problem: string) => void) => Promise<ModelRecord>;
}
