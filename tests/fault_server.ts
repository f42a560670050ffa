// A web server of files that does everything wrong that it is told to, on sockets of its own, so that
// no library repairs what it sends. For tests of whatever fetches something.

/** A file that it has. */
export interface ServedFile {
  readonly bytes: number;
  /** Some of the bytes from `start` on, at least one and none behind `end`. */
  slice(start: number, end: number): Uint8Array;
  readonly etag?: string;
  readonly lastModified?: string;
  /** Whether it answers with parts; true unless told. */
  readonly ranges?: boolean;
}

/** Bytes as a file, with an ETag unless told otherwise. */
export function served(
  bytes: Uint8Array,
  options: Partial<Pick<ServedFile, "etag" | "lastModified" | "ranges">> = { etag: '"v1"' },
): ServedFile {
  return { ...options, bytes: bytes.length, slice: (start, end) => bytes.subarray(start, end) };
}

/** A request as it arrived. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  /** The part that it asks for, its end behind its last byte. */
  readonly range?: { readonly start: number; readonly end?: number };
  /** How many came before it. */
  readonly number: number;
  /** The port of the server that it came to. */
  readonly port: number;
}

/** What is done otherwise than right; what is left out is done right. */
export interface Misdeed {
  readonly status?: number;
  /** Headers that are added or replaced; null ones are left out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** Another body; its length is told where Content-Length is not given. */
  readonly body?: Uint8Array;
  /** Before anything is sent, in milliseconds. */
  readonly delayMs?: number;
  /** The connection is cut after so many bytes of the body; -1: before the status line. */
  readonly cutAfter?: number;
  /** Nothing is sent any more after so many bytes of the body; the connection stays. */
  readonly stallAfter?: number;
  /** The body in parts of `bytes`, each after a pause. */
  readonly trickle?: { readonly bytes: number; readonly everyMs: number };
  /** Bytes that follow the body without end. */
  readonly endless?: boolean;
  /** Bytes of the body from this one on (from the start of the file) are wrong. */
  readonly spoilFrom?: number;
}

type Handler = (request: Received) => ServedFile | Misdeed & { file?: ServedFile } | undefined;

/** The server. */
export class FaultServer implements AsyncDisposable {
  /** Every request that came, in order. */
  readonly requests: Received[] = [];
  /** Bytes of bodies that were sent. */
  sentBytes = 0;
  /** The most connections that were open at a time. */
  mostConnections = 0;
  /** How many connections were made. */
  connections = 0;
  readonly #listener: Deno.TcpListener | Deno.TlsListener;
  readonly #connections = new Set<Deno.Conn>();
  readonly #running: Promise<void>;
  readonly #over = new AbortController();
  readonly #scheme: string;

  /**
   * @param handler What it does with a request; undefined for 404.
   * @param tls A certificate, for https.
   */
  constructor(private readonly handler: Handler, tls?: { cert: string; key: string }) {
    const where = { hostname: "127.0.0.1", port: 0 };
    this.#listener = tls ? Deno.listenTls({ ...where, ...tls }) : Deno.listen(where);
    this.#scheme = tls ? "https" : "http";
    this.#running = this.#accept();
  }

