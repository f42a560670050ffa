import { z } from "zod";
import { M40Error } from "../engine/errors.ts";
import type { ServerConfig } from "./config.ts";
import { Connection, isForgottenSession } from "./connection.ts";
import { MOST_REASON, MOST_RESULT } from "./limits.ts";
import { reasonOf } from "./reason.ts";
import { readResult, type ToolResult } from "./result.ts";
import { clipped, type ListedTool, listTools } from "./tool_list.ts";

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
  #listed: readonly ListedTool[] = [];
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
  get listed(): readonly ListedTool[] {
    return this.#listed;
  }

  /** What its tools' names begin with. */
  get name(): string {
    return this.config.name;
  }

  get state(): ServerState {
    const { name } = this;
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

  /** Asks for its tools again where it said that they have changed. @returns Whether it was asked. */
  async refresh(signal?: AbortSignal): Promise<boolean> {
    if (!this.#stale || !this.#connection?.open) return false;
    await this.#list(signal).catch((error) => {
      this.#notes = [`Its tools changed, and it did not list them: ${reasonOf(error)}.`];
    });
    return true;
  }

  /**
   * Calls a tool.
   *
   * @param name Its own name of it.
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
    let connection: Connection;
    try {
      connection = await this.#connect(signal);
    } catch (error) {
      signal?.throwIfAborted();
      this.#error = reasonOf(error);
      // What a server wrote before it ended is for the person who set it up.
      return failure(`The server of this tool, ${this.name}, cannot be reached.`);
    }
    try {
      return await this.#ask(connection, name, args, most, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (isForgottenSession(error)) {
        // It has not looked at the call.
        await connection.close();
        const again = await this.#connect(signal).then(
          (renewed) => this.#ask(renewed, name, args, most, signal),
        ).catch(() => undefined);
        signal?.throwIfAborted();
        if (again !== undefined) return again;
      }
      if (!connection.open) {
        this.#error = reasonOf(error, connection.lastWords);
        return failure(
          `The server of this tool, ${this.name}, ended before it answered. Whether the call was carried ` +
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
    this.#listed = tools;
    this.#notes = notes;
  }
}

/** A result that says why there is none. */
export function failure(text: string): ToolResult {
  return { text, failed: true };
}
