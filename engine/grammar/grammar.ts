/**
 * What a text must be like, as data: whatever a request says it in (GBNF, a regular expression, choices, a
 * JSON Schema) becomes this, and this becomes an automaton.
 *
 * @module
 */

/** Code points from the first to the last, both included; 0 to 0x10FFFF. */
export type CodePointRange = readonly [first: number, last: number];

/** What a part of a text must be like. */
export type Expression =
  /** Just this text; an empty one is the empty text. */
  | { readonly kind: "literal"; readonly text: string }
  /** One character of these; negated, one of all others. Surrogates are no characters, whatever the ranges say. */
  | {
    readonly kind: "characters";
    readonly ranges: readonly CodePointRange[];
    readonly negated?: boolean;
  }
  /** One after the other; of no items, the empty text. */
  | { readonly kind: "sequence"; readonly items: readonly Expression[] }
  /** Any of these; of no options, nothing matches. */
  | { readonly kind: "choice"; readonly options: readonly Expression[] }
  /** An item a number of times, one after the other; without `most`, any number from `least` on. */
  | {
    readonly kind: "repeat";
    readonly item: Expression;
    readonly least: number;
    readonly most?: number;
  }
  /** A control token: a terminal that is no text. */
  | { readonly kind: "token"; readonly token: number }
  /**
   * Anything that none of these stands in, as bytes, and that none of them would end earlier in than behind it:
   * with one of them behind it, that is the first one. Text alone, or control tokens and any bytes as well.
   */
  | {
    readonly kind: "until";
    readonly ends: readonly Uint8Array[];
    readonly only: "text" | "anything";
  }
  /** What the rule of this name says. Rules may be recursive, but never name themselves first (left recursion). */
  | { readonly kind: "rule"; readonly name: string };

/** A class of characters. */
export type CharacterClass = Extract<Expression, { kind: "characters" }>;

/** What a whole text must be like: rules by their names, and the one that the text must match. */
export interface Grammar {
  readonly root: string;
  readonly rules: ReadonlyMap<string, Expression>;
  /** Rules that many others name: they are there once, even if they are small. */
  readonly shared?: ReadonlySet<string>;
}
