import type { Constraint } from "../../../engine/mod.ts";
import { wrongField } from "../../parse_body.ts";
import type { TextFormat } from "./request_schemas.ts";

/**
 * What a response's text must be like; undefined where it is free.
 *
 * @throws {HttpError} 400 for a schema that is none.
 */
export function textConstraint(format: TextFormat | null | undefined): Constraint | undefined {
  if (format == null || format.type === "text") return undefined;
  const param = "text.format";
  if (format.type === "json_object") return { kind: "json_object", param };
  const { schema } = format;
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    throw wrongField(`${param}.schema`, "a JSON Schema, which is an object", schema);
  }
  return { kind: "json_schema", schema, param: `${param}.schema` };
}