  get port(): number {
    return (this.#listener.addr as Deno.NetAddr).port;
  }

  url(path: string): string {
    return `${this.#scheme}://${
      this.#scheme === "https" ? "localhost" : "127.0.0.1"
    }:${this.port}${path}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    this.#listener.close();
    for (const connection of this.#connections) close(connection);
    await this.#running;
  }

  async #accept(): Promise<void> {
    const all: Promise<void>[] = [];
    while (!this.#over.signal.aborted) {
      try {
        const connection: Deno.TcpConn | Deno.TlsConn = await this.#listener.accept();
        // A small body after its head would wait for the head's acknowledgement.
        if ("setNoDelay" in connection) connection.setNoDelay(true);
        this.#connections.add(connection);
        this.connections++;
        this.mostConnections = Math.max(this.mostConnections, this.#connections.size);
        const ended = this.#serve(connection).catch(() => {}).finally(() => {
          this.#connections.delete(connection);
          close(connection);
          all.splice(all.indexOf(ended), 1);
        });
        all.push(ended);
      } catch {
        // A handshake that failed, or the end.
      }
    }
    await Promise.all(all);
  }

  async #serve(connection: Deno.Conn): Promise<void> {
    const reader = new HeadReader(connection);
    for (let head = await reader.next(); head !== undefined; head = await reader.next()) {
      const request = parse(head, this.requests.length, this.port);
      this.requests.push(request);
      const answer = this.handler(request);
      if (!await this.#answer(connection, request, answer)) return;
    }
  }

  /** @returns Whether the connection can be used for another request. */
  async #answer(
    connection: Deno.Conn,
    request: Received,
    answer: ReturnType<Handler>,
  ): Promise<boolean> {
    const misdeed: Misdeed = answer === undefined || "slice" in answer ? {} : answer;
    const file = answer && ("slice" in answer ? answer : answer.file);
    if (misdeed.delayMs) await this.#pause(misdeed.delayMs);
    if (misdeed.cutAfter === -1) return false;
    const right = file && misdeed.status === undefined ? respond(file, request) : undefined;
    const status = misdeed.status ?? right?.status ?? (misdeed.body ? 200 : 404);
    const source = misdeed.body ? served(misdeed.body) : right?.body ? file : undefined;
    const [start, end] = misdeed.body ? [0, misdeed.body.length] : right?.body ?? [0, 0];
    const headers: Record<string, string | null> = {
      "Content-Length": misdeed.endless ? null : String(end - start),
      ...right?.headers,
      ...misdeed.headers,
    };
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      value === null ? [] : [`${name}: ${value}`]
    );
    const closes = headers["Content-Length"] === null;
    if (closes) lines.push("Connection: close");
    await writeAll(
      connection,
      latin1(
        `HTTP/1.1 ${status} ${NAMES[status] ?? ""}\r\n${lines.join("\r\n")}\r\n\r\n`,
      ),
    );
    const part = misdeed.trickle?.bytes ?? 2 ** 20;
    for (let at = start; at < end;) {
      let until = Math.min(end, at + part);
      for (const limit of [misdeed.cutAfter, misdeed.stallAfter]) {
        if (limit !== undefined) until = Math.min(until, start + limit);
      }
      let bytes = until > at ? source!.slice(at, until) : new Uint8Array(0);
      if (misdeed.spoilFrom !== undefined && at + bytes.length > misdeed.spoilFrom) {
        const from = Math.max(0, misdeed.spoilFrom - at);
        bytes = bytes.map((byte, i) => i < from ? byte : byte ^ 0x55);
      }
      await writeAll(connection, bytes);
      this.sentBytes += bytes.length;
      at += bytes.length;
      if (misdeed.cutAfter !== undefined && at >= start + misdeed.cutAfter) return false;
      if (misdeed.stallAfter !== undefined && at >= start + misdeed.stallAfter) {
        await this.#pause(2 ** 30);
      }
      if (misdeed.trickle) await this.#pause(misdeed.trickle.everyMs);
    }
    const more = new Uint8Array(2 ** 16);
    while (misdeed.endless) await writeAll(connection, more);
    return !closes && misdeed.cutAfter === undefined;
  }

  async #pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    this.#over.signal.addEventListener("abort", () => resolve());
    await promise;
    clearTimeout(timer);
    this.#over.signal.throwIfAborted();
  }
}

const NAMES: Record<number, string> = {
  200: "OK",
  206: "Partial Content",
  302: "Found",
  403: "Forbidden",
  404: "Not Found",
  416: "Range Not Satisfiable",
  429: "Too Many Requests",
  503: "Service Unavailable",
};

/** The right answer to a request for a file; its body as the range of it, where it has one. */
function respond(file: ServedFile, request: Received) {
  const headers: Record<string, string> = {};
  if (file.etag) headers.ETag = file.etag;
  if (file.lastModified) headers["Last-Modified"] = file.lastModified;
  const condition = request.headers.get("if-range");
  const same = condition === null || condition === file.etag || condition === file.lastModified;
  if (file.ranges === false || !request.range || !same) {
    return { status: 200, headers, body: [0, file.bytes] as const };
  }
  const { start } = request.range;
  const end = Math.min(request.range.end ?? file.bytes, file.bytes);
  if (start >= end) {
    return { status: 416, headers: { ...headers, "Content-Range": `bytes */${file.bytes}` } };
  }
  headers["Content-Range"] = `bytes ${start}-${end - 1}/${file.bytes}`;
  return { status: 206, headers, body: [start, end] as const };
}

function parse(head: string, number: number, port: number): Received {
  const [first, ...lines] = head.split("\r\n");
  const [method, target] = first.split(" ");
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const [path, query = ""] = target.split("?");
  const match = /^bytes=(\d+)-(\d*)$/.exec(headers.get("range") ?? "");
  const range = match
    ? { start: Number(match[1]), end: match[2] ? Number(match[2]) + 1 : undefined }
    : undefined;
  return { method, path, query, headers, range, number, port };
}

/** Heads of requests without bodies, one after the other. */
class HeadReader {
  #text = "";

  constructor(private readonly connection: Deno.Conn) {}

  async next(): Promise<string | undefined> {
    const buffer = new Uint8Array(16384);
    for (;;) {
      const end = this.#text.indexOf("\r\n\r\n");
      if (end >= 0) {
        const head = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 4);
        return head;
      }
      const count = await this.connection.read(buffer);
      if (count === null) return undefined;
      this.#text += new TextDecoder("latin1").decode(buffer.subarray(0, count));
    }
  }
}

/** Text as bytes; what a header can hold and UTF-8 would write otherwise stays one byte. */
function latin1(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) done += await connection.write(bytes.subarray(done));
}

function close(connection: Deno.Conn): void {
  try {
    connection.close();
  } catch {
    // It was closed before.
  }
}
