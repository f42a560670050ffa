import { formatBytes } from "../terminal/mod.ts";
import type { DeviceHealth } from "../../engine/device/mod.ts";
import { type Finding, findingsOf } from "./finding.ts";

/** What of GDDR5 error correction takes, where it lies in the memory itself: a sixteenth. */
const MEMORY_SHARE = 1 / 16;

/** What error correction costs. Cards with HBM have bits of their own for it. */
export function eccFindings(health: DeviceHealth): Finding[] {
  const { ecc, eccNext, memoryBytes = 0, computeCapability = 0 } = health;
  if (ecc === undefined) return [];
  const { fine, note, toDo } = findingsOf("ecc", { ecc, ecc_next: eccNext });
  if (eccNext !== undefined && eccNext !== ecc) {
    const [now, then] = ecc ? ["on", "off"] : ["off", "on"];
    return [toDo(
      "ecc_changes",
      `Error correction (ECC) is ${now}, and will be ${then} after a restart.`,
      "Restart the machine, or reset the card: `sudo nvidia-smi --gpu-reset`.",
    )];
  }
  if (!ecc) {
    return [fine(
      "ecc_off",
      "Error correction (ECC) is off: all memory and bandwidth are there; errors of the memory go unnoticed.",
    )];
  }
  // Volta and newer computing cards have memory with room for it.
  if (![52, 53, 61].includes(computeCapability)) {
    return [fine("ecc_on", "Error correction (ECC) is on.")];
  }
  const taken = formatBytes(memoryBytes * MEMORY_SHARE / (1 - MEMORY_SHARE));
  return [note(
    "ecc_on",
    `Error correction (ECC) is on. It takes ${taken} of the memory (a sixteenth), and some of the bandwidth, ` +
      "which is what bounds tokens a second: its check bits are read out of the same memory.",
    "`sudo nvidia-smi -e 0` and a restart switch it off. A wrong bit then goes unnoticed; in answers of a " +
      "language model that is seldom worse than another word.",
  )];
}
