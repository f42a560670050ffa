/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { describeModel, sayLoaded, sayLoadFailed, sayUnloaded } from "./describe.ts";
export { ServeSettings } from "./settings.ts";
