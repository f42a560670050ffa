import { auditMetadata } from "../gguf/audit/mod.ts";
import type { Gguf } from "../gguf/reader.ts";
import { architectureOf } from "./architecture.ts";
import type { Model, ReadOptions } from "./model.ts";

/**
 * What a file holds, and what of its metadata was not understood.
 *
 * @throws {M40Error} As {@link Architecture.read} does; "unsupported" also for an architecture that is not known, and for
 * metadata that nobody reads though it changes what the model computes.
 */
export function readModel(gguf: Gguf, options?: ReadOptions): Model {
  const model = architectureOf(gguf).read(gguf, options);
  return { ...model, warnings: [...model.warnings, ...auditMetadata(gguf, "layers")] };
}
