import { unsupported } from "../errors.ts";
import { describe } from "../fields.ts";
import { wrongField } from "../parse_body.ts";
import type { ConversationFields } from "./request_schemas.ts";

/**
 * Refuses what is not done, rather than answering something else than was asked for.
 *
 * @throws {HttpError} 400 naming the field.
 */
export function refuseUnsupported(body: ConversationFields & { container?: unknown }): void {
  const { tools, tool_choice, mcp_servers, thinking, container } = body;
  if (tools != null && tools.length > 0) {
    throw unsupported(
      "tools",
      "tools: calls of tools are not supported yet. Leave tools out, or empty.",
    );
  }
  if (tool_choice != null && tool_choice.type !== "none" && tool_choice.type !== "auto") {
    throw unsupported(
      "tool_choice",
      `tool_choice: the type ${describe(tool_choice.type)} is not supported yet: there are no ` +
        "tools to choose. Leave it out.",
    );
  }
  if (mcp_servers != null && mcp_servers.length > 0) {
    throw unsupported("mcp_servers", "mcp_servers are not supported. Leave them out, or empty.");
  }
  if (container != null) {
    throw unsupported("container", "container is not supported. Leave it out.");
  }
  if (thinking?.type === "enabled" && thinking.budget_tokens == null) {
    throw wrongField(
      "thinking.budget_tokens",
      'a number of tokens with the type "enabled"',
      thinking.budget_tokens,
    );
  }
}
