export { type Config, type ConfiguredModel, type OWN_OPTIONS, readConfig } from "./config.ts";
export { ConfiguredOverrides } from "./configured_overrides.ts";
