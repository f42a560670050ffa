import type { Constraint } from "../../engine/mod.ts";
import { unsupported } from "../errors.ts";
import { schemaAt, typeName } from "../request/mod.ts";
import type { ConversationFields } from "./request_schemas.ts";

/**
 * What the answer's text must be like; undefined where the body says nothing of it.
 *
 * @throws {HttpError} 400 for a format that there is not.
 */
export function outputConstraint(
  { output_config, output_format }: ConversationFields,
): Constraint | undefined {
  const format = output_config?.format ?? output_format;
  if (format == null) return undefined;
  const param = output_config?.format == null ? "output_format" : "output_config.format";
  if (format.type !== "json_schema") {
    throw unsupported(
      param,
      `${param}: the type ${typeName(format.type)} is not supported. Ask for "json_schema".`,
    );
  }
  const at = `${param}.schema`;
  return { kind: "json_schema", schema: schemaAt(format.schema, at), param: at };
}
