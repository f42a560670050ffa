import type { Constraint } from "../../../engine/mod.ts";
import { invalid } from "../../errors.ts";
import { schemaAt } from "../../request/mod.ts";
import type { TextFormat } from "./request_schemas.ts";

/** Levels of lists and objects in a schema, what it says to no effect included: it is shown again. */
const MOST_LEVELS = 64;

/**
 * What a response's text must be like; undefined where it is free.
 *
 * @throws {HttpError} 400 for a schema that is none, or is nested too deeply.
 */
export function textConstraint(format: TextFormat | null | undefined): Constraint | undefined {
  if (format == null || format.type === "text") return undefined;
  const param = "text.format";
  if (format.type === "json_object") return { kind: "json_object", param };
  const { strict } = format;
  const schema = schemaAt(format.schema, `${param}.schema`);
  if (isDeeper(schema, MOST_LEVELS)) {
    throw invalid(
      `${param}.schema`,
      `${param}.schema: lists and objects are nested more than ${MOST_LEVELS} deep.`,
    );
  }
  return {
    kind: "json_schema",
    schema,
    param: `${param}.schema`,
    ...strict === true ? { strict } : {},
  };
}

/** Whether a value has more levels. Level by level, without a call each: it may be as deep as JSON can be. */
function isDeeper(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= levels; depth++) {
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : []
    );
    if (level.length === 0) return false;
  }
  return true;
}
