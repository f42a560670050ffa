import { abortable } from "@std/async/abortable";
import { z } from "zod";
import { M40Error } from "../engine/errors.ts";
import type { ServerConfig } from "./config.ts";
import { Connection, isForgottenSession, ServerFailure } from "./connection.ts";
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
  /** What it wrote to its standard error before it failed: for the user that set it up alone. */
  readonly lastWords?: string;
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

/** How long a server that could not be started is left alone, in milliseconds. */
const RETRY_MS = 30_000;

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
  #failure?: { readonly error: string; readonly lastWords?: string };
  #tried = 0;
  #stale = false;
  /** Whether it lists other tools than when it was asked for them last. */
  #listedAgain = false;
  #closed = false;
  /** Ends an opening that the end of it all comes upon. */
  readonly #end = new AbortController();

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
    if (this.#failure !== undefined) return { name, state: "failed", ...this.#failure, notes };
    return { name, state: this.#connection?.open ? "ready" : "ended", notes };
  }

  /** Starts it, unless the signal gives that up, and asks for its tools. Failures are in {@link state}. */
  async start(signal?: AbortSignal): Promise<void> {
    this.#tried = Date.now();
    const connected = this.#connect(undefined, signal);
    await connected.then(() => this.#list(signal)).catch((error) => this.#fail(error));
  }

  /**
   * Asks for its tools again where it said that they have changed. One that could not be started is tried again now
   * and then, which is not waited for.
   *
   * @returns Whether its tools may be others than before.
   */
  async refresh(): Promise<boolean> {
    if (this.#stale && this.#connection?.open) {
      await this.#list().catch((error) => {
        this.#notes = [`Its tools changed, and it did not list them: ${reasonOf(error)}.`];
      });
    } else if (this.#failure !== undefined && this.#listed.length === 0) {
      if (Date.now() - this.#tried > RETRY_MS && !this.#closed) this.start();
    }
    const isListed = this.#listedAgain;
    this.#listedAgain = false;
    return isListed;
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
      this.#fail(error);
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
        this.#fail(error, connection.lastWords);
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
    this.#end.abort(new M40Error("cancelled", "it was closed"));
    await this.#opening?.catch(() => {});
    await this.#connection?.close();
  }

  #fail(error: unknown, lastWords = error instanceof ServerFailure ? error.lastWords : ""): void {
    const words = lastWords.trim();
    this.#failure = { error: reasonOf(error), ...(words === "" ? {} : { lastWords: words }) };
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

  /**
   * The connection, opened where there is none. All waiting callers share one opening.
   *
   * @param signal Ends the waiting, and not the opening.
   * @param givesUp Ends an opening that begins here.
   */
  #connect(signal?: AbortSignal, givesUp?: AbortSignal): Promise<Connection> {
    if (this.#closed) return Promise.reject(new M40Error("cancelled", "it was closed"));
    if (this.#connection?.open) return Promise.resolve(this.#connection);
    if (this.#opening === undefined) {
      this.#opening = this.#open(givesUp).finally(() => this.#opening = undefined);
      // All waiting callers may have left when it fails.
      this.#opening.catch(() => {});
    }
    return signal === undefined ? this.#opening : abortable(this.#opening, signal);
  }

  async #open(givesUp?: AbortSignal): Promise<Connection> {
    const events = { toolsChanged: () => this.#stale = true };
    await this.#connection?.close();
    const end = this.#end.signal;
    const signal = givesUp === undefined ? end : AbortSignal.any([givesUp, end]);
    const connection = await Connection.open(this.config, events, this.times.startMs, signal);
    this.#connection = connection;
    this.#failure = undefined;
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
    this.#listedAgain = true;
    this.#notes = notes;
  }
}

/** A result that says why there is none. */
export function failure(text: string): ToolResult {
  return { text, failed: true };
}
