/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { modelSamplingDefaults } from "./model_defaults.ts";
export {
  checkRange,
  type NumericParameter,
  type Range,
  SAMPLING_DEFAULTS,
  SAMPLING_RANGES,
  type SamplingParameters,
  SEED_LIMIT,
  validateSampling,
} from "./parameters.ts";
export { SequenceSampling, type SequenceSamplingOptions } from "./sequence_sampling.ts";
export type { AllowedTokens, Steering } from "./steering.ts";
