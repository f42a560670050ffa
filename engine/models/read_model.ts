import { auditMetadata, type AuditOptions, type Gguf, unknownKeysWarning } from "../gguf/mod.ts";
import { architectureOf } from "./architecture.ts";
import type { Model, ReadOptions } from "./model.ts";

/**
 * What a file holds, and what of its metadata was not understood.
 *
 * @throws {M40Error} As {@link Architecture.read} does; "unsupported" also for an unknown architecture, and for
 * metadata that was not read though it changes what the model computes.
 */
export function readModel(gguf: Gguf, options?: ReadOptions & AuditOptions): Model {
  const model = architectureOf(gguf).read(gguf, options);
  const unknown = auditMetadata(gguf, "layers");
  options?.onUnknownKeys?.(unknown);
  const warnings = options?.onUnknownKeys ? [] : unknownKeysWarning(unknown);
  return { ...model, warnings: [...model.warnings, ...warnings] };
}
