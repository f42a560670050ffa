import { assert, assertEquals, assertMatch } from "@std/assert";
import { Home, startServe, TINY, Watched } from "../fixtures/cli_program.ts";
import { patiently } from "../fixtures/patience.ts";
import {
  NO_END,
  openRequest,
  RawClient,
  rawPost,
  readError,
  readEvents,
  startServer,
} from "../fixtures/server_fixture.ts";
import { soon, until } from "../fixtures/waiting.ts";

const GET = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** Two seconds of work. */
const TOKENS = 6000;

/** Starts `m40 serve` with a long context on a free port, and a stream of that many tokens. */
async function startStream(home: Home, maxTokens: number, args: string[]) {
  const model = await home.longModel();
  const all = ["--model", model, "--port", "0", "--ctx", "500000", "--threads", "1", ...args];
  const { child, output, errors, url } = await startServe(home, all);
  const body = { prompt: "hello", max_tokens: maxTokens, ...NO_END, stream: true };
  const stream = await post(url, body);
  assertEquals(stream.status, 200);
  // Where a test fails in the middle, nothing of it stays.
  const end = async () => {
    if (await Promise.race([child.status, false]) === false) child.kill("SIGKILL");
    await Promise.all([child.status, output.rest(), errors, stream.body?.cancel().catch(() => {})]);
  };
  return { child, output, errors, url, stream, [Symbol.asyncDispose]: end };
}

