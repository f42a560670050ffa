/** A real server for the tests: the golden model on the CPU library behind its own HTTP server. */
import { assert, assertEquals } from "@std/assert";
import { Engine, type EngineOptions } from "../engine/mod.ts";
import { type AppOptions, createApp, serve, type ServeOptions } from "../server/mod.ts";

/** A server that listens; disposing it stops it and frees the engine. */
export interface TestServer extends AsyncDisposable {
  engine: Engine;
  port: number;
  /** `http://127.0.0.1:port`. */
  url: string;
  /** Sends a JSON body; what is not a string is made JSON first. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  /** Begins the server's end, as Ctrl-C does. */
  stop(): void;
  /** Resolves when the server has ended. */
  finished: Promise<void>;
}

/** What a test server differs in. */
export interface TestServerOptions {
  engine?: EngineOptions;
  app?: Partial<AppOptions>;
  drainMs?: number;
  noticeMs?: number;
  maxConnections?: number;
  limits?: ServeOptions["limits"];
  /** A model of one's own. */
  path?: string;
  /** The model's context is made this long, for generations that would last for minutes. */
  contextLength?: number;
}

/** The name that the test servers serve their model as. */
export const MODEL = "golden";

const GOLDEN = new URL("data/golden/llama.gguf", import.meta.url).pathname;

/** Starts a server on a free port. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { engine: engineOptions, app: appOptions, drainMs, noticeMs, contextLength } = options;
  const { maxConnections, limits } = options;
  const path = contextLength === undefined
    ? options.path ?? GOLDEN
    : withContextLength(contextLength);
  const engine = await Engine.load(path, {
    device: "cpu",
    threads: 1,
    contextTokens: contextLength,
    parallel: 1,
    ...engineOptions,
  });
  if (contextLength !== undefined) Deno.removeSync(path);
  const app = createApp({ engine, modelName: MODEL, ...appOptions });
  const controller = new AbortController();
  const { signal } = controller;
  const { port, finished } = serve(app, {
    hostname: "127.0.0.1",
    port: 0,
    signal,
    drainMs,
    noticeMs,
    maxConnections,
    limits,
    idle: () => engine.idle(),
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    engine,
    port,
    url,
    finished,
    stop: () => controller.abort(),
    post: (path, body, init = {}) =>
      fetch(url + path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        ...init,
        headers: { "Content-Type": "application/json", ...init.headers },
      }),
    async [Symbol.asyncDispose]() {
      controller.abort();
      await finished;
      await engine.close();
    },
  };
}

/** A copy of the golden model that says that it was trained for a longer context. */
function withContextLength(tokens: number): string {
  const bytes = Deno.readFileSync(GOLDEN);
  const key = new TextEncoder().encode("llama.context_length");
  const at = bytes.findIndex((_, i) => key.every((byte, k) => bytes[i + k] === byte)) + key.length;
  const view = new DataView(bytes.buffer);
  assertEquals(view.getUint32(at, true), 4, "the context length is a u32");
  assertEquals(view.getUint32(at + 4, true), 128);
  view.setUint32(at + 4, tokens, true);
  const path = Deno.makeTempFileSync({ suffix: ".gguf" });
  Deno.writeFileSync(path, bytes);
  return path;
}

/** What a request took, as an answer says it. */
export function usageOf(prompt: number, completion: number, more = { cached: 0, reasoning: 0 }) {
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: more.cached },
    completion_tokens_details: { reasoning_tokens: more.reasoning },
  };
}

/** Fields that keep the golden model from ending its text, so that lengths are known. */
export const NO_END = { temperature: 0, logit_bias: { "2": -100 } };

/** The JSON of a server-sent event stream that ends with [DONE]; its bytes are checked on the way. */
// deno-lint-ignore no-explicit-any
export async function readEvents(response: Response): Promise<any[]> {
  const events = (await response.text()).split("\n\n");
  assertEquals(events.pop(), "", "the last event ends with an empty line");
  assertEquals(events.pop(), "data: [DONE]");
  return events.map((event) => {
    assert(event.startsWith("data: "), event);
    assert(!event.includes("\n"), event);
    return JSON.parse(event.slice("data: ".length));
  });
}

