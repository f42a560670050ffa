import { formatBytes } from "../terminal/mod.ts";
import type { DeviceHealth } from "../../engine/device/mod.ts";
import type { Finding } from "./finding.ts";

/** What of GDDR5 error correction takes, where it lies in the memory itself: a sixteenth. */
const MEMORY_SHARE = 1 / 16;

/** What error correction costs. Cards with HBM have bits of their own for it. */
export function eccFindings(health: DeviceHealth): Finding[] {
  const { ecc, eccNext, memoryBytes = 0, computeCapability = 0 } = health;
  if (ecc === undefined) return [];
  const area = "ecc";
  const values = { ecc, ecc_next: eccNext };
  if (eccNext !== undefined && eccNext !== ecc) {
    return [{
      area,
      name: "ecc_changes",
      level: "to_do",
      says: `Error correction (ECC) is ${ecc ? "on" : "off"}, and will be ${
        eccNext ? "on" : "off"
      } after a restart.`,
      advice: "Restart the machine, or reset the card: `sudo nvidia-smi --gpu-reset`.",
      values,
    }];
  }
  if (!ecc) {
    return [{
      area,
      name: "ecc_off",
      level: "fine",
      says:
        "Error correction (ECC) is off: all memory and bandwidth are there; errors of the memory go unnoticed.",
      values,
    }];
  }
  // Volta and newer computing cards have memory with room for it.
  if (![52, 53, 61].includes(computeCapability)) {
    return [{ area, name: "ecc_on", level: "fine", says: "Error correction (ECC) is on.", values }];
  }
  const taken = formatBytes(memoryBytes * MEMORY_SHARE / (1 - MEMORY_SHARE));
  return [{
    area,
    name: "ecc_on",
    level: "note",
    says:
      `Error correction (ECC) is on. It takes ${taken} of the memory (a sixteenth), and some of the bandwidth, ` +
      "which is what bounds tokens a second: its check bits are read out of the same memory.",
    advice:
      "`sudo nvidia-smi -e 0` and a restart switch it off. A wrong bit then goes unnoticed; in answers of a " +
      "language model that is seldom worse than another word.",
    values,
  }];
}