function post(url: string, body: unknown): Promise<Response> {
  return fetch(`${url}/v1/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function get(url: string): Promise<[number, { status: string }]> {
  const response = await fetch(url);
  return [response.status, await response.json()];
}

Deno.test("m40 serve: asked to end, it finishes what runs, says that it drains, takes nothing new, exits with 0", () =>
  patiently(drains));

async function drains(times: number): Promise<void> {
  await using home = await Home.make();
  await using started = await startStream(home, TOKENS * times, ["--drain", "3600"]);
  const { child, output, errors, url, stream } = started;
  assertEquals((await get(`${url}/ready`))[0], 200);
  child.kill("SIGTERM");
  await output.until(/Draining: 1 running and 0 waiting may take 3600 s[^\n]*\n/);
  const [health, state] = await get(`${url}/health`);
  assertEquals([health, state.status], [200, "draining"]);
  const [ready, why] = await get(`${url}/ready`);
  assertEquals([ready, why.status], [503, "draining"]);
  const refused = await post(url, { prompt: "hello" });
  assertMatch(refused.headers.get("retry-after")!, /^[1-9]\d*$/);
  assertEquals((await readError(refused, 503)).code, "draining");
  const events = await readEvents(stream);
  assertEquals(events.at(-1).choices[0].finish_reason, "length");
  assertEquals(await output.rest(), "Closed.\n");
  assertEquals([(await child.status).code, await errors], [0, ""]);
}

Deno.test("m40 serve --drain: an answer that takes longer is ended with an error, and the exit code is 0", async () => {
  await using home = await Home.make();
  const { child, output, errors, stream } = await startStream(home, 400_000, ["--drain", "0.3"]);
  child.kill("SIGTERM");
  const events = (await stream.text()).trimEnd().split("\n\n");
  assertEquals(JSON.parse(events.at(-1)!.slice("data: ".length)).error.code, "cancelled");
  assertMatch(
    await output.rest(),
    /Draining: 1 running and 0 waiting may take 0.3 s.*\nClosed.\n$/,
  );
  assertEquals([(await child.status).code, await errors], [0, ""]);
});

Deno.test("m40 serve: SIGHUP drains as SIGTERM does, come it twice; under nohup it does nothing", () =>
  patiently(hangsUp));

async function hangsUp(times: number): Promise<void> {
  await using home = await Home.make();
  await using started = await startStream(home, TOKENS * times, ["--drain", "3600"]);
  const { child, output, errors, stream } = started;
  child.kill("SIGHUP");
  await output.until(/Draining: 1 running and 0 waiting may take 3600 s[^\n]*\n/);
  child.kill("SIGHUP");
  assertEquals((await readEvents(stream)).at(-1).choices[0].finish_reason, "length");
  assertEquals(await output.rest(), "Closed.\n");
  assertEquals([(await child.status).code, await errors], [0, ""]);

  const main = new URL("../../main.ts", import.meta.url).pathname;
  const serve = ["serve", "--model", TINY, "--device", "cpu", "--port", "0"];
  const ignoring = new Deno.Command("sh", {
    args: [
      "-c",
      'trap "" HUP; exec "$@"',
      "sh",
      Deno.execPath(),
      "run",
      "-A",
      "--no-check",
      "-q",
      main,
      ...serve,
    ],
    env: home.env,
    clearEnv: true,
    stdout: "piped",
  }).spawn();
  const said = new Watched(ignoring.stdout);
  const [, url] = await said.until(/Listening on (http:\S+)\/v1.*\n/);
  ignoring.kill("SIGHUP");
  // A draining one would end without a signal: nothing runs.
  for (let i = 0; i < 20; i++) {
    const response = await post(url, { prompt: "hello", max_tokens: 50, ...NO_END });
    assertEquals(response.status, 200, await response.text());
  }
  ignoring.kill("SIGTERM");
  assertEquals([await said.rest(), (await ignoring.status).code], ["Closed.\n", 0]);
}

Deno.test("m40 serve: a second SIGTERM ends it at once, whatever runs", async () => {
  await using home = await Home.make();
  const { child, output, errors, stream } = await startStream(home, 400_000, []);
  child.kill("SIGTERM");
  await output.until(/Draining: 1 running and 0 waiting may take 30 s[^\n]*\n/);
  child.kill("SIGTERM");
  assertEquals((await child.status).code, 128 + 15);
  await stream.text().catch(() => {});
  await output.rest();
  assertEquals(await errors, "");
});

Deno.test("a server that drains closes the connections of refused clients, and answers all else", async () => {
  await using server = await startServer({ contextLength: 65_536, drainMs: 60_000 });
  const body = { prompt: "Hello", max_tokens: 60_000, ...NO_END, stream: true };
  const client = await openRequest(server.port, "/v1/completions", body);
  await until("it runs", () => server.engine.status().running === 1);
  server.stop();
  for (const path of ["/v1/completions", "/v1/generate"]) {
    // The answer is read until the server closes the connection.
    const connection = await openRequest(server.port, path, { prompt: "a" });
    const text = await new Response(connection.readable).text();
    assert(text.startsWith("HTTP/1.1 503 "), text);
    assertMatch(text, /\r\nconnection: close\r\n/i);
  }
  for (const path of ["/v1/models", "/metrics", "/slots", "/health"]) {
    const response = await fetch(server.url + path);
    assertEquals(response.status, 200, await response.text());
  }
  assertEquals((await (await fetch(server.url + "/slots")).json()).draining, true);
  client.close();
  await server.finished;
});

Deno.test("a server at which nothing runs ends at once, whatever half-sent requests and idle connections it has", async () => {
  await using server = await startServer({ drainMs: 3_600_000 });
  const post = rawPost("/v1/generate", { prompt: "a", max_tokens: 2, ...NO_END });
  const halves = ["", GET.slice(0, 20), post.slice(0, -5), post.slice(0, post.indexOf("{")), GET];
  const clients: RawClient[] = [];
  for (let i = 0; i < 20; i++) {
    clients.push(await RawClient.connect(server.port, halves[i % halves.length]));
  }
  for (let i = 4; i < 20; i += 5) await clients[i].until(/"status":"ok"/);
  server.stop();
  await soon("the end", server.finished);
  for (const client of clients) {
    await client.rest();
    client.close();
  }
});

for (const stream of [false, true]) {
  Deno.test(`connections end with the last answer, and the answer is whole: stream: ${stream}`, () =>
    endsWithLast(stream));
}

async function endsWithLast(stream: boolean): Promise<void> {
  await using server = await startServer({ contextLength: 65_536, drainMs: 3_600_000 });
  const body = { prompt: "Hello", max_tokens: 2000, ...NO_END, stream };
  using client = await RawClient.connect(server.port, rawPost("/v1/generate", body));
  await until("it runs", () => server.engine.status().running === 1);
  using half = await RawClient.connect(server.port, GET.slice(0, 20));
  using kept = await RawClient.connect(server.port, GET);
  await kept.until(/"status":"ok"/);
  server.stop();
  // While it drains, a connection that was open before can still ask how it goes.
  await kept.send(GET);
  await kept.until(/"status":"ok"[^]*"status":"draining"/);
  assertMatch(await client.rest(), stream ? /data: \[DONE\]/ : /"completion_tokens":2000/);
  await soon("the end", server.finished);
  await half.rest();
  await kept.rest();
}
