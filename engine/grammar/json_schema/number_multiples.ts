import { type Costs, MAX_STATES, refusal } from "./limits.ts";
import type { Decimal } from "./number_values.ts";
import { explore, type State, type Step, type TextAutomaton } from "./text_automaton.ts";

/** Where a number is read: its first digits, whole digits, digits behind the point, or surely no multiple. */
type Reading =
  | { readonly at: "start" }
  | { readonly at: "minus" }
  | { readonly at: "never" }
  /** After a leading zero no digit follows. */
  | { readonly at: "zero" | "whole"; readonly rest: number }
  | { readonly at: "places"; readonly rest: number; readonly places: number };

const ZERO = 0x30;
const POINT = 0x2e;
const MINUS = 0x2d;

/** Numbers without exponents that are multiples, or are none: the states are remainders. */
export function multiples(
  { units, places }: Decimal,
  negated: boolean,
  fractions: boolean,
  costs: Costs,
): TextAutomaton {
  // Where the value is a fraction, whole digits are multiples of its units once the point is moved.
  const count = units * BigInt(places + 1);
  if (count > BigInt(MAX_STATES)) {
    throw refusal(costs.place, "multiples of it would need too many states; use a simpler number");
  }
  const modulus = Number(units);
  const move = (rest: number, digit: number) => (rest * 10 + digit) % modulus;
  const isMultiple = (rest: number, missing: number) =>
    BigInt(rest) * 10n ** BigInt(missing) % units === 0n;

  const accepts = (reading: Reading): boolean => {
    if (reading.at === "never") return negated;
    if (reading.at === "start" || reading.at === "minus") return false;
    const behind = reading.at === "places" ? reading.places : 0;
    if (behind < 0) return false;
    return isMultiple(reading.rest, places - Math.min(behind, places)) !== negated;
  };
  const digit = (reading: Reading, value: number): Reading | undefined => {
    switch (reading.at) {
      case "never":
        return reading;
      case "zero":
        return undefined;
      case "start":
      case "minus":
        return { at: value === 0 ? "zero" : "whole", rest: value % modulus };
      case "whole":
        return { at: "whole", rest: move(reading.rest, value) };
      case "places": {
        const behind = Math.max(reading.places, 0);
        if (behind < places) {
          return { at: "places", rest: move(reading.rest, value), places: behind + 1 };
        }
        return value === 0 ? { ...reading, places: Math.max(places, 1) } : { at: "never" };
      }
    }
  };
  const look = (reading: Reading): State<Reading> => {
    const steps: Step<Reading>[] = [];
    const step = (code: number, target: Reading) => steps.push({ first: code, last: code, target });
    if (reading.at === "start") step(MINUS, { at: "minus" });
    if (fractions && (reading.at === "zero" || reading.at === "whole")) {
      // -1: behind the point, where a digit must follow.
      step(POINT, { at: "places", rest: reading.rest, places: -1 });
    }
    for (let value = 0; value < 10; value++) {
      const target = digit(reading, value);
      if (target) step(ZERO + value, target);
    }
    return { accepts: accepts(reading), steps };
  };
  return explore<Reading>(() => ({ at: "start" }), look, (r) => JSON.stringify(r), costs)
    .minimized(costs);
}
