import type { Client } from "@modelcontextprotocol/sdk/client";
import { z } from "zod";
import { MOST_DESCRIPTION, MOST_PAGES, MOST_TOOLS } from "./limits.ts";

/** A tool as its server lists it, made harmless. */
export interface ListedTool {
  /** The server's own name of it. */
  readonly name: string;
  /** What a person reads. */
  readonly title?: string;
  readonly description?: string;
  /** Whatever it gives as the schema of its arguments. */
  readonly schema: unknown;
  /** Whether the server says that it changes nothing. */
  readonly readOnly: boolean;
}

/** The longest name that a server may give a tool, in characters. */
const MOST_NAME = 256;

const Page = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().nullish(),
});

const Tool = z.looseObject({
  name: z.string().min(1).max(MOST_NAME),
  title: z.string().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  inputSchema: z.unknown().optional(),
  annotations: z.looseObject({
    title: z.string().optional().catch(undefined),
    readOnlyHint: z.boolean().optional().catch(undefined),
  }).optional().catch(undefined),
  execution: z.looseObject({ taskSupport: z.unknown() }).optional().catch(undefined),
});

/**
 * The tools that a server lists: each page of them, up to a number of tools. One that is not understood costs
 * itself alone.
 *
 * @returns The tools, and what was left out, a sentence each.
 * @throws What the SDK says of a server that does not answer, or answers something else.
 */
export async function listTools(
  client: Client,
  signal: AbortSignal,
): Promise<{ tools: ListedTool[]; notes: string[] }> {
  const tools = new Map<string, ListedTool>();
  const notes: string[] = [];
  let listed = 0;
  let wrong = 0;
  let cursor: string | undefined;
  const seen = new Set<string>();
  for (let page = 0; page < MOST_PAGES && listed <= MOST_TOOLS; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools: items, nextCursor } = await client.request(
      { method: "tools/list", params },
      Page,
      { signal, timeout: 2 ** 31 - 1 },
    );
    for (const item of items) {
      if (++listed > MOST_TOOLS) continue;
      const { data } = Tool.safeParse(item);
      if (
        data === undefined || tools.has(data.name) || data.execution?.taskSupport === "required"
      ) {
        wrong++;
      } else tools.set(data.name, readTool(data));
    }
    cursor = nextCursor ?? undefined;
    // A server that gives the same page again would do so for ever.
    if (cursor === undefined || seen.has(cursor)) break;
    seen.add(cursor);
  }
  if (listed > MOST_TOOLS) {
    notes.push(`It lists ${listed} tools or more; the first ${MOST_TOOLS} are offered.`);
  }
  if (wrong > 0) {
    notes.push(
      `${wrong} of its tools ${
        wrong === 1 ? "is" : "are"
      } left out: without a name of their own, or of a kind ` +
        "that is not called by itself.",
    );
  }
  return { tools: [...tools.values()], notes };
}

function readTool(tool: z.output<typeof Tool>): ListedTool {
  const title = tool.title ?? tool.annotations?.title;
  return {
    name: tool.name,
    ...(title === undefined ? {} : { title: clipped(title, MOST_NAME) }),
    ...(tool.description === undefined
      ? {}
      : { description: clipped(tool.description, MOST_DESCRIPTION) }),
    schema: tool.inputSchema,
    readOnly: tool.annotations?.readOnlyHint ?? false,
  };
}

/** The first characters of a text, without half of a character at its end or within. */
export function clipped(text: string, most: number): string {
  return (text.length <= most ? text : text.slice(0, most - 1) + "…").toWellFormed();
}
