import type { ChatRequest, Tool } from "../../engine/mod.ts";
import { unsupported } from "../errors.ts";
import { nameAt, schemaAt, typeName, wrongField } from "../request/mod.ts";
import type { ConversationFields } from "./request_schemas.ts";

type ToolFields = Pick<ChatRequest, "tools" | "toolChoice" | "parallelToolCalls">;

/**
 * The tools of a body, and which of them its answer may or must call.
 *
 * @throws {HttpError} 400 for tools that Anthropic's servers would have, by their type, and for a choice that there
 * is not among the tools.
 */
export function toolFields({ tools, tool_choice }: ConversationFields): ToolFields {
  const read = (tools ?? []).map(readTool);
  const { type = "auto", name, disable_parallel_tool_use } = tool_choice ?? {};
  const names = new Set(read.map(({ name }) => name));
  if (type === "tool") {
    const wanted = "the name of one of the tools";
    if (!names.has(name!)) throw wrongField("tool_choice.name", wanted, name);
  }
  if (type === "any" && read.length === 0) {
    throw wrongField("tool_choice.type", '"any" together with tools', type);
  }
  if (read.length === 0) return {};
  return {
    tools: read,
    toolChoice: type === "tool" ? { name: name! } : type === "any" ? "required" : type,
    parallelToolCalls: disable_parallel_tool_use == null ? undefined : !disable_parallel_tool_use,
  };
}

type Given = NonNullable<ConversationFields["tools"]>[number];

function readTool(
  { type, name, description, input_schema, strict }: Given,
  index: number,
): Tool {
  const at = `tools.${index}`;
  if (type != null && type !== "custom") {
    throw unsupported(
      at,
      `${at}: tools of the type ${
        typeName(type)
      } are not supported: they are Anthropic's own, and this ` +
        "server knows nothing of them. Send tools with a name and an input_schema.",
    );
  }
  return {
    name: nameAt(name, `${at}.name`, "the name of a tool"),
    description: description ?? undefined,
    parameters: schemaAt(input_schema, `${at}.input_schema`),
    strict: strict === true,
  };
}