/** Checks that an answer is an error in OpenAI's shape, and gives it. */
export async function readError(
  response: Response,
  status: number,
): Promise<{ message: string; type: string; param: string | null; code: string }> {
  const text = await response.text();
  assertEquals(response.status, status, text);
  const { error, ...rest } = JSON.parse(text);
  assertEquals(rest, {});
  assertEquals(Object.keys(error), ["message", "type", "param", "code"]);
  assert(typeof error.message === "string" && error.message.length > 10, text);
  assert(typeof error.type === "string", text);
  assert(error.param === null || typeof error.param === "string", text);
  assert(typeof error.code === "string", text);
  return error;
}

/**
 * Sends a POST and leaves the answer unread; closing the connection is leaving. Not `fetch()`: when it
 * is aborted while the answer begins, it may keep the connection.
 */
export async function openRequest(port: number, path: string, body: unknown): Promise<Deno.Conn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const json = new TextEncoder().encode(JSON.stringify(body));
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n`;
  await writeAll(connection, new TextEncoder().encode(head));
  await writeAll(connection, json);
  return connection;
}

/** Sends bytes as they are and gives all that comes back until the server closes. */
export async function sendRaw(port: number, request: string | Uint8Array): Promise<string> {
  using connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const bytes = typeof request === "string" ? new TextEncoder().encode(request) : request;
  // The server may answer and close before it has read everything.
  const written = writeAll(connection, bytes).catch(() => {});
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65536);
  let text = "";
  try {
    for (let n; (n = await connection.read(buffer)) !== null;) {
      text += decoder.decode(buffer.subarray(0, n), { stream: true });
    }
  } catch {
    // The rest of what was sent met a closed connection.
  }
  await written;
  return text;
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Waits for what is to come at once, or in little more: not a measure of speed, but no test that hangs. */
export async function soon<T>(what: string, promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`did not come about: ${what}`)), 60_000);
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A connection on which a test sends and reads bytes as they are. */
export class RawClient implements Disposable {
  /** All that has come. */
  text = "";
  private readonly buffer = new Uint8Array(65536);

  private constructor(private readonly connection: Deno.TcpConn) {}

  static async connect(port: number, text = ""): Promise<RawClient> {
    const client = new RawClient(await Deno.connect({ hostname: "127.0.0.1", port }));
    await client.send(text);
    return client;
  }

  async send(text: string): Promise<void> {
    await writeAll(this.connection, new TextEncoder().encode(text));
  }

  /** Closes the sending half: the server sees the end of what this client sends. */
  async endSending(): Promise<void> {
    await this.connection.closeWrite();
  }

  /** Reads until something has come that fits; fails at the connection's end. */
  async until(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.text);
      if (match !== null) return match;
      if (!await soon(String(pattern), this.read())) throw new Error(`ended: ${this.text}`);
    }
  }

  /** Reads until the server closes the connection, and gives all that has come. */
  async rest(): Promise<string> {
    try {
      while (await soon("the connection's end", this.read()));
    } catch (error) {
      // A reset is an end too.
      if (error instanceof Error && error.message.startsWith("did not")) throw error;
    }
    return this.text;
  }

  close(): void {
    this[Symbol.dispose]();
  }

  [Symbol.dispose](): void {
    try {
      this.connection.close();
    } catch {
      // It is closed already.
    }
  }

  private async read(): Promise<boolean> {
    const count = await this.connection.read(this.buffer);
    if (count === null) return false;
    this.text += new TextDecoder().decode(this.buffer.subarray(0, count));
    return true;
  }
}

/** A POST of JSON as bytes. */
export function rawPost(path: string, body: unknown, headers = ""): string {
  const json = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${new TextEncoder().encode(json).length}\r\n${headers}\r\n${json}`;
}

/** Waits until something holds; fails when it does not come about. */
export async function until(what: string, holds: () => boolean): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`did not come about: ${what}`);
}
