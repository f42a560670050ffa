import type { DeviceHealth } from "../../engine/device/mod.ts";
import type { Finding } from "./finding.ts";

/** Pages that can be retired: beyond them the maker calls the card worn out. */
const MOST_RETIRED = 64;

/** Errors of the card's memory, and pages that were taken out of use for them. */
export function memoryErrorFindings(health: DeviceHealth): Finding[] {
  const {
    correctedErrors,
    uncorrectedErrors = 0,
    lifetimeUncorrectedErrors = 0,
    retiredPages = 0,
    retiredPagesUncorrected = 0,
    retirementPending,
    code,
  } = health;
  if (code !== 0) return [];
  const retired = retiredPages + retiredPagesUncorrected;
  const values = {
    corrected_errors: correctedErrors,
    uncorrected_errors: health.uncorrectedErrors,
    lifetime_corrected_errors: health.lifetimeCorrectedErrors,
    lifetime_uncorrected_errors: health.lifetimeUncorrectedErrors,
    retired_pages: health.retiredPages === undefined ? undefined : retired,
    retirement_pending: retirementPending,
  };
  const found: Finding[] = [];
  const add = (name: string, says: string, advice: string) =>
    found.push({ area: "memory", name, level: "to_do", says, advice, values });
  if (uncorrectedErrors > 0) {
    add(
      "uncorrected",
      `${
        times(uncorrectedErrors, "error")
      } of the memory could not be corrected since the driver was loaded: what was ` +
        "computed then was lost or wrong.",
      "Restart, so that the page is taken out of use; where it happens again, cool the card better or replace it.",
    );
  }
  if (retirementPending) {
    add(
      "pending",
      "Pages of the memory are to be taken out of use, which happens at the next restart.",
      "Restart the machine; until then wrong bits may come again.",
    );
  }
  if (retired >= MOST_RETIRED) {
    add(
      "worn_out",
      `${times(retired, "page")} of the memory are out of use: as many as the card can do without.`,
      "Replace the card.",
    );
  }
  if (found.length > 0) return found;
  const notes = [
    ...(retired > 0
      ? [`${times(retired, "page")} of it out of use (${MOST_RETIRED} at most)`]
      : []),
    ...(correctedErrors
      ? [`${times(correctedErrors, "error")} corrected since the driver was loaded`]
      : []),
    ...(lifetimeUncorrectedErrors > 0
      ? [`${times(lifetimeUncorrectedErrors, "error")} not corrected in the card's life`]
      : []),
  ];
  if (correctedErrors === undefined && health.retiredPages === undefined) return [];
  return [{
    area: "memory",
    name: "memory",
    level: notes.length > 0 ? "note" : "fine",
    says: `The memory has no errors that matter${notes.length > 0 ? `: ${notes.join(", ")}` : ""}.`,
    values,
  }];
}

function times(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
