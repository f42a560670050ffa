// Tools of real MCP servers: the SDK's examples, over standard input and output and over HTTP.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  eventsServer,
  ExampleHttpServer,
  exampleProgram,
  open,
} from "../tests/fixtures/mcp_servers.ts";

Deno.test("MCP: the tool of the SDK's example program is listed with its schema, and called", async () => {
  await using mcp = await open({ "the weather": exampleProgram("mcpServerOutputSchema") });
  assertEquals(mcp.notes, []);
  assertEquals(mcp.servers.map(({ name, state }) => [name, state]), [["the_weather", "ready"]]);
  const [tool] = mcp.tools;
  assertEquals(tool.name, "the_weather__get_weather");
  assertEquals(tool.description, "Get weather information for a city");
  assertEquals(tool.parameters.required, ["city", "country"]);
  const { text, failed } = await mcp.call(tool.name, '{"city":"Oslo","country":"NO"}');
  assert(!failed, text);
  assert(["sunny", "cloudy", "rainy", "stormy", "snowy"].includes(JSON.parse(text).conditions));
  const wrong = await mcp.call(tool.name, '{"city":7}');
  assert(wrong.failed);
  assertStringIncludes(wrong.text, "country");
});

Deno.test("MCP: the SDK's example server over streamable HTTP is used, also after a restart", async () => {
  await using server = await ExampleHttpServer.start();
  await using mcp = await open({ http: { type: "http", url: server.url } });
  const greet = "http__greet";
  assert(mcp.tools.some(({ name }) => name === greet), mcp.notes.join());
  assertEquals(await mcp.call(greet, { name: "Ada" }), { text: "Hello, Ada!", failed: false });
  const links = await mcp.call("http__list-files", {});
  assertMatch(links.text, /\[link to a resource .*file:\/\/\//);
  // It asks the client's user for something, which this client offers no way to.
  assertMatch(
    (await mcp.call("http__collect-user-info", { infoType: "contact" })).text,
    /Method not found/,
  );
  await server.restart();
  assertEquals(await mcp.call(greet, { name: "Bob" }), { text: "Hello, Bob!", failed: false });
});

Deno.test("MCP: a server over HTTP that is gone costs its calls alone", async () => {
  const server = await ExampleHttpServer.start();
  await using mcp = await open({
    http: { url: server.url },
    weather: exampleProgram("mcpServerOutputSchema"),
  });
  await server.stop();
  const { text, failed } = await mcp.call("http__greet", { name: "Ada" });
  assert(failed);
  assertMatch(text, /^The call failed: /);
  const args = { city: "Oslo", country: "NO" };
  assertEquals((await mcp.call("weather__get_weather", args)).failed, false);
});

Deno.test("MCP: a server of the older way by events is found out, and gets the headers", async () => {
  await using server = await eventsServer();
  const { url } = server;
  await using mcp = await open({ old: { url, headers: { Authorization: "Bearer key" } } });
  assertEquals(mcp.notes, []);
  assertEquals(await mcp.call("old__shout", { text: "hello" }), { text: "HELLO", failed: false });
  assertEquals(new Set(server.tokens), new Set(["Bearer key"]));
  await using named = await open({ old: { type: "sse", url } });
  assertEquals(named.tools.length, 1);
});

Deno.test("MCP: what is no MCP server is reported with the reason, and has no tools", async () => {
  const page = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/key") return new Response("no key", { status: 401 });
    if (pathname === "/away") return Response.redirect("http://192.0.2.1/mcp", 307);
    if (pathname === "/html") {
      return new Response("<html>", { headers: { "content-type": "text/html" } });
    }
    return new Response("{".repeat(11 * 2 ** 20), {
      headers: { "content-type": "application/json" },
    });
  });
  const at = (path: string) => ({ url: `http://127.0.0.1:${page.addr.port}${path}` });
  await using mcp = await open({
    key: at("/key"),
    away: at("/away"),
    html: at("/html"),
    long: at("/long"),
    nobody: { url: "http://127.0.0.1:1/mcp" },
  });
  assertEquals(mcp.tools, []);
  const errors = Object.fromEntries(mcp.servers.map(({ name, error }) => [name, error ?? "none"]));
  assertStringIncludes(errors.key, "no key");
  assertStringIncludes(errors.away, "192.0.2.1");
  assertStringIncludes(errors.html, "text/html");
  assertStringIncludes(errors.long, "longer than");
  assertMatch(errors.nobody, /refused/);
  await page.shutdown();
});
