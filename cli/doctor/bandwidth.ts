import { type Finding, findingsOf } from "./finding.ts";

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
  const { fine, toDo } = findingsOf("card", {
    bytes_per_second: Math.round(measured),
    possible_bytes_per_second: possible,
  });
  const copied = `Its memory is copied at ${giga(measured)}`;
  if (possible === undefined) return [fine("bandwidth", `${copied}.`)];
  const share = measured / possible;
  const says = `${copied}, ${Math.round(100 * share)}% of the ${
    giga(possible)
  } that clock and width make`;
  if (share >= (ecc ? SHARE_WITH_ECC : SHARE)) return [fine("bandwidth", `${says}.`)];
  return [toDo(
    "low_bandwidth",
    `${says}, which is little: tokens a second are bound by it.`,
    "Is another program computing on the card, or are its clocks held back? `m40 doctor` again when it is idle.",
  )];
}
