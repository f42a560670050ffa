import type { Context, Hono } from "hono";
import { z } from "zod";
import { M40Error } from "../../engine/errors.ts";
import type { McpTools } from "../../mcp/mod.ts";
import { isOriginOf } from "../access/mod.ts";
import { parseBody, readJson, requiredObject, wants } from "../request/mod.ts";
import { requestSignal, type ServerContext, type ServerEnv } from "../context.ts";
import { HttpError } from "../errors.ts";
import { get, post } from "../route.ts";

/** Calls that may run at the same time. */
const MOST_CALLS = 32;

/** The answer of `GET /m40/mcp/tools`. */
export const McpToolList = z.strictObject({
  tools: z.array(z.strictObject({
    type: z.literal("function"),
    function: z.strictObject({
      name: z.string().describe("SERVER__TOOL, unlike that of every other tool."),
      description: z.string().optional(),
      parameters: z.record(z.string(), z.unknown()).describe(
        "A JSON Schema that arguments follow.",
      ),
    }).describe("As /v1/chat/completions takes it in `tools`."),
    server: z.string(),
    title: z.string().optional().describe("What a person reads."),
    read_only: z.boolean().describe(
      "Whether its server says that it changes nothing, which m40 cannot check.",
    ),
    allowed: z.boolean().describe("Whether it may be called without asking."),
  })),
  servers: z.array(z.strictObject({
    name: z.string(),
    state: z.enum(["ready", "failed", "ended"]).describe(
      "A server that has ended is started again by the next call.",
    ),
    error: z.string().optional().describe("Why it failed."),
  })),
}).meta({ id: "McpToolList" });

/** The body of `POST /m40/mcp/call`. */
export const McpCallRequest = z.object({
  name: z.string(wants("a string")).describe("A tool's name."),
  arguments: z.union(
    [z.string(), requiredObject()],
    wants("an object, or the JSON of one"),
  ).describe("Its arguments: an object, or its JSON, as a call of a model has it."),
  confirmed: z.boolean(wants("a boolean")).optional().describe(
    "Whether the user has said yes to this call. A tool that is not allowed wants it.",
  ),
}, wants("a JSON object")).meta({ id: "McpCallRequest" });

/** The answer of `POST /m40/mcp/call`. */
export const McpCallResult = z.strictObject({
  content: z.string().describe(
    "What the model gets: the content of the message of the role `tool`.",
  ),
  is_error: z.boolean().describe("Whether the tool did not do what was asked."),
}).meta({ id: "McpCallResult" });

/**
 * `GET /m40/mcp/tools` and `POST /m40/mcp/call`: tools of MCP servers for the server's own page, which asks before
 * each call.
 *
 * @param mcp The servers' tools, when they have started; absent: there are none.
 */
export function mcpRoutes(
  app: Hono<ServerEnv>,
  server: ServerContext,
  mcp?: Promise<McpTools>,
): void {
  let running = 0;
  get(app, "/m40/mcp/tools", async (c) => {
    const tools = await toolsFor(c, mcp);
    if (tools === undefined) return c.json(NO_TOOLS);
    await tools.refresh();
    return c.json(listOf(tools));
  });
  post(app, "/m40/mcp/call", async (c) => {
    const tools = await toolsFor(c, mcp);
    if (tools === undefined) {
      throw new HttpError(
        404,
        "mcp_off",
        "This server has no tools of MCP servers. Start it with --mcp FILE.",
      );
    }
    const { name, arguments: args, confirmed } = parseBody(
      McpCallRequest,
      await readJson(c.req.raw, server.maxBodyBytes),
    );
    if (!tools.tools.some((tool) => tool.name === name)) {
      throw new HttpError(
        404,
        "tool_not_found",
        `There is no tool ${
          JSON.stringify(name.slice(0, 100))
        }. GET /m40/mcp/tools lists those that there are.`,
        { param: "name" },
      );
    }
    if (!tools.allowed(name) && confirmed !== true) {
      throw new HttpError(
        403,
        "not_allowed",
        `The tool ${name} is called only when the user has said yes to the call: ask, and send ` +
          `"confirmed": true; or start the server with --mcp-allow ${name}.`,
        { param: "confirmed" },
      );
    }
    if (running >= MOST_CALLS) {
      throw new HttpError(
        429,
        "too_many_calls",
        `${MOST_CALLS} calls of tools are running, which is the most. Try again when one has ended.`,
        { headers: { "Retry-After": "1" } },
      );
    }
    const signal = requestSignal(c.req.raw, c.env);
    running++;
    try {
      const { text, failed } = await tools.call(name, args, signal);
      const result: z.output<typeof McpCallResult> = { content: text, is_error: failed };
      return c.json(result);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw new M40Error(
        "cancelled",
        "The call was given up: the client has left, or the server ends.",
      );
    } finally {
      running--;
    }
  });
}

/**
 * The tools, for callers that may use them; undefined where there are no servers.
 *
 * A tool may do anything on this machine. So pages of origins that `--cors` allows are refused too, and so are browser
 * extensions and desktop programs, whose origins have their own scheme.
 *
 * @throws {HttpError} 403 for any other origin than the server's own.
 */
async function toolsFor(
  c: Context<ServerEnv>,
  mcp?: Promise<McpTools>,
): Promise<McpTools | undefined> {
  const origin = c.req.header("origin");
  if (origin !== undefined && !isOriginOf(origin, c.req.header("host"))) {
    throw new HttpError(
      403,
      "forbidden_origin",
      `Tools of MCP servers are for the server's own page, not for "${origin.slice(0, 100)}".`,
    );
  }
  return await mcp;
}

const NO_TOOLS: z.output<typeof McpToolList> = { tools: [], servers: [] };

function listOf(mcp: McpTools): z.output<typeof McpToolList> {
  return {
    tools: mcp.tools.map(({ name, description, parameters, server, title, readOnly }) => ({
      type: "function",
      function: { name, parameters, description },
      server,
      title,
      read_only: readOnly,
      allowed: mcp.allowed(name),
    })),
    servers: mcp.servers.map(({ name, state, error }) => ({ name, state, error })),
  };
}
