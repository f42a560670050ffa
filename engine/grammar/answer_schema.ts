import { M40Error } from "../errors.ts";
import type { Grammar } from "./grammar.ts";
import { Budget, tooMuch } from "./json_schema/limits.ts";
import { grammarOfSchema } from "./json_schema/mod.ts";
import { relaxing } from "./json_schema/relaxed_schema.ts";
import { Network } from "./network.ts";

/** A schema that an answer is valid by. */
export interface AnswerSchema {
  readonly schema: unknown;
  /**
   * Whether a schema is refused that no grammar can enforce. Default false: keywords that ask for more are left to the
   * model. One that is no schema is refused in either case.
   */
  readonly strict?: boolean;
  /**
   * Whether objects have no members but those that their schema names, where it says nothing of others. Default true:
   * other servers forbid them, and models invent some.
   */
  readonly onlyNamed?: boolean;
}

/** A grammar, and what it is compiled to. */
export interface Compiled {
  readonly grammar: Grammar;
  readonly network: Network;
}

/**
 * The grammar of an answer.
 *
 * @throws {M40Error} "invalid_request" for what is no schema, and where it is strict for one that cannot be followed.
 */
export function compileAnswer({ schema, strict, onlyNamed = true }: AnswerSchema): Compiled {
  const follow = (schema: unknown, budget: Budget): Compiled => {
    const grammar = grammarOfSchema(schema, { onlyNamed, budget });
    try {
      return { grammar, network: new Network(grammar) };
    } catch (error) {
      if (error instanceof M40Error) throw tooMuch("", error.message);
      throw error;
    }
  };
  const budget = new Budget();
  return strict ? follow(schema, budget) : relaxing(schema, budget, follow, { wrong: false });
}
