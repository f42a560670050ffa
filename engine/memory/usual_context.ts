import type { DeviceKind } from "../device/mod.ts";
import { KEPT_SHARE } from "./state_plan.ts";

/**
 * The share of a machine's memory without the weights that the KV cache takes on the CPU, where no context is asked
 * for: other programs need memory, too.
 */
const CPU_SHARE = 1 / 4;

/**
 * The share of the memory without the weights that one sequence of the whole context may take, where no context is
 * asked for.
 *
 * @param hasStates Whether the model has states, some of which are kept for later prompts.
 */
export function usualShare(device: DeviceKind, hasStates: boolean): number {
  if (device === "cpu") return CPU_SHARE;
  return hasStates ? 1 - KEPT_SHARE : 1;
}
