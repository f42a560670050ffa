// Clients that read slowly, bodies that come slowly, and a server that stands still: which clients suffer, and which do
// not.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { patiently } from "../fixtures/patience.ts";
import {
  NO_END,
  RawClient,
  rawPost,
  readError,
  startServer,
  type TestServer,
} from "../fixtures/server_fixture.ts";

const SHORT = { prompt: "Hello", max_tokens: 2, ...NO_END };
const GET = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
const DOCS = "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n";
const KEY = { apiKey: "secret" };

async function health(server: TestServer): Promise<number> {
  const response = await fetch(server.url + "/health");
  await response.body?.cancel();
  return response.status;
}

/** Asks for pages that need no key, more than the buffers on the way hold, and reads nothing of them. */
async function slowReader(server: TestServer): Promise<RawClient> {
  return await RawClient.connect(server.port, DOCS.repeat(100));
}

Deno.test("clients that do not read block no other: the slowest of them is evicted", async () => {
  await using server = await startServer({ app: KEY, maxConnections: 4 });
  const slow: RawClient[] = [];
  for (let i = 0; i < 20; i++) {
    slow.push(await slowReader(server));
    // Another client is answered at once, or when one of them has kept the server waiting for a moment.
    let status = 0;
    for (let tries = 0; status !== 200 && tries < 200; tries++) {
      status = await health(server);
      if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assertEquals(status, 200);
  }
  // The first of them lost their connections in the middle of an answer.
  const text = await slow[0].rest();
  assert(text.split("HTTP/1.1 200").length < 100);
  for (const client of slow) client.close();
});

/** How many connections of this port a process has open, whatever their clients did. Linux. */
function connectionsAt(port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const LISTEN = "0A";
  return Deno.readTextFileSync("/proc/self/net/tcp").trim().split("\n")
    .map((line) => line.trim().split(/\s+/))
    // One that is closed is no file of anyone's any more.
    .filter((field) => field[1].endsWith(local) && field[3] !== LISTEN && field[9] !== "0").length;
}

Deno.test("refused clients that do not read do not block other refusals", async () => {
  const limits = { lingerMs: 3_600_000 };
  await using server = await startServer({ maxConnections: 1, contextLength: 65_536, limits });
  const endless = { ...SHORT, max_tokens: 60_000, stream: true };
  using stream = await RawClient.connect(server.port, rawPost("/v1/generate", endless));
  await stream.until(/data: /);
  const refused: RawClient[] = [];
  for (let i = 0; i < 200; i++) refused.push(await RawClient.connect(server.port));
  using last = await RawClient.connect(server.port, GET);
  assertMatch(await last.rest(), /^HTTP\/1\.1 503 [^]*too_many_connections/);
  // What the server keeps of them is bounded.
  if (Deno.build.os === "linux") {
    const open = connectionsAt(server.port);
    assert(open > 0 && open < 60, `${open} connections`);
  }
  for (const client of refused) client.close();
});

/** Reads answers all the time, each after a pause at most; returns how many started before the end. */
async function readSlowly(client: RawClient, pauseMs: number): Promise<number> {
  let started = 0;
  try {
    for (;;) {
      await client.until(/HTTP\/1\.1 200/);
      started += client.text.split("HTTP/1.1 200").length - 1;
      client.text = client.text.slice(-11);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  } catch {
    return started;
  }
}

Deno.test("an answer that is read too slowly ends, one that is read fast enough does not", () =>
  patiently(servesByRate));

async function servesByRate(times: number): Promise<void> {
  // Reading goes on all the time, and takes several times as long as the server waits in any case: only the rate shows
  // it.
  const asked = DOCS.repeat(79) + DOCS.replace("\r\n", "\r\nConnection: close\r\n");
  for (const [writeBytesPerSecond, served] of [[1e12, false], [1, true]] as const) {
    const limits = { writeMs: 600 * times, writeBytesPerSecond };
    await using server = await startServer({ app: KEY, limits });
    using client = await RawClient.connect(server.port, asked);
    assertEquals(await readSlowly(client, 60 * times) === 80, served, `${writeBytesPerSecond}`);
  }
}

/** A body that is not complete. */
function part(path: string, bytes: number): string {
  const request = rawPost(path, { ...SHORT, user: "x".repeat(bytes) });
  return request.slice(0, -1);
}

Deno.test("bodies that come in part have a bounded memory together, which the slowest gives up", async () => {
  const limits = { bodiesBytes: 1_000_000 };
  await using server = await startServer({ limits });
  for (const path of ["/v1/completions", "/api/generate", "/v1/messages"]) {
    const slow: RawClient[] = [];
    // Each is larger than what is read ahead, so that it is seen in the memory.
    for (let i = 0; i < 8; i++) {
      slow.push(await RawClient.connect(server.port, part(path, 200_000)));
    }
    // Four have room; the first of all are refused.
    for (const client of slow.slice(0, 4)) {
      const text = await client.rest();
      assertMatch(text, /^HTTP\/1\.1 5(03|29) [^]*bodies[^]*1000000/i, path);
      assertMatch(text, /\r\nretry-after: 1\r\n/i);
    }
    // One that comes at once is served, whatever the others hold.
    const body = { ...SHORT, user: "x".repeat(500_000) };
    const served = await server.post("/v1/completions", body);
    assertEquals(served.status, 200, await served.text());
    for (const client of slow) client.close();
  }
  // What they held is free again: as much as there may be together has room.
  const last = await Promise.all(
    [1, 2, 3, 4].map(() => RawClient.connect(server.port, part("/v1/completions", 200_000))),
  );
  for (const client of last) await client.send("}");
  for (const client of last) {
    await client.until(/^HTTP\/1\.1 200 [^]*"completion_tokens":2/);
    client.close();
  }
  // A single body that is longer than all may be gets the same.
  const alone = await server.post("/v1/completions", { ...SHORT, user: "x".repeat(1_100_000) });
  assertEquals((await readError(alone, 503)).code, "too_many_bodies");
});

/** Has this process stand still, the server in it too. */
function standStill(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}

Deno.test("what comes while the server stands still is in time", () => patiently(standsStill));

async function standsStill(times: number): Promise<void> {
  const ms = 600 * times;
  const limits = { headMs: ms, bodyMs: ms, bodyBytesPerSecond: 1e9, keepAliveMs: ms };
  await using server = await startServer({ limits });
  const post = rawPost("/v1/completions", SHORT);
  for (let round = 0; round < 3; round++) {
    using fresh = await RawClient.connect(server.port);
    using head = await RawClient.connect(server.port, GET.slice(0, 20));
    using body = await RawClient.connect(server.port, post.slice(0, -5));
    using kept = await RawClient.connect(server.port, GET);
    await kept.until(/"status":"ok"/);
    const sent = [
      fresh.send(GET),
      head.send(GET.slice(20)),
      body.send(post.slice(-5)),
      kept.send(GET),
    ];
    standStill(2.5 * ms);
    await Promise.all(sent);
    await fresh.until(/^HTTP\/1\.1 200 [^]*"status":"ok"/);
    await head.until(/^HTTP\/1\.1 200 [^]*"status":"ok"/);
    await body.until(/^HTTP\/1\.1 200 [^]*"completion_tokens":2/);
    await kept.until(/"status":"ok"[^]*"status":"ok"/);
  }
  // Time that the server has for its clients counts.
  using late = await RawClient.connect(server.port, GET.slice(0, 20));
  assertMatch(await late.rest(), /^HTTP\/1\.1 408 /);
}
