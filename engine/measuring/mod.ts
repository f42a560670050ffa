export {
  benchmark,
  type BenchmarkPlan,
  copyBandwidth,
  type Measurement,
  type TimedStep,
} from "./benchmark.ts";
export {
  assertSaysPower,
  measurePower,
  type PowerMeasurement,
  type PowerWork,
} from "./power_benchmark.ts";
export { type OperationProfile, profile, sizeOf, type StepProfile } from "./profile.ts";
