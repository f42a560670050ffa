import type { DeviceHealth } from "../../engine/device/mod.ts";
import { type Finding, findingsOf } from "./finding.ts";

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
  const { fine, note, toDo } = findingsOf("memory", {
    corrected_errors: correctedErrors,
    uncorrected_errors: health.uncorrectedErrors,
    lifetime_corrected_errors: health.lifetimeCorrectedErrors,
    lifetime_uncorrected_errors: health.lifetimeUncorrectedErrors,
    retired_pages: health.retiredPages === undefined ? undefined : retired,
    retirement_pending: retirementPending,
  });
  const found: Finding[] = [];
  if (uncorrectedErrors > 0) {
    found.push(toDo(
      "uncorrected",
      `${
        times(uncorrectedErrors, "error")
      } of the memory could not be corrected since the driver was loaded: ` +
        "what was computed then was lost or wrong.",
      "Restart, so that the page is taken out of use; where it happens again, cool the card better or replace it.",
    ));
  }
  if (retirementPending) {
    found.push(toDo(
      "pending",
      "Pages of the memory are to be taken out of use, which happens at the next restart.",
      "Restart the machine; until then wrong bits may come again.",
    ));
  }
  if (retired >= MOST_RETIRED) {
    found.push(toDo(
      "worn_out",
      `${times(retired, "page")} of the memory are out of use: as many as the card can do without.`,
      "Replace the card.",
    ));
  }
  if (found.length > 0) return found;
  if (correctedErrors === undefined && health.retiredPages === undefined) return [];
  const notes: string[] = [];
  if (retired > 0) {
    notes.push(`${times(retired, "page")} of it out of use (${MOST_RETIRED} at most)`);
  }
  if (correctedErrors) {
    notes.push(`${times(correctedErrors, "error")} corrected since the driver was loaded`);
  }
  if (lifetimeUncorrectedErrors > 0) {
    notes.push(`${times(lifetimeUncorrectedErrors, "error")} not corrected in the card's life`);
  }
  const details = notes.length > 0 ? `: ${notes.join(", ")}` : "";
  const says = `The memory has no errors that matter${details}.`;
  return [(notes.length > 0 ? note : fine)("memory", says)];
}

function times(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
