/**
 * The door of this room: what the rest of the house may use of it.
 *
 * @module
 */
export { type PlacedReplica, planReplicas } from "./load.ts";
export { Replicas } from "./replicas.ts";
export { togetherPlan } from "./together_plan.ts";
