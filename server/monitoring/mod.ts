export { Health, healthRoutes } from "./health.ts";
export {
  type CardObject,
  type DeviceObject,
  type SlotObject,
  SlotsObject,
  slotsRoute,
} from "./slots.ts";
export { denoTracer, traceRequests } from "./tracing.ts";
