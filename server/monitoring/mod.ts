/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { Health, healthRoutes } from "./health.ts";
export {
  type CardObject,
  type DeviceObject,
  type SlotObject,
  SlotsObject,
  slotsRoute,
} from "./slots.ts";
export { denoTracer, traceRequests } from "./tracing.ts";
