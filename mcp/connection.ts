import { abortable } from "@std/async/abortable";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/sse"
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
// @ts-types="@modelcontextprotocol/sdk/types"
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import config from "../deno.json" with { type: "json" };
import { M40Error } from "../engine/errors.ts";
import { boundedFetch } from "./bounded_fetch.ts";
import type { HttpServer, ServerConfig } from "./config.ts";
import { FAREWELL_MS, MOST_MESSAGE_BYTES } from "./limits.ts";
import { ExactResults } from "./message.ts";
import { ProgramTransport } from "./program_transport.ts";
import { reasonOf } from "./reason.ts";
import { within } from "../engine/within.ts";

/** Events of a connection while it lasts. */
export interface ConnectionEvents {
  /** The server has other tools than before. */
  toolsChanged(): void;
}

/** A server that has been greeted. */
export class Connection {
  #open = true;
  #closing?: Promise<void>;

  private constructor(
    readonly client: Client,
    private readonly transport: Transport,
  ) {
    client.onclose = () => this.#open = false;
  }

  /**
   * Starts a server or calls it, and greets it. Over HTTP, streamable HTTP is tried first, and the older way by
   * events where that is not served.
   *
   * @param signal Gives up.
   * @throws What the SDK or the system say, with what the server wrote to its standard error.
   */
  static async open(
    server: ServerConfig,
    events: ConnectionEvents,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Connection> {
    const limit = AbortSignal.timeout(timeoutMs);
    const given = signal === undefined ? limit : AbortSignal.any([signal, limit]);
    if (server.kind === "program") {
      const transport = new ProgramTransport(server);
      try {
        return await Connection.#greet(transport, events, given);
      } catch (error) {
        throw new ServerFailure(reasonOf(error), transport.errors);
      }
    }
    const { transport } = server;
    if (transport === "events") return await Connection.#greet(overEvents(server), events, given);
    try {
      return await Connection.#greet(overHttp(server), events, given);
    } catch (error) {
      if (transport === "streamable" || !isNotServed(error)) throw error;
      return await Connection.#greet(overEvents(server), events, given).catch((other) => {
        throw isNotServed(other) || given.aborted ? error : other;
      });
    }
  }

  static async #greet(
    transport: Transport,
    events: ConnectionEvents,
    signal: AbortSignal,
  ): Promise<Connection> {
    const client = new Client({ name: "m40", version: config.version }, {
      capabilities: {},
      // Results are texts for the model: schemas that servers give of them are not compiled.
      jsonSchemaValidator: { getValidator: () => accept },
    });
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => events.toolsChanged());
    const connection = new Connection(client, transport);
    try {
      // The time of the SDK's own limit is that of the signal.
      await abortable(client.connect(transport, { timeout: 2 ** 31 - 1 }), signal);
      return connection;
    } catch (error) {
      await connection.close();
      throw error === signal.reason && signal.reason?.name === "TimeoutError"
        ? new M40Error("timeout", "it did not answer in time")
        : error;
    }
  }

  /** Whether the server can be asked. */
  get open(): boolean {
    return this.#open;
  }

  /** What a server that is a program wrote to its standard error last. */
  get lastWords(): string {
    return this.transport instanceof ProgramTransport ? this.transport.errors : "";
  }

  /** Ends the server where it is a program, or the session with it. */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#open = false;
    const { transport } = this;
    if (transport instanceof StreamableHTTPClientTransport) {
      await within(FAREWELL_MS, transport.terminateSession()).catch(() => {});
    }
    await transport.close().catch(() => {});
  }
}

// deno-lint-ignore no-explicit-any -- As the SDK's type has it.
const accept = (input: unknown): any => ({ valid: true, data: input, errorMessage: undefined });

function overHttp({ url, headers }: HttpServer): Transport {
  return exact((fetch) =>
    new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers } })
  );
}

function overEvents({ url, headers }: HttpServer): Transport {
  return exact((fetch) => new SSEClientTransport(url, { fetch, requestInit: { headers } }));
}

/** A transport of the SDK's, which reads messages itself, with results as the server wrote them. */
function exact(make: (fetch: ReturnType<typeof boundedFetch>) => Transport): Transport {
  const results = new ExactResults();
  const transport = make(boundedFetch(MOST_MESSAGE_BYTES, (text) => results.take(text)));
  // The client also calls the listener set before, with the same message.
  transport.onmessage = (message) => results.put(message);
  return transport;
}

/** Whether a server says that it does not know of this way of being spoken with. */
function isNotServed(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === "number" && [400, 404, 405, 406, 415].includes(code);
}

/** Whether a server over HTTP has forgotten the session, as a restarted one does. */
export function isForgottenSession(error: unknown): boolean {
  return error instanceof StreamableHTTPError && error.code === 404;
}

/** A server that is a program and did not come so far that it could be asked. */
export class ServerFailure extends M40Error {
  /** @param lastWords What it wrote to its standard error last. */
  constructor(message: string, readonly lastWords: string) {
    super("io", message);
  }
}
