export { EngineCard } from "./engine_card.ts";
export { createHostCache } from "./host_cache.ts";
export {
  type AttentionSpan,
  attentionSpans,
  keptStates,
  type ModelInfo,
  sharingLayers,
  sizesByType,
} from "./model_info.ts";
export { type ModelSource, readModelSource } from "./model_source.ts";
export type { KvBlockStores } from "./open_disk_cache.ts";
export {
  type CardMemory,
  type ModelDevice,
  type PlacedModel,
  planModel,
  type PlannedModel,
  type Shared,
} from "./placed_model.ts";
export type { EngineStatus, ReplicaState, SlotStatus } from "./status.ts";
