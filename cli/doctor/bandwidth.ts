import type { Finding } from "./finding.ts";

/**
 * What of the memory's bandwidth a copy reaches where nothing is wrong; with error correction in the same memory less.
 */
const SHARE = 0.65;
const SHARE_WITH_ECC = 0.55;

/** The rate of copies within the card, next to what its memory could give. */
export function bandwidthFindings(
  measured: number,
  possible: number | undefined,
  ecc: boolean | undefined,
): Finding[] {
  const giga = (value: number) => `${(value / 1e9).toFixed(0)} GB/s`;
  const values = { bytes_per_second: Math.round(measured), possible_bytes_per_second: possible };
  const base = { area: "card" as const, values };
  if (possible === undefined) {
    return [{
      ...base,
      name: "bandwidth",
      level: "fine",
      says: `Its memory is copied at ${giga(measured)}.`,
    }];
  }
  const share = measured / possible;
  const says =
    `Its memory is copied at ${giga(measured)}, ${Math.round(100 * share)}% of the ${
      giga(possible)
    } ` +
    "that clock and width make";
  if (share >= (ecc ? SHARE_WITH_ECC : SHARE)) {
    return [{ ...base, name: "bandwidth", level: "fine", says: `${says}.` }];
  }
  return [{
    ...base,
    name: "low_bandwidth",
    level: "to_do",
    says: `${says}, which is little: tokens a second are bound by it.`,
    advice:
      "Is another program computing on the card, or are its clocks held back? `m40 doctor` again when it is idle.",
  }];
}
