export { type Estimate, Estimator } from "./estimate.ts";
export { type Fit, fitContext, FitDevice } from "./fit.ts";
export { hostCacheBytesOf } from "./host_cache_size.ts";
export {
  cacheTokens,
  hasLanes,
  KV_TYPES,
  type KvType,
  type MemoryPlan,
  planMemory,
  type PlanRequest,
  sumOf,
  wantedTokens,
} from "./memory_plan.ts";
export { place, type PlacedMemory } from "./placement.ts";
export { type PlannedStage, planStages } from "./staged_memory_plan.ts";
export { usualParallel } from "./state_plan.ts";
export {
  mayFit,
  type Suitability,
  suitabilityOf,
  type Target,
  targetOrReason,
  TESLA_M40,
} from "./target_card.ts";
