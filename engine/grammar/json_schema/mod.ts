/**
 * JSON Schema (draft 2020-12, and what drafts 4 to 7 spell otherwise) as a grammar: every text of it is
 * JSON that the schema accepts. What cannot be enforced is an error that names the keyword and its place.
 *
 * @module
 */
import type { Grammar } from "../grammar.ts";
import { Emitter } from "./emitter.ts";
import { Budget } from "./limits.ts";
import { prune } from "./prune.ts";
import { Reader } from "./reader.ts";

/** What else is wanted of the JSON of a schema. */
export interface JsonSchemaOptions {
  /**
   * Whether objects have no members but those that their schema names, where it names some and says nothing of
   * others. Default false.
   */
  readonly onlyNamed?: boolean;
  /** What it may cost, shared with others; default: its own. */
  readonly budget?: Budget;
}

/**
 * The grammar of a schema.
 *
 * @throws {M40Error} `invalid_request` where the schema is wrong, asks for what no grammar can enforce, or is too
 * complex.
 */
export function grammarOfSchema(schema: unknown, options: JsonSchemaOptions = {}): Grammar {
  const reader = new Reader(schema, options.budget ?? new Budget());
  const emitter = new Emitter(reader, options.onlyNamed ?? false);
  return prune(emitter.grammar({ place: reader.document.at(""), negated: false }));
}
