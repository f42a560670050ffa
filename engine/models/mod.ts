export { architectureNames, architectureOf } from "./architecture.ts";
export { type Model, type ModelShape, wantedContext } from "./model.ts";
export { MEAN_POOLING, Pool, type Pooling, poolingOf, poolingType } from "./pooling.ts";
export { readModel } from "./read_model.ts";
