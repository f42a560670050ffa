export { describeModel, sayLoaded, sayLoadFailed, sayUnloaded } from "./describe.ts";
export { ServeSettings } from "./settings.ts";
