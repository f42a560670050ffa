/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { knownState } from "./device_metrics.ts";
export { Metrics } from "./metrics.ts";
export { RequestTrace, type Tracer } from "./request_trace.ts";
