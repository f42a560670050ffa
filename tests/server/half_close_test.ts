// A client that closes its sending half and one that leaves send the same packet. The first gets its
// answer; the second ends what it asked for.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { HttpServer } from "../../server/http/http_server.ts";
import { defaultLimits } from "../../server/http/limits.ts";
import {
  NO_END,
  RawClient,
  rawPost,
  startServer,
  type TestServer,
} from "../fixtures/server_fixture.ts";
import { soon, until } from "../fixtures/waiting.ts";

const LONG = { contextLength: 65_536 };
/** Takes long enough for the server to have seen the client's end before the answer begins. */
const SECOND = { prompt: "Hello", max_tokens: 1500, ...NO_END };
const ENDLESS = { ...SECOND, max_tokens: 60_000 };

/** Whether the engine has nothing to do. */
function idle(server: TestServer): boolean {
  const { running, waiting } = server.engine.status();
  return running === 0 && waiting === 0;
}

for (const path of ["/v1/completions", "/v1/generate"]) {
  for (const stream of [false, true]) {
    Deno.test(`a client that closes its sending half gets its whole answer: ${path}, stream: ${stream}`, async () => {
      await using server = await startServer(LONG);
      using client = await RawClient.connect(server.port, rawPost(path, { ...SECOND, stream }));
      await client.endSending();
      const text = await client.rest();
      // Interim answers, which mean nothing, then the answer.
      assertMatch(text, /^(HTTP\/1\.1 100 Continue\r\n\r\n)*HTTP\/1\.1 200 OK\r\n/);
      if (stream) assert(text.endsWith("data: [DONE]\n\n\r\n0\r\n\r\n"), text.slice(-200));
      else assertMatch(text, /"completion_tokens":1500/);
    });

    Deno.test(`a client that closes its sending half and leaves later is noticed: ${path}, stream: ${stream}`, async () => {
      await using server = await startServer({ ...LONG, app: { commentMs: 100 } });
      const client = await RawClient.connect(server.port, rawPost(path, { ...ENDLESS, stream }));
      await client.endSending();
      await until("it runs", () => server.engine.status().running === 1);
      client.close();
      await until("the engine is free", () => idle(server));
    });
  }
}

Deno.test("a client that leaves while its stream waits for its turn is noticed, although no token is due", async () => {
  await using server = await startServer({ ...LONG, app: { commentMs: 600_000 } });
  using first = await RawClient.connect(server.port, rawPost("/v1/generate", ENDLESS));
  await until("the first runs", () => server.engine.status().running === 1);
  const request = rawPost("/v1/generate", { ...ENDLESS, stream: true });
  const second = await RawClient.connect(server.port, request);
  // What it has not read would make its system send a reset.
  await second.until(/\r\n\r\n$/);
  assertEquals(server.engine.status().waiting, 1);
  second.close();
  await until("no request waits", () => server.engine.status().waiting === 0);
  first.close();
  await until("the engine is free", () => idle(server));
});

Deno.test("a stream that is made for a client that has left meanwhile is ended at once", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const ended = Promise.withResolvers<void>();
  const server = new HttpServer(listener, async (_request, { signal }) => {
    await new Promise((left) => signal.addEventListener("abort", left));
    const stream = new ReadableStream({ cancel: () => ended.resolve() });
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  }, defaultLimits());
  const request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  (await RawClient.connect(listener.addr.port, request)).close();
  await soon("the stream's end", ended.promise);
  await server.close();
});

Deno.test("a stream in which nothing happens is ended when its connection is reset", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const asked = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const server = new HttpServer(listener, ({ url }) => {
    if (!url.endsWith("/stream")) return new Response("unread");
    asked.resolve();
    const stream = new ReadableStream({ cancel: () => ended.resolve() });
    return new Response(stream, { headers: { "Content-Type": "text/event-stream" } });
  }, defaultLimits());
  const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
  const client = await RawClient.connect(listener.addr.port, get("/") + get("/stream"));
  await asked.promise;
  // The first answer has come and was not read: closing sends a reset.
  client.close();
  await soon("the stream's end", ended.promise);
  await server.close();
});

Deno.test("requests that were sent before the client closed its sending half are all answered", async () => {
  await using server = await startServer(LONG);
  const requests = [2, 1500, 3].map((max_tokens) =>
    rawPost("/v1/generate", { ...SECOND, max_tokens })
  );
  using client = await RawClient.connect(server.port, requests.join(""));
  await client.endSending();
  const text = await client.rest();
  const counts = [...text.matchAll(/"completion_tokens":(\d+)/g)].map(([, count]) => count);
  assertEquals(counts, ["2", "1500", "3"]);
});

Deno.test("a request of HTTP/1.0 is answered without interim answers, which it does not know", async () => {
  await using server = await startServer(LONG);
  const request = rawPost("/v1/generate", SECOND).replace("HTTP/1.1", "HTTP/1.0");
  using client = await RawClient.connect(server.port, request);
  await client.endSending();
  assertMatch(await client.rest(), /^HTTP\/1\.0 200 OK\r\n[^]*"completion_tokens":1500/);
});

Deno.test("a client that ends inside its request gets an error that says what is missing", async () => {
  await using server = await startServer();
  const whole = rawPost("/v1/generate", SECOND);
  for (
    const [text, code] of [[whole.slice(0, -3), "incomplete_body"], [
      whole.slice(0, 30),
      "malformed_request",
    ]]
  ) {
    using client = await RawClient.connect(server.port, text);
    await client.endSending();
    assertMatch(await client.rest(), new RegExp(`^HTTP/1\\.1 400 [^]*"code":"${code}"`));
  }
  using silent = await RawClient.connect(server.port);
  await silent.endSending();
  assertEquals(await silent.rest(), "");
});

Deno.test("a connection that is reset in the middle ends its own requests alone", async () => {
  await using server = await startServer({ ...LONG, engine: { parallel: 2 } });
  using other = await RawClient.connect(server.port, rawPost("/v1/generate", SECOND));
  // What a client has not read when it closes makes its system send a reset.
  const request = rawPost("/v1/generate", ENDLESS, "Expect: 100-continue\r\n");
  const at = request.indexOf("\r\n\r\n") + 4;
  const client = await RawClient.connect(server.port, request.slice(0, at));
  // The interim answer has come, unread, when a stream that was asked for later is answered.
  using later = await RawClient.connect(
    server.port,
    "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
  );
  await later.until(/200 OK/);
  await client.send(request.slice(at));
  await until("both run", () => server.engine.status().running === 2);
  client.close();
  await until("one runs", () => server.engine.status().running <= 1);
  await other.until(/"completion_tokens":1500/);
});
