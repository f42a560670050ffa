/**
 * Keywords that are counts.
 *
 * @module
 */
import { numberOf } from "../../json/mod.ts";
import { MAX_COUNT, refusal, shown, wrong } from "./limits.ts";
import type { At } from "./reading.ts";

/** The value of a keyword that is a count. */
export function countOf({ schema, place }: At, keyword: string): number {
  const value = numberOf(schema[keyword]);
  if (value !== undefined && Number.isInteger(value) && value >= 0) return value;
  throw wrong(
    `${place.pointer}/${keyword}`,
    `it must be an integer from 0 on, not ${shown(schema[keyword])}`,
  );
}

/** A count from which something is enforced: refused where it is too large for a grammar. */
export function leastOf(at: At, keyword: string): number {
  const count = countOf(at, keyword);
  if (count <= MAX_COUNT) return count;
  throw refusal(
    `${at.place.pointer}/${keyword}`,
    `${count} is more than the ${MAX_COUNT} that a grammar can count to`,
  );
}

/** A count up to which something is allowed: no more than a grammar can count to. */
export function mostOf(at: At, keyword: string): number {
  return Math.min(countOf(at, keyword), MAX_COUNT);
}
