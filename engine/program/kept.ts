import { NONE } from "../device/mod.ts";
import type { Operation } from "./operation.ts";

/** What an operation keeps of a sequence: its cache layer, or its state. */
export function keptBy(operation: Operation): string[] {
  const [layer, state] = [cacheLayerOf(operation), stateOf(operation)];
  return [
    ...(layer === undefined ? [] : [`layer ${layer}`]),
    ...(state === undefined ? [] : [`state ${state}`]),
  ];
}

/** The layer of the KV cache that an operation writes to or reads, where it does. */
export function cacheLayerOf(operation: Operation): number | undefined {
  return "layer" in operation && operation.layer !== NONE ? operation.layer : undefined;
}

/** The state that an operation updates, where it does. */
export function stateOf(operation: Operation): number | undefined {
  return "state" in operation ? operation.state : undefined;
}
