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
export {
  benchmark,
  type BenchmarkPlan,
  copyBandwidth,
  type Measurement,
  type OperationProfile,
  profile,
  sizeOf,
  type StepProfile,
  type TimedStep,
} from "./measuring/mod.ts";
export * from "./chat/mod.ts";
export { type DeviceInfo, type DeviceState, type Executor, EXECUTORS } from "./device/mod.ts";
export * from "./engine.ts";
export {
  type EngineCard,
  type EngineStatus,
  type ModelInfo,
  type ReplicaState,
  sizesByType,
  type SlotStatus,
} from "./loading/mod.ts";
export type { DiskCacheOptions, EngineOptions, Split } from "./engine_options.ts";
export { M40Error, type M40ErrorCode } from "./errors.ts";
export {
  type EmbeddingOptions,
  type Embeddings,
  type EngineObserver,
  type FinishReason,
  type GeneratedToken,
  type GenerateRequest,
  Generation,
  type GenerationChunk,
  type GenerationReport,
  type GenerationServices,
  type GenerationTimes,
  type PositionLogits,
  type Scoring,
  type ScoringOptions,
  type Usage,
} from "./generation/mod.ts";
export type { Constraint } from "./grammar/mod.ts";
export { KV_TYPES, type KvType, type MemoryPlan } from "./memory/mod.ts";
export { architectureNames, architectureOf, type ModelShape } from "./models/mod.ts";
export { type Arithmetic, ARITHMETICS } from "./program/mod.ts";
export type { StepReport } from "./scheduler/mod.ts";
export {
  checkRange,
  MAX_STOP_STRINGS,
  MAX_STOP_TOKENS,
  NAMED_PARAMETERS,
  type NamedParameter,
  type ParameterNames,
  type Range,
  SAMPLING_DEFAULTS,
  SAMPLING_PARAMETERS,
  type SamplingParameters,
  type Separated,
  type Steering,
  validateSampling,
} from "./sampling/mod.ts";
export { type Gguf, type GgufTensor, readGguf } from "./gguf/mod.ts";
export {
  type DecodeOptions,
  type FimTokens,
  loadTokenizer,
  type StreamingDecoder,
  type Tokenizer,
} from "./tokenizer/mod.ts";
