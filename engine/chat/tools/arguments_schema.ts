import { M40Error } from "../../errors.ts";
import type { Tool } from "../conversation.ts";

/**
 * The JSON Schema of a tool's arguments, which are an object.
 *
 * @throws {M40Error} "invalid_request" for parameters that no object follows.
 */
export function argumentsSchema({ name, parameters }: Tool): unknown {
  if (parameters === undefined || parameters === null) {
    return { type: "object", properties: {}, additionalProperties: false };
  }
  if (parameters === true) return { type: "object" };
  if (typeof parameters !== "object" || Array.isArray(parameters)) {
    throw refused(name, "are no JSON Schema: wanted an object");
  }
  const schema = parameters as Record<string, unknown>;
  const { type } = schema;
  if (type === "object") return schema;
  if (type !== undefined && !(Array.isArray(type) && type.includes("object"))) {
    throw refused(name, 'have another type than "object": arguments are an object');
  }
  // Where a reference is alone, its siblings may not count.
  if ("$ref" in schema) return schema;
  return { ...schema, type: "object" };
}

function refused(name: string, what: string): M40Error {
  return new M40Error("invalid_request", `tools: the parameters of ${name} ${what}`, "tools");
}
