// `/m40/mcp/tools` and `/m40/mcp/call`: tools of MCP servers for the server's own page, and for no other client.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { McpCallResult, McpToolList } from "../../server/mcp/routes.ts";
import { Home, m40, startServe } from "../fixtures/cli_program.ts";
import { hostile, open } from "../fixtures/mcp_servers.ts";
import { scriptedModel } from "../fixtures/scripted_model.ts";
import { startServer } from "../fixtures/server_fixture.ts";

Deno.test("MCP over HTTP: tools are listed as chat completions take them, and called with objects or their JSON", async () => {
  await using mcp = await open(
    {
      it: hostile("none"),
      missing: { command: "no-such-program" },
      exit: hostile("exit"),
    },
    {},
    ["it__say"],
  );
  await using server = await startServer({ app: { mcp: Promise.resolve(mcp) } });
  const response = await fetch(`${server.url}/m40/mcp/tools`);
  assertEquals(response.status, 200);
  const text = await response.text();
  // What a server wrote before it ended may be a secret.
  assert(!text.includes("no such database"), text);
  const { tools, servers } = McpToolList.parse(JSON.parse(text));
  assertEquals(tools[0], {
    type: "function",
    function: {
      name: "it__say",
      description: "The tool say",
      parameters: { type: "object", properties: { text: { type: "string" } } },
    },
    server: "it",
    read_only: false,
    allowed: true,
  });
  assertEquals(tools.map(({ allowed }) => allowed), [true, false]);
  assertEquals(servers.map(({ name, state }) => [name, state]), [
    ["it", "ready"],
    ["missing", "failed"],
    ["exit", "failed"],
  ]);
  const call = async (body: unknown) => {
    const response = await server.post("/m40/mcp/call", body);
    return [response.status, await response.json()];
  };
  const hi = { content: '{"text":"hi"}', is_error: false };
  assertEquals(await call({ name: "it__say", arguments: { text: "hi" } }), [200, hi]);
  const [status, answer] = await call({ name: "it__say", arguments: '{"text":"hi"}' });
  assertEquals([status, McpCallResult.parse(answer)], [200, hi]);
  assertEquals(await call({ name: "it__say", arguments: "[" }), [200, {
    content: "The arguments are not an object in JSON, as the tool wants them.",
    is_error: true,
  }]);
  // The models work as without it.
  const completion = await server.post("/v1/completions", { prompt: "a", max_tokens: 2 });
  assertEquals(completion.status, 200);
  await completion.body?.cancel();
});

Deno.test("MCP over HTTP: what is wrong is answered in OpenAI's shape", async () => {
  await using mcp = await open({ it: hostile("none") });
  await using server = await startServer({ app: { mcp: Promise.resolve(mcp) } });
  const cases: [unknown, number, string, RegExp][] = [
    [{ name: "it__none", arguments: {} }, 404, "tool_not_found", /There is no tool "it__none"/],
    [{ name: "x".repeat(100_000), arguments: {} }, 404, "tool_not_found", /^.{1,300}$/],
    [{ name: 7, arguments: {} }, 400, "invalid_request", /name/],
    [{ name: "it__say" }, 400, "invalid_request", /arguments/],
    [{ name: "it__say", arguments: [1] }, 400, "invalid_request", /arguments/],
    ["[]", 400, "invalid_request", /object/],
    ["{", 400, "invalid_json", /JSON/],
    ["[".repeat(100_000), 400, "invalid_json", /JSON/],
  ];
  for (const [body, status, code, message] of cases) {
    const response = await server.post("/m40/mcp/call", body);
    const { error } = await response.json();
    assertEquals([response.status, error.code], [status, code], error.message);
    assertMatch(error.message, message);
  }
  await using off = await startServer();
  const none = await fetch(`${off.url}/m40/mcp/tools`);
  assertEquals(await none.json(), { tools: [], servers: [] });
  const response = await off.post("/m40/mcp/call", {});
  assertEquals(response.status, 404);
  const { error } = await response.json();
  assertEquals(error.code, "mcp_off");
  assertMatch(error.message, /Start it with --mcp FILE/);
});

