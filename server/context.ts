import type { Dialect } from "./dialect.ts";
import type { Drain } from "./drain.ts";
import type { Metrics, RequestTrace } from "./metrics/mod.ts";
import type { Models } from "./models/mod.ts";

/** How a server answers. */
export interface ServerSettings {
  /** The longest request body that is read, in bytes. Default 4 MiB. */
  readonly maxBodyBytes: number;
  /** How long a request may take, waiting included, in milliseconds. Default: as long as it does. */
  readonly timeoutMs?: number;
  /** How long a stream may be silent before a comment is sent, in milliseconds. Default 15,000. */
  readonly commentMs: number;
  /** How long the head of a stream waits for its first event, in milliseconds. Default 0: it leaves at once. */
  readonly holdStreamsMs: number;
  /** How often a stream says that it waits for its model, in milliseconds. Default 5,000. */
  readonly loadingCommentMs: number;
  /** Whether reasoning is separate from an answer's content; default "separate". */
  readonly reasoning: "separate" | "inline";
  /** Tokens of reasoning at most where a request does not say; default: no limit. */
  readonly reasoningBudget?: number;
  /** Whether clients may pull, copy and delete models by Ollama's routes. Default: no. */
  readonly storeChanges: boolean;
}

/** What every route works with. */
export interface ServerContext extends ServerSettings {
  /** The models that are served. */
  readonly models: Models;
  /** When the server was started, in seconds since 1970. */
  readonly created: number;
  /** What the server and its models do. */
  readonly metrics: Metrics;
}

/** What {@link serve} gives to the routes in addition to the request. */
export interface ServerEnv {
  Bindings: {
    /** Aborted when the client has left, or the server stops and what still runs is to end. */
    signal?: AbortSignal;
    /** Aborted when the client has closed its sending half: it waits for its answer, or has left. */
    halfClosed?: AbortSignal;
    /** Whether the server takes new requests. */
    drain?: Drain;
  };
  Variables: {
    /** How the answer's errors and streams are written. */
    dialect: Dialect;
    /** The name of what the request's prompt begins with, where it has one. */
    prefix?: string;
    /** Where requests are traced, the trace of this one. */
    trace?: RequestTrace;
  };
}

/**
 * The signal that ends a request's generations: the client has left, or the server stops. Without a
 * server around the app it is the request's own.
 *
 * @param request The request.
 * @param env What {@link serve} gave with it.
 */
export function requestSignal(request: Request, env: ServerEnv["Bindings"]): AbortSignal {
  return env.signal ?? request.signal;
}
