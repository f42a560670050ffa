export { embedAll, type EmbeddingOptions, type Embeddings } from "./embedding.ts";
export { Evaluations, type PositionLogits } from "./evaluation.ts";
export {
  type GeneratedToken,
  Generation,
  type GenerationChunk,
  type GenerationServices,
  type Usage,
} from "./generation.ts";
export {
  type EngineObserver,
  type FinishReason,
  type GenerationReport,
  type GenerationTimes,
  GuardedObserver,
} from "./observer.ts";
export type { GenerateRequest } from "./request.ts";
export { LONG_TEXT, RequestChecker, type SideThreads } from "./request_checker.ts";
export { Scoring, type ScoringOptions } from "./scoring.ts";
export { TextChecker } from "./texts.ts";
