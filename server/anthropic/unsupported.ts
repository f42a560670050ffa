import { unsupported } from "../errors.ts";
import { wrongField } from "../request/mod.ts";
import type { ConversationFields } from "./request_schemas.ts";

/**
 * Refuses what is not done, rather than answering something else than was asked for.
 *
 * @throws {HttpError} 400 naming the field.
 */
export function refuseUnsupported(body: ConversationFields & { container?: unknown }): void {
  const { mcp_servers, thinking, container } = body;
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
