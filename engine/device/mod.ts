export { type Arena, type Cache, type Context, type Executor, EXECUTORS } from "./context.ts";
export { copySpeed, createCopiedCache } from "./copy_speed.ts";
export type { BufferDesc, CacheDesc, Limits, TensorDesc } from "./descriptions.ts";
export { bandwidthOf, compareBandwidths, measureBandwidth } from "./device_bandwidth.ts";
export { parseDeviceList } from "./device_list.ts";
export { DEVICE_PROCESS } from "./device_process.ts";
export type { DecodeExecutors, DeviceProgram, PartRows } from "./device_program.ts";
export { DeviceQueue } from "./device_queue.ts";
export { highestOf, togetherOf } from "./device_states.ts";
export { giveBackFreedMemory } from "./freed_memory.ts";
export type { DeviceHealth, Management, ThrottleReason } from "./health.ts";
export {
  type DeviceInfo,
  type DeviceKind,
  type DeviceState,
  findLibrary,
  KernelLibrary,
} from "./library.ts";
export { findBuild, type FoundLibrary } from "./library_build.ts";
export { openDevice, openDeviceInPassing, openDeviceProcess, type OpenedDevice } from "./open.ts";
export type { PowerLimit } from "./power_limit.ts";
export {
  type DeviceRun,
  fitsRun,
  ringBytes,
  type RunLimits,
  type TakeRunStep,
} from "./program_runs.ts";
export { stepBytes, type StepSequence } from "./step_block.ts";
export type { OutputStatus, Sample, StepOutput, StepResult } from "./step_result.ts";
export { GREEDY, MAX_TOKEN_BIASES, type StepSampling } from "./step_sampling.ts";
export {
  ABI_VERSION,
  Activation,
  Arithmetic,
  Element,
  HeadNorm,
  KHeads,
  Lane,
  MAX_CACHE_GROUPS,
  MAX_CARDS,
  MAX_TOP_LOGPROBS,
  NONE,
  Norm,
  OP,
  OpKind,
  OPS,
  Rope,
  Rows,
  Score,
  type StructOf,
} from "./structs.ts";
export { TokenCounts } from "./token_counts.ts";
