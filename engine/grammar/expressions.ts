import type { CodePointRange, Expression } from "./grammar.ts";

/** One after the other; one item is itself. */
export function sequenceOf(items: readonly Expression[]): Expression {
  return items.length === 1 ? items[0] : { kind: "sequence", items };
}

/** Any of these; one option is itself. */
export function choiceOf(options: readonly Expression[]): Expression {
  return options.length === 1 ? options[0] : { kind: "choice", options };
}

/** Any character at all. */
export const ANY_CHARACTER: Expression = { kind: "characters", ranges: [], negated: true };

/** One of these texts, each as it is. */
export function choiceOfTexts(texts: readonly string[]): Expression {
  return choiceOf(texts.map((text): Expression => ({ kind: "literal", text })));
}

/** Whether a number is a code point that text may have: surrogates are none. */
export function isCharacter(code: number): boolean {
  return code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
}

/** A range of one character. */
export function single(code: number): CodePointRange {
  return [code, code];
}
