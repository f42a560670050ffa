export {
  type Arithmetic,
  ARITHMETICS,
  PACKED_TYPES,
  possibleArithmetic,
  withArithmetic,
} from "./arithmetic.ts";
export { ProgramBuilder } from "./builder.ts";
export { layerCutsOf } from "./cuts.ts";
export { cacheLayerOf, stateOf } from "./kept.ts";
export type {
  ActivationName,
  AttentionTemperature,
  Buffer,
  HeadNorms,
  HeadShape,
  KeysAndValues,
  MatmulWeight,
  NormOptions,
  RopeOptions,
  RouteOptions,
} from "./operands.ts";
export { encodeOperations, type Operation } from "./operation.ts";
export { OPTIONAL_FIELDS, WEIGHT_FIELDS } from "./operations.generated.ts";
export type { CacheLayer, Program } from "./program.ts";
export { type SplitRows, splitRows } from "./row_split.ts";
export { type ProgramPart, splitProgram } from "./split.ts";
export type { DeltaRuleOptions } from "./state_operations.ts";
export {
  KV_VALUE_BYTES,
  layerOf,
  nameOf,
  operationWork,
  type StepSize,
  type StepWork,
  stepWork,
  weightsOf,
} from "./work.ts";
