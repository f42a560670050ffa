/**
 * The engine: text in, tokens out. It knows nothing of HTTP or of terminals, and can be used as a
 * library.
 *
 * @example
 * ```ts
 * const engine = await Engine.load("model.gguf");
 * for await (const { text } of engine.generate({ prompt: "Once upon a time", maxTokens: 50 })) {
 *   console.log(text);
 * }
 * await engine.close();
 * ```
 *
 * @module
 */
export * from "./benchmark.ts";
export * from "./profile.ts";
export * from "./chat/mod.ts";
export type { DeviceInfo, DeviceState } from "./device/library.ts";
export * from "./engine.ts";
export type { EngineCard } from "./engine_card.ts";
export type { DiskCacheOptions, EngineOptions, Split } from "./engine_options.ts";
export { M40Error, type M40ErrorCode } from "./errors.ts";
export type { PositionLogits } from "./evaluation.ts";
export * from "./generation.ts";
export * from "./generation_report.ts";
export type { EmbeddingOptions, Embeddings } from "./embedding.ts";
export type { EngineObserver } from "./observer.ts";
export type { Constraint } from "./grammar/constraint.ts";
export type { GenerateRequest } from "./request.ts";
export type { Scoring, ScoringOptions } from "./scoring.ts";
export type { EngineStatus, ReplicaState, SlotStatus } from "./status.ts";
export { type Executor, EXECUTORS } from "./device/context.ts";
export { KV_TYPES, type KvType, type MemoryPlan } from "./memory_plan.ts";
export { type ModelInfo, sizesByType } from "./model_info.ts";
export { architectureNames, architectureOf } from "./models/architecture.ts";
export type { ModelShape } from "./models/model.ts";
export type { StepReport } from "./scheduler/report.ts";
export {
  checkRange,
  type Range,
  SAMPLING_DEFAULTS,
  SAMPLING_RANGES,
  type SamplingParameters,
  validateSampling,
} from "./sampling/parameters.ts";
export type { Steering } from "./sampling/steering.ts";
export { type Gguf, type GgufTensor, readGguf } from "./gguf/reader.ts";
export { loadTokenizer } from "./tokenizer/load.ts";
export type {
  DecodeOptions,
  FimTokens,
  StreamingDecoder,
  Tokenizer,
} from "./tokenizer/tokenizer.ts";
