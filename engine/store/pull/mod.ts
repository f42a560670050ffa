/**
 * Fetching models: what a name means is looked up, what is found there is checked before gigabytes of
 * it come, and put into the models directory with its record.
 *
 * @module
 */
export { TESLA_M40 } from "../../memory/mod.ts";
export { findPulled } from "./find_pulled.ts";
export { pull } from "./pull.ts";
export type { Pulled, PullOptions, PullStart } from "./types.ts";
export { copyModel } from "./copy.ts";
export { createModel, type Creation, parseCreation } from "./create.ts";
