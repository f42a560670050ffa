/**
 * What tools/attack.ts does to a server, each in a thread of its own.
 *
 * @module
 */
import { connectAndReset } from "./system_sockets.ts";

/** How long one kind of attack goes on at most, in milliseconds. */
const ATTACK_MS = 15_000;
/** Connections that are open at the same time: more than the server may have. */
const AT_ONCE = 300;

const encoder = new TextEncoder();
let port = 0;
let connections = 0;

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

/** Opens a connection, sends something, and keeps it, unread, until either side closes it. */
async function hold(text: string, milliseconds: number, readBytes = 0): Promise<void> {
  try {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port });
    // What the server does not take is not waited for.
    const sent = writeAll(connection, encoder.encode(text)).catch(() => {});
    const until = performance.now() + milliseconds;
    const buffer = new Uint8Array(Math.max(1, readBytes));
    while (performance.now() < until) {
      await sleep(250);
      if (readBytes > 0 && await connection.read(buffer) === null) return;
    }
    connection.close();
    await sent;
  } catch {
    // It was refused, reset, or closed twice.
  }
}

/** That many at once, until there were enough or the time is over. */
async function many(one: (i: number) => Promise<void>): Promise<void> {
  let done = 0;
  const until = performance.now() + ATTACK_MS;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    while (done < connections && performance.now() < until) await one(done++);
  }));
}

const HEAD = "Host: localhost\r\n";
const DOCS = `GET /openapi.json HTTP/1.1\r\n${HEAD}\r\n`;
const BLANKS = " ".repeat(15_500);
const BODY = "POST /v1/completions HTTP/1.1\r\nContent-Type: application/json\r\n" + HEAD +
  `Content-Length: 4000000\r\n\r\n{"prompt":"${"a".repeat(3_900_000)}`;

const BY_NAME: Record<string, () => Promise<void>> = {
  "connections reset at once": async () => {
    for (let i = 0; i < connections; i++) {
      connectAndReset(port);
      if (i % 20 === 0) await sleep(1);
    }
  },
  "headers of blanks": () =>
    many(async (i) => {
      const [version, headers] = i % 2 === 0
        ? ["1.0", `Connection: x${BLANKS}x`]
        : ["1.1", `Accept: text/html\r\nConnection: close\r\nIf-None-Match: x${BLANKS}x`];
      await hold(`GET / HTTP/${version}\r\n${HEAD}${headers}\r\n\r\n`, 500);
    }),
  "readers that read nothing": () => many(() => hold(DOCS.repeat(50), 5000)),
  "readers of a few bytes a second": () => many(() => hold(DOCS.repeat(50), 5000, 100)),
  "silent and half-sent heads": () =>
    many((i) => hold(i % 2 === 0 ? "" : "GET / HTTP/1.1\r\nHo", 500)),
  "bodies without an end": () => many(() => hold(BODY, 3000)),
};

/** What there is. */
export const ATTACKS: readonly string[] = Object.keys(BY_NAME);

/** Attacks a port in one of these ways. */
export async function attack(name: string, at: number, most: number): Promise<void> {
  port = at;
  connections = most;
  await BY_NAME[name]();
}
