import { numberOf } from "../../json/mod.ts";
import { MAX_COUNT, refusal, shown, wrong } from "./limits.ts";
import { type At, type Group, pointerOf } from "./reading.ts";
import { type Alternatives, limited, NONE, only } from "./shapes.ts";

/** The value of a keyword that is a count. */
function countOf(at: At, keyword: string): number {
  const value = numberOf(at.schema[keyword]);
  if (value !== undefined && Number.isInteger(value) && value >= 0) return value;
  throw wrong(
    pointerOf(at, keyword),
    `it must be an integer from 0 on, not ${shown(at.schema[keyword])}`,
  );
}

/** A count from which something is enforced: refused where it is too large for a grammar. */
export function leastOf(at: At, keyword: string): number {
  const count = countOf(at, keyword);
  if (count <= MAX_COUNT) return count;
  throw refusal(
    pointerOf(at, keyword),
    `${count} is more than the ${MAX_COUNT} that a grammar can count to`,
  );
}

/** A count up to which something is allowed: no more than a grammar can count to. */
export function mostOf(at: At, keyword: string): number {
  return Math.min(countOf(at, keyword), MAX_COUNT);
}

/** What a count is from, or up to. */
export interface Limits {
  readonly least?: number;
  readonly most?: number;
}

/** The keywords `minWHAT` and `maxWHAT`. */
export function countKeywords(
  what: string,
  within: (at: At, keyword: string, limits: Limits) => Partial<Alternatives>,
): Group[] {
  const [min, max] = [`min${what}`, `max${what}`];
  return [{
    keywords: [min],
    holds: (at) => limited(within(at, min, { least: leastOf(at, min) })),
    fails: (at) =>
      countOf(at, min) === 0 ? NONE : only(within(at, min, { most: mostOf(at, min) - 1 })),
  }, {
    keywords: [max],
    holds: (at) => limited(within(at, max, { most: mostOf(at, max) })),
    fails: (at) => only(within(at, max, { least: leastOf(at, max) + 1 })),
  }];
}
