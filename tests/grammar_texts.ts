/**
 * What tests of grammars share: whether a text matches, told by the automaton byte by byte, and by a matcher
 * that tries everything.
 *
 * @module
 */
import type { Automaton } from "../engine/grammar/automaton.ts";
import type { Expression, Grammar } from "../engine/grammar/grammar.ts";

const encoder = new TextEncoder();

/** A grammar of one rule. */
export function grammarOf(expression: Expression): Grammar {
  return { root: "root", rules: new Map([["root", expression]]) };
}

/** Whether a whole text matches. */
export function matches(automaton: Automaton, text: string | Uint8Array): boolean {
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  return automaton.after(automaton.start, bytes)?.canEnd ?? false;
}

/** Whether a text may be the beginning of one that matches. */
export function mayBegin(automaton: Automaton, text: string): boolean {
  return automaton.after(automaton.start, encoder.encode(text)) !== undefined;
}

/** The places where what an expression matches may end that begins at a place: tried in every way. */
function ends(grammar: Grammar, expression: Expression, text: string, at: number): Set<number> {
  switch (expression.kind) {
    case "literal":
      return new Set(text.startsWith(expression.text, at) ? [at + expression.text.length] : []);
    case "characters": {
      const code = text.codePointAt(at);
      if (code === undefined) return new Set();
      const listed = expression.ranges.some(([first, last]) => code >= first && code <= last);
      const fits = listed !== (expression.negated ?? false);
      return new Set(fits ? [at + String.fromCodePoint(code).length] : []);
    }
    case "token":
    case "until":
      throw new Error(`no text is tried against a ${expression.kind}`);
    case "sequence":
      return expression.items.reduce(
        (places, item) => throughAll(places, (place) => ends(grammar, item, text, place)),
        new Set([at]),
      );
    case "choice":
      return new Set(expression.options.flatMap((one) => [...ends(grammar, one, text, at)]));
    case "rule":
      return ends(grammar, grammar.rules.get(expression.name)!, text, at);
    case "repeat": {
      const { item, least, most = Infinity } = expression;
      let places = new Set([at]);
      const found = new Set(least === 0 ? [at] : []);
      // More items than characters and the fewest are empty ones, which end nowhere else.
      for (let i = 1; i <= Math.min(most, least + text.length + 1) && places.size > 0; i++) {
        places = throughAll(places, (place) => ends(grammar, item, text, place));
        if (i >= least) { for (const place of places) found.add(place); }
      }
      return found;
    }
  }
}

function throughAll(places: Set<number>, from: (place: number) => Set<number>): Set<number> {
  return new Set([...places].flatMap((place) => [...from(place)]));
}

/** Whether a whole text matches, tried in every way. */
export function matchesNaively(grammar: Grammar, text: string): boolean {
  return ends(grammar, grammar.rules.get(grammar.root)!, text, 0).has(text.length);
}

/** Random numbers that are the same for the same seed: integers below a limit. */
export function randomIntegers(seed: number): (limit: number) => number {
  let state = seed >>> 0;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
}
