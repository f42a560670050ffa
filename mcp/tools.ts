import { isJsonObject, parseJson } from "../engine/json/mod.ts";
import type { McpConfig } from "./config.ts";
import { isNamed } from "./names.ts";
import type { ToolResult } from "./result.ts";
import { type McpTool, type Offer, offerOf } from "./offer.ts";
import { failure, McpServer, type ServerState, type ServerTimes } from "./server.ts";

/** How the servers of a file are used. */
export interface McpOptions {
  /** Names of tools that are called without asking, in addition to those of the file. */
  readonly allow?: readonly string[];
  /** How long a server may take to start and list its tools, in milliseconds; default a minute. */
  readonly startMs?: number;
  /** How long a call may take, in milliseconds; default a minute. */
  readonly callMs?: number;
  /** Gives up on servers that are being started. */
  readonly signal?: AbortSignal;
}

const MINUTE_MS = 60_000;

/** The tools of all servers of a file. A server's failure affects neither other servers nor the caller. */
export class McpTools implements AsyncDisposable {
  #offer: Offer = { tools: [], notes: [] };

  private constructor(
    private readonly own: readonly McpServer[],
    private readonly allow: readonly string[],
    private readonly configNotes: readonly string[],
  ) {}

  /** Starts the servers, all at the same time, and waits for their tools. Those that fail have none. */
  static async open(config: McpConfig, options: McpOptions = {}): Promise<McpTools> {
    const { startMs = MINUTE_MS, callMs = MINUTE_MS, signal } = options;
    const times: ServerTimes = { startMs, callMs };
    const servers = config.servers.map((server) => new McpServer(server, times));
    const allow = [...config.allow, ...options.allow ?? []];
    const tools = new McpTools(servers, allow, config.notes);
    await Promise.all(servers.map((server) => server.start(signal)));
    await tools.refresh();
    return tools;
  }

  /** What a model may be offered. */
  get tools(): readonly McpTool[] {
    return this.#offer.tools;
  }

  get servers(): readonly ServerState[] {
    return this.own.map(({ state }) => state);
  }

  /** Warnings for the user that set the servers up, a sentence each. */
  get notes(): readonly string[] {
    const tools = this.tools;
    const idle = this.allow.filter((pattern) =>
      !tools.some(({ name, server }) => isNamed(name, server, [pattern]))
    );
    return [
      ...this.configNotes,
      ...this.servers.flatMap(({ name, error, lastWords, notes }) => [
        ...(error === undefined ? [] : [
          `MCP server ${name}: ${error}${
            lastWords === undefined ? "" : `; it wrote: ${lastWords}`
          }`,
        ]),
        ...notes.map((note) => `MCP server ${name}: ${note}`),
      ]),
      ...this.#offer.notes,
      ...idle.map((pattern) => `${pattern} is allowed, and no tool is called so.`),
    ];
  }

  /** Whether a tool may be called without asking. */
  allowed(name: string): boolean {
    const tool = this.tools.find((tool) => tool.name === name);
    return tool !== undefined && isNamed(name, tool.server, this.allow);
  }

  /** Asks servers for their tools again that said that they have changed, and tries those again that failed. */
  async refresh(): Promise<void> {
    const changed = await Promise.all(this.own.map((server) => server.refresh()));
    if (changed.includes(true)) this.#offer = await offerOf(this.own);
  }

  /**
   * Calls a tool. Failures are reported in the result.
   *
   * @param args Its arguments: an object, or the JSON of one.
   * @param most Characters that the result may have.
   * @throws The signal's reason, where it ends the call.
   */
  async call(
    name: string,
    args: unknown,
    signal?: AbortSignal,
    most?: number,
  ): Promise<ToolResult> {
    const tool = this.tools.find((tool) => tool.name === name);
    const server = this.own.find(({ name }) => name === tool?.server);
    if (tool === undefined || server === undefined) {
      return failure(`There is no tool ${JSON.stringify(name.slice(0, 100))}.`);
    }
    const fields = typeof args === "string" ? parsed(args) : args;
    if (!isJsonObject(fields)) {
      return failure("The arguments are not an object in JSON, as the tool wants them.");
    }
    return await server.call(tool.ownName, fields, signal, most);
  }

  /** Ends all servers. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.own.map((server) => server.close()));
  }
}

function parsed(json: string): unknown {
  if (json.trim() === "") return {};
  try {
    return parseJson(json);
  } catch {
    return undefined;
  }
}
