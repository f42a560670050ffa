export { knownState } from "./device_metrics.ts";
export { Metrics } from "./metrics.ts";
export { RequestTrace, type Tracer } from "./request_trace.ts";
