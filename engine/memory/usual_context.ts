import type { DeviceKind } from "../device/mod.ts";
import { KEPT_SHARE } from "./state_plan.ts";

/**
 * The share of a machine's memory beside the weights that the KV cache takes on the CPU where nobody says how long a
 * context is to be: other programs want memory, too.
 */
const CPU_SHARE = 1 / 4;

/**
 * The share of the memory beside the weights that one sequence of the whole context may take where nobody says how long
 * that is to be.
 *
 * @param hasStates Whether the model keeps states, some of which are kept for prompts to come.
 */
export function usualShare(device: DeviceKind, hasStates: boolean): number {
  if (device === "cpu") return CPU_SHARE;
  return hasStates ? 1 - KEPT_SHARE : 1;
}
