export { type PlacedReplica, planReplicas } from "./load.ts";
export { Replicas } from "./replicas.ts";
export { togetherPlan } from "./together_plan.ts";
