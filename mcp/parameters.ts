import { CompiledConstraint } from "../engine/grammar/constraint.ts";
import { MOST_SCHEMA } from "./limits.ts";

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

/**
 * A server's schema, where the arguments of a call can be held to it: one that asks for what is not supported, or
 * costs too much, would fail every request that offers the tool. In its place any object may be written.
 */
export function parametersOf(schema: unknown): Parameters {
  let json: string | undefined;
  try {
    json = JSON.stringify(schema);
  } catch {
    return { parameters: ANY, reason: "it is nested too deeply" };
  }
  if (json === undefined) return { parameters: ANY, reason: "there is none" };
  if (json.length > MOST_SCHEMA) {
    return {
      parameters: ANY,
      reason: `it has ${json.length} characters; wanted at most ${MOST_SCHEMA}`,
    };
  }
  const shown = json.length <= MOST_SHOWN ? json.toWellFormed() : undefined;
  if (!json.startsWith("{") || !json.isWellFormed()) {
    return { parameters: ANY, reason: "it is no JSON Schema of an object", shown };
  }
  const parameters = JSON.parse(json);
  if (parameters.type !== "object") {
    return { parameters: ANY, reason: 'its type is not "object"', shown };
  }
  try {
    new CompiledConstraint({ kind: "json_schema", schema: parameters });
    return { parameters };
  } catch (error) {
    return {
      parameters: ANY,
      reason: error instanceof Error ? error.message : String(error),
      shown,
    };
  }
}
