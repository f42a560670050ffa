export { modelSamplingDefaults } from "./model_defaults.ts";
export {
  MAX_STOP_STRINGS,
  MAX_STOP_TOKENS,
  NAMED_PARAMETERS,
  type NamedParameter,
  type NumericParameter,
  type ParameterNames,
  type Range,
  SAMPLING_DEFAULTS,
  SAMPLING_PARAMETERS,
  type SamplingParameter,
  type SamplingParameters,
  type Separated,
  separated,
} from "./parameters.ts";
export { SequenceSampling, type SequenceSamplingOptions } from "./sequence_sampling.ts";
export type { AllowedTokens, Steering } from "./steering.ts";
export { checkRange, SEED_LIMIT, validateSampling } from "./validation.ts";
