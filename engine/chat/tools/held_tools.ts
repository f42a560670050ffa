/**
 * Tools with parameters that calls can be held to.
 *
 * @module
 */
import { M40Error } from "../../errors.ts";
import {
  Budget,
  type Grammar,
  heaviest,
  lighter,
  LIGHTER_STEPS,
  MOST_SCHEMA_NODES,
  nodesOf,
  relaxing,
  tooMuch,
} from "../../grammar/mod.ts";
import type { Tool } from "../conversation.ts";
import { argumentsSchema } from "./arguments_schema.ts";

type GrammarOf = (schema: unknown, budget: Budget) => Grammar;

interface Held {
  readonly tool: Tool;
  /** Its parameters, as far as calls are held to them. */
  readonly schema: unknown;
  readonly grammar: Grammar;
  /** About how many nodes that takes. */
  readonly nodes: number;
  /** How often they were made lighter, because all tools together take too many. */
  readonly steps: number;
}

/**
 * Tools whose parameters can be followed: as they are, or where a tool is not strict, without what cannot be. Where
 * all of them together take too much, the one that takes most gets lighter, and again, until they do not.
 *
 * @param grammarOf The grammar of a schema; the same one for the same schema.
 * @throws {M40Error} "invalid_request" naming the tool, and the keyword where it is one.
 */
export function heldTools(tools: readonly Tool[], grammarOf: GrammarOf): Tool[] {
  const budget = new Budget();
  const heldBy = (tool: Tool, wanted: unknown, steps: number): Held => {
    const follow = (schema: unknown, budget: Budget): Held => {
      const grammar = grammarOf(schema, budget);
      const nodes = nodesOf(grammar);
      // Alone it may take all that there is.
      if (nodes > MOST_SCHEMA_NODES) throw tooMuch("", sizeOf(schema, nodes));
      return { tool, schema, grammar, nodes, steps };
    };
    return naming(
      parametersOf(tool),
      () => tool.strict ? follow(wanted, budget) : relaxing(wanted, budget, follow),
    );
  };
  const held = tools.map((tool) => heldBy(tool, argumentsSchema(tool), 0));
  while (nodesOfAll(held) > MOST_SCHEMA_NODES) {
    const loose = held.filter(({ tool, steps }) => !tool.strict && steps < LIGHTER_STEPS);
    if (loose.length === 0) throw tooLarge(held);
    const largest = largestOf(loose);
    const { tool, schema, steps } = largest;
    held[held.indexOf(largest)] = heldBy(tool, lighter(schema, steps), steps + 1);
  }
  return held.map(({ tool, schema }) => ({ ...tool, parameters: schema }));
}

/** What the grammars of tools take; one that several have counts once, as its rules are there once. */
function nodesOfAll(held: readonly Held[]): number {
  const grammars = new Map(held.map(({ grammar, nodes }) => [grammar, nodes]));
  return [...grammars.values()].reduce((sum, nodes) => sum + nodes, 0);
}

function largestOf(held: readonly Held[]): Held {
  return held.reduce((a, b) => b.nodes > a.nodes ? b : a);
}

function tooLarge(held: readonly Held[]): M40Error {
  const { tool, schema, nodes } = largestOf(held);
  return new M40Error(
    "invalid_request",
    `${parametersOf(tool)}: with those of the other tools, ${sizeOf(schema, nodes)}`,
    "tools",
  );
}

function sizeOf(schema: unknown, nodes: number): string {
  const keyword = heaviest(schema);
  return `its grammar is too large: ${Math.round(nodes)} states of ${MOST_SCHEMA_NODES} in all` +
    (keyword === undefined ? "" : `, most of them by ${keyword}`) +
    ". Use smaller counts, or fewer patterns and lengths together; or leave strict out";
}

/** What errors call a tool's parameters. */
export function parametersOf({ name }: Tool): string {
  return `tools: the parameters of ${name}`;
}

/** Says in errors what they are about. */
export function naming<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof M40Error)) throw error;
    throw new M40Error(error.code, `${name}: ${error.message}`, "tools");
  }
}
