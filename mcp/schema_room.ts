import { argumentsSchema } from "../engine/chat/mod.ts";
import {
  Budget,
  type Expression,
  type Grammar,
  grammarOfSchema,
  MOST_NODES,
  MOST_PARTS,
  Network,
  relaxing,
} from "../engine/grammar/mod.ts";
import { parseJson } from "../engine/json/mod.ts";
import { MOST_SCHEMA, SCHEMAS_MS } from "./limits.ts";

/** The schema of a tool's arguments as a model gets it. */
export interface Parameters {
  /** A JSON Schema that arguments can be held to. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Why the arguments are not held to the schema that the server gave; absent where they are. */
  readonly reason?: string;
  /** That schema as JSON, where it is short enough to be shown instead. */
  readonly shown?: string;
}

/** Any object. */
const ANY = { type: "object" } as const;
/** The longest schema that is shown in a description, in characters. */
const MOST_SHOWN = 2048;
/** Levels of lists and objects; a request's tools may have a few more. */
const MOST_LEVELS = 60;

/**
 * What all schemas of the tools that are offered together may cost. An invalid schema, or one too costly together with
 * the others, would fail every request that offers the tool: any object may be written instead.
 */
export class SchemaRoom {
  private readonly budget = new Budget();
  /** The rest of the calls' grammar is small next to the schemas. */
  private nodes = MOST_NODES * 3 / 4;
  private parts = MOST_PARTS * 3 / 4;
  private milliseconds = SCHEMAS_MS;

  /** A server's schema, where the arguments of a call can be held to it. */
  take(schema: unknown): Parameters {
    const begin = performance.now();
    try {
      return this.look(schema);
    } finally {
      this.milliseconds -= performance.now() - begin;
    }
  }

  private look(schema: unknown): Parameters {
    if (schema === undefined) return { parameters: ANY, reason: "there is none" };
    // First, as what follows would go as deep.
    if (isDeep(schema)) {
      return { parameters: ANY, reason: `it has more than ${MOST_LEVELS} levels` };
    }
    const json = JSON.stringify(schema);
    if (json.length > MOST_SCHEMA) {
      const reason = `it has ${json.length} characters; wanted at most ${MOST_SCHEMA}`;
      return { parameters: ANY, reason };
    }
    const shown = json.length <= MOST_SHOWN ? json.toWellFormed() : undefined;
    const refuse = (reason: string) => ({ parameters: ANY, reason, shown });
    if (!json.startsWith("{") || !json.isWellFormed()) return refuse("it is no JSON Schema");
    if (this.milliseconds <= 0) return refuse("the schemas before it took too long to look at");
    const parameters = parseJson(json) as Record<string, unknown>;
    try {
      const wanted = argumentsSchema({ name: "it", parameters });
      // By itself first: one that fails costs the others nothing.
      const grammar = grammarOf(wanted, new Budget());
      const nodes = new Network(grammar).kinds.length;
      const parts = partsOf(grammar);
      if (nodes > this.nodes || parts > this.parts) {
        return refuse("it costs too much together with the others");
      }
      grammarOf(wanted, this.budget);
      this.nodes -= nodes;
      this.parts -= parts;
      return { parameters };
    } catch (error) {
      return refuse(error instanceof Error ? error.message : String(error));
    }
  }
}

/** The grammar of arguments, as that of calls has it. */
function grammarOf(schema: unknown, budget: Budget): Grammar {
  return relaxing(
    schema,
    budget,
    (schema, budget) => grammarOfSchema(schema, { budget, onlyNamed: true }),
    // What costs much is found out once, and not by every request that offers the tool.
    { lighter: false },
  );
}

/** How many parts its expressions have, each character of a text one. */
function partsOf({ rules }: Grammar): number {
  const count = (expression: Expression): number => {
    switch (expression.kind) {
      case "literal":
        return 1 + expression.text.length;
      case "sequence":
        return expression.items.reduce((sum, item) => sum + count(item), 1);
      case "choice":
        return expression.options.reduce((sum, option) => sum + count(option), 1);
      case "repeat":
        return 1 + count(expression.item);
      default:
        return 1;
    }
  };
  return [...rules.values()].reduce((sum, expression) => sum + count(expression), 0);
}

/** Whether a value is nested too deeply; looked at without a call a level. */
function isDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS) return true;
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : []
    );
  }
  return false;
}
