export { Catalogue } from "./catalogue.ts";
export { ABANDON_MS, closeWithin } from "./close_within.ts";
export { Failures, ModelFailing } from "./failures.ts";
export { KEEP_ALIVE_WANTED, parseKeepAlive } from "./keep_alive.ts";
export { ModelManager } from "./model_manager.ts";
export type {
  AcquireOptions,
  Lease,
  ManagerObserver,
  ResidentStatus,
  UnloadReason,
} from "./types.ts";
