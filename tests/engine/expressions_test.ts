// Every regular expression in the sources takes time in proportion to the text, not to its square: otherwise a
// client's text could block the server.
import { assert, assertEquals } from "@std/assert";
import { analyse } from "scslre";
import { type Expression, expressions, repeated } from "../fixtures/expressions.ts";

/** A client could block the server with these: the check must find them. */
const FOUND = [
  ["[\\t ]*,[\\t ]*", ""],
  ["\\{[ \\t]*(\\d+)[ \\t]*(,?)[ \\t]*(\\d*)[ \\t]*\\}", "y"],
] as const;

/** What is wrong with an expression by how it is built. */
function reports({ pattern, flags }: Pick<Expression, "pattern" | "flags">): string[] {
  return analyse({ source: pattern, flags }, { maxReports: 3 }).reports.map(({ type }) => type);
}

Deno.test("no expression in the sources backtracks more than its text is long, by how it is built", () => {
  const all = expressions();
  assert(all.length > 200, `only ${all.length} expressions were found`);
  for (const [pattern, flags] of FOUND) assert(reports({ pattern, flags }).length > 0, pattern);
  const slow = all.filter((one) => reports(one).length > 0);
  assertEquals(slow.map((one) => `${one.place} /${one.pattern}/${one.flags}`), []);
});

/** Milliseconds of one attempt on a text. */
function milliseconds(expression: RegExp, text: string): number {
  const start = performance.now();
  for (const _ of text.matchAll(expression));
  return performance.now() - start;
}

const SHORT = 250;
const TIMES = 16;
/** A time that needs no second look. */
const NOTHING_MS = 3;

/**
 * Whether an expression's time on repetitive texts grows much faster than the text: 16 times the text takes 16 times
 * as long, or 256 times where it is tried from every position to the end. A busy machine slows single measurements
 * down, so one good one of several is enough.
 */
function isQuadratic(expression: RegExp, unit: string, before: string, after: string): boolean {
  const text = (length: number) => before + unit.repeat(length / unit.length) + after;
  for (let tries = 0; tries < 5; tries++) {
    const long = milliseconds(expression, text(SHORT * TIMES));
    if (long < NOTHING_MS) return false;
    const short = Math.min(
      ...Array.from({ length: 5 }, () => milliseconds(expression, text(SHORT))),
    );
    if (long / short < TIMES * 4) return false;
  }
  return true;
}

/** What an expression is slow on, if anything. */
function slowOn(one: Expression): string[] {
  const expression = new RegExp(one.pattern, [...new Set([...one.flags, "g"])].join(""));
  const signs = new Set(one.pattern.match(/[{<"'$:;=(%#]/g));
  const before = ["", ...[...signs].flatMap((sign) => [sign, sign + "1", sign + "a"])];
  return repeated(one).filter((unit) =>
    before.some((start) => isQuadratic(expression, unit, start, "\0"))
  );
}

Deno.test("16 times the text takes no expression in the sources much more than 16 times as long", () => {
  const [pattern, flags] = FOUND[0];
  assert(slowOn({ pattern, flags, place: "" }).includes(" "));
  const slow = expressions().map((one) => ({ one, on: slowOn(one) })).filter(({ on }) =>
    on.length > 0
  );
  assertEquals(
    slow.map(({ one, on }) => `${one.place} /${one.pattern}/ on ${JSON.stringify(on)}`),
    [],
  );
});
