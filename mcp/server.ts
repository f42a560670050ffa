import { z } from "zod";
import { M40Error } from "../engine/errors.ts";
import type { ServerConfig } from "./config.ts";
import { Connection, isForgottenSession } from "./connection.ts";
import { MOST_REASON, MOST_RESULT, SCHEMAS_MS } from "./limits.ts";
import { toolName } from "./names.ts";
import { parametersOf } from "./parameters.ts";
import { reasonOf } from "./reason.ts";
import { readResult, type ToolResult } from "./result.ts";
import { clipped, type ListedTool, listTools } from "./tool_list.ts";

/** A server's tool as a model is offered it. */
export interface McpTool {
  /** The name that the model calls it by, unlike that of every other server's tools. */
  readonly name: string;
  /** The server's name in the file. */
  readonly server: string;
  /** What a person reads; absent: its name. */
  readonly title?: string;
  readonly description?: string;
  /** A JSON Schema that the arguments can be held to. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Whether the server says that it changes nothing, which nobody has checked. */
  readonly readOnly: boolean;
}

/** How a server does. */
export interface ServerState {
  readonly name: string;
  readonly state: "ready" | "failed" | "ended";
  /** Why it failed. */
  readonly error?: string;
  /** What of it is not as it says, a sentence each. */
  readonly notes: readonly string[];
}

/** How long a server may take, in milliseconds. */
export interface ServerTimes {
  /** To start, to be greeted and to list its tools. */
  readonly startMs: number;
  /** To answer a call. */
  readonly callMs: number;
}

const Result = z.looseObject({
  content: z.array(z.unknown()).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.unknown().optional(),
});

/** One server: its connection, which is opened again when it is wanted and has ended, and its tools. */
export class McpServer {
  readonly #own = new Map<string, string>();
  #tools: readonly McpTool[] = [];
  #notes: readonly string[] = [];
  #connection?: Connection;
  #opening?: Promise<Connection>;
  #error?: string;
  #stale = false;
  #closed = false;

  constructor(
    readonly config: ServerConfig,
    private readonly times: ServerTimes,
  ) {}

  /** Its tools as it listed them last. */
  get tools(): readonly McpTool[] {
    return this.#tools;
  }

  get state(): ServerState {
    const { name } = this.config;
    const notes = this.#notes;
    if (this.#error !== undefined) return { name, state: "failed", error: this.#error, notes };
    return { name, state: this.#connection?.open ? "ready" : "ended", notes };
  }

  /** Starts it and asks for its tools. What goes wrong is in {@link state}. */
  async start(signal?: AbortSignal): Promise<void> {
    await this.#connect(signal).then(() => this.#list(signal)).catch((error) => {
      this.#error = reasonOf(error);
    });
  }

