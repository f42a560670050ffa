/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { type Config, type ConfiguredModel, type OWN_OPTIONS, readConfig } from "./config.ts";
export { ConfiguredOverrides } from "./configured_overrides.ts";
