/**
 * Short names for making grammar expressions.
 *
 * @module
 */
import type { CodePointRange, Expression } from "../grammar.ts";

export const EMPTY: Expression = { kind: "sequence", items: [] };
/** Matches nothing at all. */
export const NOTHING: Expression = { kind: "choice", options: [] };

export const text = (text: string): Expression => ({ kind: "literal", text });
export const named = (name: string): Expression => ({ kind: "rule", name });

export const among = (...ranges: CodePointRange[]): Expression => ({ kind: "characters", ranges });

export function sequence(...items: Expression[]): Expression {
  return items.length === 1 ? items[0] : { kind: "sequence", items };
}

export function choice(...options: Expression[]): Expression {
  return options.length === 1 ? options[0] : { kind: "choice", options };
}

export function repeat(item: Expression, least: number, most?: number): Expression {
  if (least === 1 && most === 1) return item;
  return { kind: "repeat", item, least, most };
}

export const optional = (item: Expression): Expression => repeat(item, 0, 1);

export const DIGIT = among([0x30, 0x39]);

/** One digit from the first to the last. */
export function digits(first: number, last: number): Expression {
  return first === last ? text(String(first)) : among([0x30 + first, 0x30 + last]);
}