  /** Asks for its tools again where it said that they have changed. */
  async refresh(signal?: AbortSignal): Promise<void> {
    if (!this.#stale || !this.#connection?.open) return;
    await this.#list(signal).catch((error) => {
      this.#notes = [`Its tools changed, and it did not list them: ${reasonOf(error)}.`];
    });
  }

  /**
   * Calls a tool.
   *
   * @param name The name that models have for it.
   * @param most Characters that the result may have.
   * @returns The result; one that failed where the server did not give one, with the reason in words.
   * @throws The signal's reason, where it ends the call.
   */
  async call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
    most = MOST_RESULT,
  ): Promise<ToolResult> {
    const own = this.#own.get(name);
    if (own === undefined) return failure(`There is no tool ${JSON.stringify(name)} any more.`);
    let connection: Connection;
    try {
      connection = await this.#connect(signal);
    } catch (error) {
      signal?.throwIfAborted();
      this.#error = reasonOf(error);
      // What a server wrote before it ended is for the person who set it up.
      return failure(`The server of this tool, ${this.config.name}, cannot be reached.`);
    }
    try {
      return await this.#ask(connection, own, args, most, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (isForgottenSession(error)) {
        // It has not looked at the call.
        await connection.close();
        const again = await this.#connect(signal).then(
          (renewed) => this.#ask(renewed, own, args, most, signal),
        ).catch(() => undefined);
        signal?.throwIfAborted();
        if (again !== undefined) return again;
      }
      if (!connection.open) {
        this.#error = reasonOf(error, connection.lastWords);
        return failure(
          `The server of this tool, ${this.config.name}, ended before it answered. Whether the call was carried ` +
            "out is not known.",
        );
      }
      return failure(`The call failed: ${clipped(reasonOf(error), MOST_REASON)}`);
    }
  }

  /** Ends it. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#opening?.catch(() => {});
    await this.#connection?.close();
  }

  async #ask(
    { client }: Connection,
    name: string,
    args: Readonly<Record<string, unknown>>,
    most: number,
    signal?: AbortSignal,
  ): Promise<ToolResult> {
    const limit = AbortSignal.timeout(this.times.callMs);
    const given = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    try {
      const result = await client.request(
        { method: "tools/call", params: { name, arguments: args } },
        Result,
        { signal: given, timeout: 2 ** 31 - 1 },
      );
      return readResult(result, most);
    } catch (error) {
      if (!limit.aborted) throw error;
      throw new M40Error(
        "timeout",
        `there was no result within ${this.times.callMs / 1000} seconds`,
      );
    }
  }

  #connect(signal?: AbortSignal): Promise<Connection> {
    if (this.#closed) return Promise.reject(new M40Error("cancelled", "it was closed"));
    if (this.#connection?.open) return Promise.resolve(this.#connection);
    return this.#opening ??= this.#open(signal).finally(() => this.#opening = undefined);
  }

  async #open(signal?: AbortSignal): Promise<Connection> {
    const events = { toolsChanged: () => this.#stale = true };
    await this.#connection?.close();
    const connection = await Connection.open(this.config, events, this.times.startMs, signal);
    this.#connection = connection;
    this.#error = undefined;
    if (this.#closed) await connection.close();
    return connection;
  }

  async #list(signal?: AbortSignal): Promise<void> {
    const { client } = this.#connection!;
    this.#stale = false;
    if (client.getServerCapabilities()?.tools === undefined) {
      this.#notes = ["It offers no tools."];
      return;
    }
    const limit = AbortSignal.timeout(this.times.startMs);
    const given = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    const { tools, notes } = await listTools(client, given);
    await this.#take(tools, notes);
  }

  /** Takes a list of tools in the place of the last one. */
  async #take(listed: readonly ListedTool[], listNotes: readonly string[]): Promise<void> {
    const notes = [...listNotes];
    const names = new Map<string, string>();
    const tools: McpTool[] = [];
    let spent = 0;
    for (const { schema, description = "", ...tool } of listed) {
      const name = toolName(this.config.name, tool.name, new Set(names.keys()));
      names.set(name, tool.name);
      const begin = performance.now();
      const { parameters, reason, shown } = spent > SCHEMAS_MS ? LATE : parametersOf(schema);
      spent += performance.now() - begin;
      if (reason !== undefined) {
        notes.push(
          `The arguments of ${name} are not held to the schema that it gives: ${
            clipped(reason, 300)
          }.`,
        );
      }
      const told = [
        description,
        ...(shown === undefined ? [] : [`Arguments (JSON Schema): ${shown}`]),
      ]
        .filter((text) => text !== "").join("\n\n");
      tools.push({
        ...tool,
        name,
        server: this.config.name,
        ...(told === "" ? {} : { description: told }),
        parameters,
      });
      // Others are answered in between.
      await new Promise((resolve) => setTimeout(resolve));
    }
    this.#own.clear();
    for (const [name, own] of names) this.#own.set(name, own);
    this.#tools = tools;
    this.#notes = notes;
  }
}

const LATE = {
  parameters: { type: "object" },
  reason: "the schemas before it took too long to look at",
  shown: undefined,
} as const;

/** A result that says why there is none. */
export function failure(text: string): ToolResult {
  return { text, failed: true };
}
