export type { PaceLimits } from "./pace.ts";
export { createPacer, Pacer } from "./pacer.ts";
export { PowerLimiter } from "./power_limiter.ts";
export { type Energy, PowerMeter } from "./power_meter.ts";
