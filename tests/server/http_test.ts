// HTTP/1.1 as the server reads and writes it: what is right is served, what is ambiguous is refused.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  NO_END,
  RawClient,
  rawPost,
  readError,
  sendRaw,
  startServer,
} from "../fixtures/server_fixture.ts";
import { until } from "../fixtures/waiting.ts";

const BODY = { prompt: "Hello", max_tokens: 2, ...NO_END };
const JSON_BODY = JSON.stringify(BODY);
const CLOSE = "Connection: close\r\n";

/** How many answers a client got; interim ones do not count. */
function answers(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.[01] (\d+) /g)].map(([, status]) => status);
}

function chunkedPost(body: string, headers = ""): string {
  return "POST /v1/generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    `Transfer-Encoding: chunked\r\n${headers}\r\n${body}`;
}

Deno.test("a head that could be read in two ways is refused, and what follows it is not served", async () => {
  await using server = await startServer();
  const get = (lines: string) => `GET /health HTTP/1.1\r\n${lines}\r\n`;
  const post = (lines: string) => `POST /v1/generate HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`;
  const cases: [string, string][] = [
    // Lines and their ends.
    ["GET /health HTTP/1.1\nHost: localhost\n\n", "400"],
    ["GET /health HTTP/1.1\r\nHost: localhost\n\r\n", "400"],
    [get("Host: localhost\r\nX: a\rb\r\n"), "400"],
    [get("Host: localhost\r\nX: a\0b\r\n"), "400"],
    [get("Host: localhost\r\nX: a\r\n b\r\n"), "400"],
    [get(" X: a\r\nHost: localhost\r\n"), "400"],
    [get("Host: localhost\r\nX : a\r\n"), "400"],
    [get("Host: localhost\r\nX\r\n"), "400"],
    [get("Host: localhost\r\n: a\r\n"), "400"],
    [get("Host: localhost\r\nX\u00e9: a\r\n"), "400"],
    // Hosts and targets.
    [get(""), "400"],
    [get("Host: localhost\r\nHost: localhost\r\n"), "400"],
    [get("Host: local host\r\n"), "400"],
    [get("Host: localhost/x\r\n"), "400"],
    ["GET health HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    ["GET http://other/health HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    ["GET http://localhost:81/health HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    ["GET https://localhost/health HTTP/1.1\r\nHost: localhost\r\n\r\n", "421"],
    ["GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    [`GET /${"a".repeat(8192)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, "414"],
    [`GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, "414"],
    ["GET /health#x HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    ["GET /a b HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    ["GET /\u00e9 HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    ["GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    ["get /health HTTP/1.1\r\nHost: localhost\r\n\r\n", "400"],
    ["GET /health\r\nHost: localhost\r\n\r\n", "400"],
    ["\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", "400"],
    // Versions and methods.
    ["GET /health HTTP/2.0\r\nHost: localhost\r\n\r\n", "505"],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505"],
    ["CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n", "501"],
    ["TRACE /health HTTP/1.1\r\nHost: localhost\r\n\r\n", "501"],
    // Lengths and codings of the body.
    [post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), "400"],
    [post("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n"), "400"],
    [post("Content-Length: 5\r\nContent-Length: 5\r\n"), "400"],
    [post("Content-Length: 5, 5\r\n"), "400"],
    [post("Content-Length: +5\r\n"), "400"],
    [post("Content-Length: -1\r\n"), "400"],
    [post("Content-Length: 0x5\r\n"), "400"],
    [post("Content-Length: 5 5\r\n"), "400"],
    [post("Content-Length: \r\n"), "400"],
    [post("Content-Length: 99999999999999999999\r\n"), "400"],
    [post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), "400"],
    [post("Transfer-Encoding: gzip\r\n"), "501"],
    [post("Transfer-Encoding: chunked, chunked\r\n"), "501"],
    [post("Transfer-Encoding: xchunked\r\n"), "501"],
    [post("Transfer-Encoding: \x0bchunked\r\n"), "400"],
    ["POST /v1/generate HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "400"],
    [post("Expect: tea\r\nContent-Length: 5\r\n"), "417"],
  ];
  for (const [head, status] of cases) {
    const bytes = Uint8Array.from(head + get("Host: localhost\r\n"), (c) => c.charCodeAt(0));
    const text = await sendRaw(server.port, bytes);
    assertEquals(answers(text), [status], JSON.stringify([head, text]));
    const [top, body] = text.split("\r\n\r\n");
    assertMatch(top, /\r\nConnection: close/);
    await readError(new Response(body, { status: Number(status) }), Number(status));
  }
  const response = await fetch(server.url + "/health");
  assertEquals([response.status, (await response.json()).status], [200, "ok"]);
});

Deno.test("a head that is too long or has too many headers is answered with 431, however it comes", async () => {
  await using server = await startServer();
  const start = "GET /health HTTP/1.1\r\nHost: localhost\r\n";
  const many = Array.from({ length: 101 }, (_, i) => `X-${i}: a\r\n`).join("");
  const tests = [
    start + many + "\r\n",
    start + `X: ${"a".repeat(20_000)}\r\n\r\n`,
    start + "X: " + "a".repeat(1_000_000),
    "G".repeat(100_000),
    start + "X: a\r\n".repeat(10_000),
    // Blanks are where a careless expression takes a time that grows with the square of their number.
    start + `X: a${" ".repeat(15_000)}b${" ".repeat(15_000)}\r\n\r\n`,
  ];
  for (const text of tests) {
    const got = await sendRaw(server.port, text);
    assertEquals(answers(got), ["431"], got);
    assertStringIncludes(got, "headers_too_large");
  }
  const fits = start + `X: ${"a".repeat(15_000)}\r\n` + many.slice(0, 600) + `: b\r\n${CLOSE}\r\n`;
  assertEquals(answers(await sendRaw(server.port, fits)), ["200"]);
});

Deno.test("a chunked body that is malformed is answered with 400, and what follows it is not served", async () => {
  await using server = await startServer();
  const size = JSON_BODY.length.toString(16);
  const bodies = [
    "x\r\n",
    "\r\n",
    // What looks like the end of a body does not end a malformed one.
    "x\r\n0\r\n\r\n",
    `${size}\r\n${JSON_BODY}\r\n0\r\nX\r\n\r\n`,
    `x\r\n${size}\r\n${JSON_BODY}\r\n0\r\n\r\n`,
    "-1\r\n",
    "+5\r\n",
    "0x5\r\n",
    "5 5\r\n",
    " 5\r\n",
    "fffffffffffff\r\n",
    "5\n12345\r\n0\r\n\r\n",
    `${size}\r\n${JSON_BODY}0\r\n\r\n`,
    `${size}\r\n${JSON_BODY}\n0\r\n\r\n`,
    `${size}\r\n${JSON_BODY}x\r\n0\r\n\r\n`,
    `${size}\r\n${JSON_BODY}\r0\r\n\r\n`,
    `${size};${"x".repeat(2000)}\r\n${JSON_BODY}\r\n0\r\n\r\n`,
    `${size};\r\n${JSON_BODY}\r\n0\r\n\r\n`,
    `${size};a=\r\n${JSON_BODY}\r\n0\r\n\r\n`,
    `${size};a="b\r\n${JSON_BODY}\r\n0\r\n\r\n`,
    `${size};a b\r\n${JSON_BODY}\r\n0\r\n\r\n`,
    `${size};a\rb\r\n${JSON_BODY}\r\n0\r\n\r\n`,
    `${size}\r\n${JSON_BODY}\r\n0\r\nX: ${"a".repeat(2000)}\r\n\r\n`,
    `${size}\r\n${JSON_BODY}\r\n0\r\nX: a\n\r\n`,
    `${size}\r\n${JSON_BODY}\r\n0\r\nGET / HTTP/1.1\r\n\r\n`,
    `${size}\r\n${JSON_BODY}\r\n0\r\nX: a\r\n b\r\n\r\n`,
    `${size}\r\n${JSON_BODY}\r\n0\r\nX : a\r\n\r\n`,
    `${size}\r\n${JSON_BODY}\r\n0\r\n${"X: aaaaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(2000)}\r\n`,
  ];
  for (const body of bodies) {
    const text = await sendRaw(
      server.port,
      chunkedPost(body) + "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
    );
    assertEquals(answers(text), ["400"], JSON.stringify([body.slice(0, 100), text]));
    assertStringIncludes(text, "malformed_request");
  }
  assertEquals(server.engine.status().running, 0);
});

Deno.test("a chunked body is read whole, however it is cut, with extensions and trailers", async () => {
  await using server = await startServer();
  const chunks = (size: number, extension = "", trailers = "") => {
    let text = "";
    for (let at = 0; at < JSON_BODY.length; at += size) {
      const piece = JSON_BODY.slice(at, at + size);
      text += `${piece.length.toString(16).toUpperCase()}${extension}\r\n${piece}\r\n`;
    }
    return `${text}0\r\n${trailers}\r\n`;
  };
  for (
    const body of [
      chunks(1),
      chunks(7, ";a=b"),
      chunks(1000),
      chunks(5, ' ;x\t; y = "a\\"; b";z=1', "X: a\r\nY: b\r\n"),
    ]
  ) {
    const text = await sendRaw(server.port, chunkedPost(body, CLOSE));
    assertEquals(answers(text), ["200"], text);
    assertStringIncludes(text, '"completion_tokens":2');
    // Byte after byte, each in a packet of its own.
    using client = await RawClient.connect(server.port);
    for (const byte of chunkedPost(body, CLOSE)) await client.send(byte);
    assertEquals(answers(await client.rest()), ["200"]);
  }
});

Deno.test("empty lines before a request are passed over, however they are cut", async () => {
  await using server = await startServer();
  const get = `GET /health HTTP/1.1\r\nHost: localhost\r\n`;
  using client = await RawClient.connect(server.port);
  for (const piece of ["\r", "\n", "\r\n\r", "\n", ...get, "\r\n"]) await client.send(piece);
  await client.until(/"status":"ok"/);
  // On a connection that is kept too, in packets of their own: the server answers in between.
  for (const piece of ["\r", "\n\r", "\n" + get + `${CLOSE}\r\n`]) await client.send(piece);
  assertEquals(answers(await client.rest()), ["200", "200"]);
  assertEquals(answers(await sendRaw(server.port, "\r" + get + "\r\n")), ["400"]);
  using silent = await RawClient.connect(server.port, "\r");
  await silent.endSending();
  assertEquals(await silent.rest(), "");
});

Deno.test("an answer without a body has no length of one: 304, 204", async () => {
  await using server = await startServer();
  const get = "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n";
  const page = await sendRaw(server.port, `${get}${CLOSE}\r\n`);
  const etag = /\r\netag: (.*)\r\n/i.exec(page)![1];
  for (const tags of [etag, `"x", ${etag}`, `"x",${etag.replace("W/", "")}`, " * "]) {
    const request = `${get}If-None-Match: ${tags}\r\n\r\n`;
    const text = await sendRaw(server.port, request + request.replace("\r\n", `\r\n${CLOSE}`));
    assertEquals(answers(text), ["304", "304"], tags);
    assertMatch(text, /^HTTP\/1\.1 304 Not Modified\r\n/);
    assert(!/content-length/i.test(text), text);
  }
  for (const tags of ["", '"x"', etag + "x", `${etag} ${etag}`]) {
    const text = await sendRaw(server.port, `${get}If-None-Match: ${tags}\r\n${CLOSE}\r\n`);
    assertEquals(answers(text), ["200"], tags);
  }
});

Deno.test("pipelined requests are answered in their order, each with its own answer", async () => {
  await using server = await startServer();
  const text = await sendRaw(
    server.port,
    "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" +
      rawPost("/v1/generate", { ...BODY, stream: true }) +
      chunkedPost(`${JSON_BODY.length.toString(16)}\r\n${JSON_BODY}\r\n0\r\n\r\n`) +
      "\r\nGET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n" +
      "HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n" +
      "GET /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc" +
      rawPost("/v1/generate", BODY, CLOSE) +
      "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
  );
  assertEquals(answers(text), ["200", "200", "200", "200", "200", "404", "200"], text);
  const marks = ['"status":"ok"', "data: [DONE]", '"usage"', '"object":"list"', "not_found"];
  const places = marks.map((mark) => text.indexOf(mark));
  assertEquals(places, places.toSorted((a, b) => a - b));
  assert(text.endsWith("}"), "nothing comes after the answer that closes");
});

Deno.test("a client that waits for 100 Continue gets it, but not where its request is refused", async () => {
  await using server = await startServer();
  const head = (length: number) =>
    `POST /v1/generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${length}\r\nExpect: 100-continue\r\n`;
  using client = await RawClient.connect(server.port, head(JSON_BODY.length) + "\r\n");
  await client.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  await client.send(JSON_BODY);
  await client.until(/HTTP\/1\.1 200 OK\r\n[^]*"output"/);
  const refused = await sendRaw(server.port, head(20_000_000) + "\r\n");
  assertEquals(answers(refused), ["413"]);
});

Deno.test("a client that is refused while it sends can finish sending, and is not reset", async () => {
  await using server = await startServer({ limits: { lingerMs: 60_000 } });
  const head =
    "POST /v1/generate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    "Content-Length: 20000000\r\n\r\n";
  using client = await RawClient.connect(server.port, head);
  await client.until(/^HTTP\/1\.1 413 [^]*body_too_large/);
  // On a connection that was reset the first piece would show that, and the second would fail.
  for (let i = 0; i < 20; i++) await client.send(" ".repeat(1_000_000));
  await client.endSending();
  assertEquals(answers(await client.rest()), ["413"]);
});

Deno.test("clients of HTTP/1.0 get their answers whole and unchunked, and HEAD gets no body", async () => {
  await using server = await startServer();
  const post = rawPost("/v1/generate", { ...BODY, stream: true }).replace("HTTP/1.1", "HTTP/1.0");
  const stream = await sendRaw(server.port, post);
  assertMatch(stream, /^HTTP\/1\.0 200 OK\r\n/);
  assert(!/transfer-encoding/i.test(stream));
  assertMatch(stream, /\r\n\r\ndata: [^]*data: \[DONE\]\n\n$/);
  const head = await sendRaw(
    server.port,
    `HEAD /health HTTP/1.1\r\nHost: localhost\r\n${CLOSE}\r\n`,
  );
  assertMatch(head, /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n$/);
  const options = await sendRaw(
    server.port,
    `OPTIONS /health HTTP/1.1\r\nHost: localhost\r\n${CLOSE}\r\n`,
  );
  assertMatch(options, /^HTTP\/1\.1 204 No Content\r\n[^]*\r\n\r\n$/);
  assert(!/content-length/i.test(options));
});

Deno.test("the whole URL as a target and headers' bytes arrive as they were sent", async () => {
  await using server = await startServer({ app: { apiKey: "s\u0093cr\u00e9t" } });
  const key = "s\u00c2\u0093cr\u00c3\u00a9t";
  const request = `GET http://localhost/v1/models HTTP/1.1\r\nHost: localhost\r\n` +
    `Authorization:\t Bearer ${key} \t\r\n${CLOSE}\r\n`;
  const text = await sendRaw(server.port, Uint8Array.from(request, (c) => c.charCodeAt(0)));
  assertEquals(answers(text), ["200"], text);
  // Scheme and host in any letters, with the port that is understood; `*` is the server.
  for (
    const [target, host] of [["HTTP://LocalHost", "localhost"], [
      "http://localhost:80",
      "LOCALHOST",
    ]]
  ) {
    const raw = `GET ${target}/health HTTP/1.1\r\nHost: ${host}\r\n${CLOSE}\r\n`;
    assertEquals(answers(await sendRaw(server.port, raw)), ["200"], raw);
  }
  const options = `OPTIONS * HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: ${key}\r\n${CLOSE}\r\n`;
  const bytes = Uint8Array.from(options, (c) => c.charCodeAt(0));
  assertMatch(await sendRaw(server.port, bytes), /^HTTP\/1\.1 204 /);
});

Deno.test("2000 connections one after the other leave no descriptor and no connection behind", {
  ignore: Deno.build.os !== "linux",
}, async () => {
  await using server = await startServer();
  const descriptors = () => [...Deno.readDirSync("/proc/self/fd")].length;
  const before = descriptors();
  const ways = [
    () => sendRaw(server.port, `GET /health HTTP/1.1\r\nHost: localhost\r\n${CLOSE}\r\n`),
    async () => (await RawClient.connect(server.port)).close(),
    async () => (await RawClient.connect(server.port, "GET /hea")).close(),
    async () =>
      (await RawClient.connect(server.port, rawPost("/v1/generate", BODY).slice(0, -5))).close(),
    () => sendRaw(server.port, "nonsense\r\n\r\n"),
  ];
  for (let i = 0; i < 2000; i++) await ways[i % ways.length]();
  // Tests beside this one have some, but not as many as the connections of one of the ways.
  await until("the descriptors are free", () => descriptors() < before + 300);
  assertEquals(server.engine.status().running, 0);
});

// More cases: M40_FUZZ_CASES=1000000.
const CASES = Number(Deno.env.get("M40_FUZZ_CASES") ?? 2000);

Deno.test(`fuzz: ${CASES} requests with mutated bytes are answered or refused, and each stands alone`, async () => {
  await using server = await startServer({ limits: { lingerMs: 200 } });
  const seedlings = [
    "GET /health HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
    rawPost("/v1/generate", BODY, "X: y\r\n"),
    chunkedPost(`5;a=b\r\n${JSON_BODY.slice(0, 5)}\r\n1\r\n"\r\n0\r\nX: a\r\n\r\n`, "X: a\r\n"),
  ];
  const pieces = [
    "\r\n",
    "\n",
    "\r",
    "\0",
    " ",
    ":",
    "\r\n\r\n",
    "0",
    "f",
    ";",
    "\t",
    "\xff",
    "chunked",
  ];
  const lines = [
    "Transfer-Encoding: chunked\r\n",
    "Content-Length: 3\r\n",
    "Connection: close\r\n",
  ];
  let state = 1;
  const random = (below: number) => {
    state = Math.imul(state, 0x5bd1e995) + 12345 | 0;
    return ((state >>> 8) & 0xffff) % below;
  };
  const statuses = new Map<string, number>();
  const one = async () => {
    let text = seedlings[random(seedlings.length)];
    for (let changes = 1 + random(3); changes > 0; changes--) {
      const at = random(text.length);
      const kind = random(4);
      const piece = kind === 3 ? lines[random(lines.length)] : pieces[random(pieces.length)];
      const after = kind === 0 ? at + piece.length : kind === 1 ? at + random(8) : at;
      text = text.slice(0, at) + piece + text.slice(after);
    }
    using client = await RawClient.connect(server.port);
    // The end of what is sent has the server answer whatever was cut off.
    await client.send(text).then(() => client.endSending()).catch(() => {});
    const got = await client.rest();
    for (const status of answers(got)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    assert(got === "" || got.startsWith("HTTP/1."), JSON.stringify([text, got]));
    assert(!answers(got).includes("500"), JSON.stringify([text, got]));
  };
  for (let done = 0; done < CASES; done += 8) await Promise.all(Array.from({ length: 8 }, one));
  for (const status of ["200", "400"]) assert((statuses.get(status) ?? 0) > 20, `${status}`);
  assertEquals((await fetch(server.url + "/health").then((r) => r.json())).running, 0);
});
