import { MOST_CHARACTERS, MOST_OFFERED } from "./limits.ts";
import { toolName } from "./names.ts";
import { SchemaRoom } from "./schema_room.ts";
import { clipped, type ListedTool } from "./tool_list.ts";

/** A server's tool as a model is offered it. */
export interface McpTool {
  /** The name that the model calls it by, unlike that of every other server's tools. */
  readonly name: string;
  /** The server's name in the file. */
  readonly server: string;
  /** The server's own name of it. */
  readonly ownName: string;
  /** What a person reads; absent: its name. */
  readonly title?: string;
  readonly description?: string;
  /** A JSON Schema that the arguments can be held to. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Whether the server says that it changes nothing, which m40 cannot check. */
  readonly readOnly: boolean;
}

/** The tools of all servers, as one request can have them. */
export interface Offer {
  readonly tools: readonly McpTool[];
  /** What of a server's tools is not as it lists them, a sentence each. */
  readonly notes: readonly string[];
}

/** Makes names, schemas and texts such that one request can offer all tools; what has no room is left out. */
export async function offerOf(
  servers: readonly { readonly name: string; readonly listed: readonly ListedTool[] }[],
): Promise<Offer> {
  const room = new SchemaRoom();
  const tools: McpTool[] = [];
  const notes: string[] = [];
  let characters = 0;
  for (const { name: server, listed } of servers) {
    const names = new Set<string>();
    let left = 0;
    for (const { schema, description = "", name: ownName, ...rest } of listed) {
      const name = toolName(server, ownName, names);
      names.add(name);
      const { parameters, reason, shown } = room.take(schema);
      const text = [
        ...(description === "" ? [] : [description]),
        ...(shown === undefined ? [] : [`Arguments (JSON Schema): ${shown}`]),
      ].join("\n\n");
      const length = name.length + text.length + JSON.stringify(parameters).length;
      if (tools.length >= MOST_OFFERED || characters + length > MOST_CHARACTERS) {
        left++;
        continue;
      }
      characters += length;
      if (reason !== undefined) {
        notes.push(
          `MCP server ${server}: The arguments of ${name} are not held to the schema that it gives: ${
            clipped(reason, 300)
          }.`,
        );
      }
      const described = text === "" ? {} : { description: text };
      tools.push({ ...rest, name, ownName, server, ...described, parameters });
      // Others are answered in between.
      await new Promise((resolve) => setTimeout(resolve));
    }
    if (left > 0) {
      notes.push(`MCP server ${server}: ${left} of its tools have no room next to the others.`);
    }
  }
  return { tools, notes };
}
