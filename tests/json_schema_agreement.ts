/**
 * Holds a schema's grammar against a validator: texts of the grammar must be valid, valid values must have a
 * text in the grammar, invalid ones must not.
 *
 * @module
 */
import { Automaton } from "../engine/grammar/automaton.ts";
import { grammarOfSchema } from "../engine/grammar/json_schema/mod.ts";
import { randomNumbers, RandomTexts } from "./grammar_random.ts";

/** Orders of keys that are tried. */
const MOST_TEXTS = 800;
const encoder = new TextEncoder();

/** A schema's grammar, as an automaton. */
export class SchemaTexts {
  private readonly automaton: Automaton;
  private readonly texts: RandomTexts;

  constructor(schema: unknown, seed = 1) {
    const grammar = grammarOfSchema(schema);
    this.automaton = new Automaton(grammar);
    this.texts = new RandomTexts(grammar, randomNumbers(seed));
  }

  accepts(text: string): boolean {
    const state = this.automaton.after(this.automaton.start, encoder.encode(text));
    return state?.canEnd === true;
  }

  /** Whether a value has a text, with its keys in whatever order. */
  acceptsValue(value: unknown): boolean {
    let tried = 0;
    for (const text of spellings(value)) {
      if (this.accepts(text)) return true;
      if (++tried >= MOST_TEXTS) return false;
    }
    return false;
  }

  draw(): string {
    return this.texts.draw();
  }
}

/** The compact texts of a value: its keys in every order. */
function* spellings(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) {
    yield JSON.stringify(value);
    return;
  }
  if (Array.isArray(value)) {
    for (const items of products(value.map((item) => ["", item]))) yield `[${items.join(",")}]`;
    return;
  }
  for (const entries of orders(Object.entries(value))) {
    const keyed = entries.map((
      [key, item],
    ): [string, unknown] => [JSON.stringify(key) + ":", item]);
    for (const members of products(keyed)) yield `{${members.join(",")}}`;
  }
}

function* products(parts: [prefix: string, value: unknown][]): Generator<string[]> {
  if (parts.length === 0) {
    yield [];
    return;
  }
  const [[prefix, value], ...rest] = parts;
  for (const first of spellings(value)) {
    for (const others of products(rest)) yield [prefix + first, ...others];
  }
}

function* orders<T>(items: readonly T[]): Generator<T[]> {
  if (items.length <= 1) {
    yield [...items];
    return;
  }
  for (const [i, item] of items.entries()) {
    for (const rest of orders([...items.slice(0, i), ...items.slice(i + 1)])) yield [item, ...rest];
  }
}