Deno.test("MCP over HTTP: only the server's own page, with the key where one is wanted, has access", async () => {
  await using mcp = await open({ it: hostile("none") }, {}, ["it__*"]);
  await using server = await startServer({
    app: { mcp: Promise.resolve(mcp), apiKey: "key", corsOrigins: ["*"] },
  });
  const ask = async (headers: Record<string, string>) => {
    const list = await fetch(`${server.url}/m40/mcp/tools`, { headers });
    await list.body?.cancel();
    const call = await fetch(`${server.url}/m40/mcp/call`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ name: "it__say", arguments: {} }),
    });
    await call.body?.cancel();
    return [list.status, call.status];
  };
  const authorization = "Bearer key";
  assertEquals(await ask({}), [401, 401]);
  assertEquals(await ask({ authorization }), [200, 200]);
  assertEquals(await ask({ authorization, origin: server.url }), [200, 200]);
  assertEquals(await ask({ authorization, origin: "https://a.example" }), [403, 403]);
  assertEquals(await ask({ authorization, origin: "null" }), [403, 403]);
  const host = server.url.replace("http://", "");
  for (const scheme of ["chrome-extension://abc", "moz-extension://abc", "tauri://localhost"]) {
    assertEquals(await ask({ authorization, origin: scheme }), [403, 403], scheme);
  }
  assertEquals(await ask({ authorization, origin: `chrome-extension://${host}` }), [403, 403]);
});

Deno.test("MCP over HTTP: a tool that is not allowed is called only when the user has said yes", async () => {
  await using mcp = await open({ it: hostile("none") }, {}, ["it__wait"]);
  await using server = await startServer({ app: { mcp: Promise.resolve(mcp) } });
  const call = { name: "it__say", arguments: {} };
  for (const confirmed of [undefined, false]) {
    const response = await server.post("/m40/mcp/call", { ...call, confirmed });
    const { error } = await response.json();
    assertEquals([response.status, error.code, error.param], [403, "not_allowed", "confirmed"]);
    assertMatch(error.message, /"confirmed": true; or start the server with --mcp-allow it__say/);
  }
  const response = await server.post("/m40/mcp/call", { ...call, confirmed: true });
  assertEquals(await response.json(), { content: "{}", is_error: false });
});

Deno.test("MCP over HTTP: a call whose client leaves ends, and more than 32 at once wait their turn", async () => {
  await using mcp = await open({ it: hostile("none") }, {}, ["it__*"]);
  await using server = await startServer({ app: { mcp: Promise.resolve(mcp) } });
  const leave = new AbortController();
  const waiting = Array.from(
    { length: 40 },
    () =>
      server.post("/m40/mcp/call", { name: "it__wait", arguments: {} }, { signal: leave.signal }),
  );
  const refused = await Promise.any(waiting);
  assertEquals(refused.status, 429);
  assertEquals((await refused.json()).error.code, "too_many_calls");
  leave.abort();
  for (const one of await Promise.allSettled(waiting)) {
    if (one.status === "fulfilled" && one.value !== refused) {
      await one.value.body?.cancel().catch(() => {});
    }
  }
  for (;;) {
    const { status, body } = await server.post("/m40/mcp/call", { name: "it__say", arguments: {} });
    await body?.cancel();
    if (status === 200) break;
    assertEquals(status, 429);
  }
});

Deno.test("m40 serve --mcp: tools are served where the file says so, and not to a network without a key", async () => {
  await using home = await Home.make();
  const model = join(home.path, "scripted.gguf");
  const file = join(home.path, "mcp.json");
  await scriptedModel(model, {});
  await Deno.writeTextFile(file, JSON.stringify({ mcpServers: { it: hostile("none") } }));
  const words = ["--model", model, "--port", "0", "--mcp", file, "--mcp-allow", "it__*"];
  const open = await m40(home, ["serve", ...words, "--host", "0.0.0.0"]);
  assertEquals(open.code, 2);
  assertMatch(
    open.stderr,
    /--mcp lets every client of 0\.0\.0\.0 call tools on this machine; set M40_API_KEY/,
  );
  const server = await startServe(home, words);
  const { tools } = await (await fetch(`${server.url}/m40/mcp/tools`)).json();
  assertEquals(tools.map(({ allowed }: { allowed: boolean }) => allowed), [true, true]);
  const response = await server.post("/m40/mcp/call", { name: "it__say", arguments: { a: 1 } });
  assertEquals(await response.json(), { content: '{"a":1}', is_error: false });
  server.child.kill("SIGTERM");
  assertEquals((await server.child.status).code, 0);
  await server.output.rest();
  assertMatch(await server.errors, /every user of this machine can call the MCP servers' tools/);
});
