/**
 * What HTTP itself costs the server, without an engine: its processor time for a streamed event and for a request, with
 * a new connection and with a kept one. Processor time, so that what else the machine does matters little. The server's
 * own HTTP/1.1 is compared with `Deno.serve`, `node:http`, and `Deno.serve` behind a front that passes bytes on without
 * looking at them, which is the least that one with limits would do. The clients are another process. `deno run -A
 * bench/http_server.ts [m40|deno|node|proxy ...]`
 *
 * @module
 */
import { createServer } from "node:http";
import process from "node:process";
import { setImmediate } from "node:timers";
import { Readable } from "node:stream";
import { HttpServer } from "../server/http/http_server.ts";
import { defaultLimits } from "../server/http/limits.ts";
import { OPENAI } from "../server/openai/dialect.ts";
import { eventStream } from "../server/answer/sse.ts";

const STREAMS = 200;
const EVENTS = 200;
const REQUESTS = 3000;
/** As long as an event of a completion is. */
const EVENT = JSON.stringify({ text: "x".repeat(190) });

/** Every event in a turn of the event loop of its own, as tokens come. */
async function* events(): AsyncGenerator<string> {
  for (let i = 0; i < EVENTS; i++) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    yield EVENT;
  }
}

function answer(request: Request): Response {
  if (request.url.endsWith("/stream")) {
    return eventStream(events(), () => {}, { commentMs: 15_000 }, OPENAI);
  }
  return Response.json({ status: "ok" });
}

interface Server {
  port: number;
  close(): Promise<void>;
}

const SERVERS: Record<string, () => Promise<Server>> = {
  m40() {
    const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const server = new HttpServer(listener, answer, defaultLimits());
    return Promise.resolve({ port: listener.addr.port, close: () => server.close() });
  },
  deno() {
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
    return Promise.resolve({ port: server.addr.port, close: () => server.shutdown() });
  },
  async proxy() {
    const behind = await SERVERS.deno();
    const front = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    (async () => {
      for await (const client of front) {
        const server = await Deno.connect({ hostname: "127.0.0.1", port: behind.port });
        Promise.all([passOn(client, server), passOn(server, client)]).then(() => {
          client.close();
          server.close();
        });
      }
    })();
    const close = async () => {
      front.close();
      await behind.close();
    };
    return { port: front.addr.port, close };
  },
  async node() {
    const server = createServer(async (request, response) => {
      const { headers, body } = answer(new Request(`http://localhost${request.url}`));
      response.writeHead(200, Object.fromEntries(headers));
      // deno-lint-ignore no-explicit-any
      Readable.fromWeb(body as any).pipe(response);
      await Promise.resolve();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    return { port, close: () => new Promise((resolve) => server.close(() => resolve())) };
  },
};

/** Passes on what one end sends to the other, and its end. */
async function passOn(from: Deno.TcpConn, to: Deno.TcpConn): Promise<void> {
  const buffer = new Uint8Array(16384);
  try {
    for (let n; (n = await from.read(buffer)) !== null;) {
      for (let at = 0; at < n;) at += await to.write(buffer.subarray(at, n));
    }
    await to.closeWrite();
  } catch {
    // One of them has ended.
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a client does: that many requests of a path, on a connection each or all on one. */
async function ask(port: number, path: string, count: number, kept: boolean): Promise<void> {
  const buffer = new Uint8Array(65536);
  const request = encoder.encode(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n` +
      `User-Agent: bench\r\n${kept ? "" : "Connection: close\r\n"}\r\n`,
  );
  let connection: Deno.TcpConn | undefined;
  for (let i = 0; i < count; i++) {
    connection ??= await Deno.connect({ hostname: "127.0.0.1", port });
    await connection.write(request);
    let text = "";
    while (kept ? !/\r\n\r\n[^]*("ok"}|0\r\n\r\n)/.test(text) : true) {
      const n = await connection.read(buffer);
      if (n === null) break;
      text = text.slice(-500) + decoder.decode(buffer.subarray(0, n));
    }
    if (!text.includes('"ok"') && !text.includes("[DONE]")) throw new Error(text);
    if (kept) continue;
    connection.close();
    connection = undefined;
  }
  connection?.close();
}

/** Microseconds of the processor that something takes in this process. */
async function processorTime(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** Has the clients' process ask. */
async function clients(port: number, path: string, count: number, kept: boolean): Promise<void> {
  const args = ["run", "-A", "--no-check", import.meta.filename!, "--client"];
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [...args, String(port), path, String(count), String(kept)],
    stdout: "inherit",
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("the clients failed");
}

async function measure(name: string): Promise<void> {
  const server = await SERVERS[name]();
  const { port } = server;
  const time = (path: string, count: number, kept: boolean) =>
    processorTime(() => clients(port, path, count, kept));
  await time("/stream", STREAMS, false); // Warms up.
  await time("/whole", REQUESTS, false);
  const made = await processorTime(async () => {
    for (let i = 0; i < STREAMS; i++) for await (const _ of events());
  });
  const started = await time("/whole", 1, false);
  const streamed = await time("/stream", STREAMS, false) - started - made;
  const opened = await time("/whole", REQUESTS, false) - started;
  const kept = await time("/whole", REQUESTS, true) - started;
  const perRequest = opened / REQUESTS;
  const perEvent = (streamed / STREAMS - perRequest) / EVENTS;
  console.log(
    `${name}: ${perEvent.toFixed(1)} µs a streamed event, ${
      perRequest.toFixed(0)
    } µs a request on a ` +
      `connection of its own, ${(kept / REQUESTS).toFixed(0)} µs on one that is kept`,
  );
  await server.close();
}

if (Deno.args[0] === "--client") {
  const [port, path, count, kept] = Deno.args.slice(1);
  await ask(Number(port), path, Number(count), kept === "true");
} else {
  for (const name of Deno.args.length > 0 ? Deno.args : Object.keys(SERVERS)) await measure(name);
}
