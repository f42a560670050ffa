// The file that names MCP servers, the names of their tools, and results as texts.
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import fc from "fast-check";
import { M40Error } from "../engine/errors.ts";
import { boundedFetch } from "./bounded_fetch.ts";
import { checkAllow, parseMcpConfig } from "./mod.ts";
import { isNamed, plainName, toolName } from "./names.ts";
import { readResult } from "./result.ts";

const parse = (file: unknown, variables: Record<string, string> = {}) =>
  parseMcpConfig(
    typeof file === "string" ? file : JSON.stringify(file),
    "f.json",
    (name) => variables[name],
  );

Deno.test("MCP: the file's servers are read as other clients read them", () => {
  const { servers, allow, notes } = parse({
    mcpServers: {
      "my files": {
        command: "npx",
        args: ["files", "${HOME}/a"],
        env: { KEY: "${KEY:-none}" },
        cwd: "/x",
      },
      web: {
        type: "http",
        url: "https://${HOST}/mcp",
        headers: { Authorization: "Bearer ${KEY:-}" },
      },
      off: { command: "x", disabled: true },
      my_files: { url: "http://a/sse", type: "sse", autoApprove: ["x"] },
    },
    allow: ["my_files__read", "web__*"],
    inputs: [],
  }, { HOME: "/home/ada", HOST: "a.example" });
  assertEquals(servers, [
    {
      kind: "program",
      name: "my_files",
      command: "npx",
      args: ["files", "/home/ada/a"],
      env: { KEY: "none" },
      cwd: "/x",
    },
    {
      kind: "http",
      name: "web",
      url: new URL("https://a.example/mcp"),
      headers: { Authorization: "Bearer " },
      transport: "streamable",
    },
    {
      kind: "http",
      name: "my_files_2",
      url: new URL("http://a/sse"),
      headers: {},
      transport: "events",
    },
  ]);
  assertEquals(allow, ["my_files__read", "web__*"]);
  assertEquals(notes, ["f.json: mcpServers.my_files has autoApprove, which m40 does not read."]);
});

Deno.test("MCP: what is wrong in the file is said with its place", () => {
  const wrong: [unknown, RegExp][] = [
    ["{", /f\.json: it is no JSON/],
    [[], /wanted \{"mcpServers"/],
    [{ servers: {} }, /wanted \{"mcpServers"/],
    [{ mcpServers: { a: 1 } }, /mcpServers\.a is no object/],
    [{ mcpServers: { a: {} } }, /mcpServers\.a\.command is missing; wanted a command, or a url/],
    [{ mcpServers: { a: { comand: "x" } } }, /a\.command is missing/],
    [{ mcpServers: { a: { command: ["x"] } } }, /a\.command is \["x"\]; wanted a text/],
    [{ mcpServers: { a: { command: "x", args: "y" } } }, /a\.args is no list of texts/],
    [{ mcpServers: { a: { command: "x", env: { A: 1 } } } }, /a\.env\.A is no text/],
    [{ mcpServers: { a: { command: "x", env: { "A=": "1" } } } }, /a\.env has the name "A="/],
    [{ mcpServers: { a: { command: "x\0" } } }, /NUL/],
    [
      { mcpServers: { a: { command: "x", url: "http://a" } } },
      /a\.url is given together with a command/,
    ],
    [{ mcpServers: { a: { url: "file:///etc" } } }, /a\.url is "file:\/\/\/etc"; wanted http/],
    [{ mcpServers: { a: { url: "http://u:p@a" } } }, /a\.url has a user or a password/],
    [{ mcpServers: { a: { url: "http://a", headers: { "a b": "c" } } } }, /a\.headers has "a b"/],
    [{ mcpServers: { a: { url: "http://a", type: "ws" } } }, /a\.type is "ws"; wanted stdio, http/],
    [{ mcpServers: { a: { command: "x", type: "http" } } }, /a\.url is missing/],
    [
      { mcpServers: { a: { command: "${NOWHERE}" } } },
      /a\.command wants \$NOWHERE, which is not set/,
    ],
    [{ mcpServers: { a: { command: "${env:HOME}" } } }, /a\.command has "\$\{env:HOME\}"; wanted/],
    [{ mcpServers: {}, allow: "x" }, /allow is no list/],
    [{ mcpServers: {}, allow: ["a b"] }, /allow: got "a b"; wanted SERVER__TOOL/],
    [
      { mcpServers: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [i, {}])) },
      /65 servers/,
    ],
  ];
  for (const [file, message] of wrong) {
    const { message: said } = assertThrows(() => parse(file), M40Error);
    assertMatch(said, message);
  }
});

Deno.test("MCP: names of tools are unlike each other, and never another server's", () => {
  const key = fc.string({
    unit: fc.constantFrom("a", "b", "_", "-", " ", "é", "2"),
    maxLength: 40,
  });
  fc.assert(
    fc.property(
      fc.array(fc.tuple(key, fc.array(key, { maxLength: 6 })), { maxLength: 6 }),
      (file) => {
        const servers = new Set<string>();
        const all: string[] = [];
        for (const [key, tools] of file) {
          const server = plainName(key, servers);
          assert(!servers.has(server));
          servers.add(server);
          const names = new Set<string>();
          for (const tool of tools) {
            const name = toolName(server, tool, names);
            assertMatch(name, /^[A-Za-z0-9_-]{1,64}$/);
            assertEquals(name.split("__")[0], server);
            names.add(name);
            all.push(name);
          }
          for (const other of servers) {
            for (const name of names) {
              assertEquals(
                isNamed(name, server, [`${other}__*`]),
                other === server,
              );
            }
          }
        }
        assertEquals(new Set(all).size, all.length);
      },
    ),
  );
  const long = [`${"a".repeat(100)}1`, `${"a".repeat(100)}2`].map((tool) =>
    toolName("s", tool, new Set())
  );
  assert(long[0] !== long[1] && long.every((name) => name.length === 64), long.join());
});

Deno.test("MCP: a result is its texts, with words for what is no text, no longer than it may be", () => {
  const content = [
    { type: "text", text: "one" },
    { type: "image", data: "AAAA".repeat(100), mimeType: "image/png" },
    { type: "resource", resource: { uri: "file:///a", text: "two" } },
    { type: "resource", resource: { uri: "file:///b", blob: "AAAA", mimeType: "x/y" } },
    { type: "resource_link", uri: "file:///c", name: "c" },
    { type: "hologram" },
    { type: "text" },
    null,
    7,
  ];
  assertEquals(readResult({ content }, 10_000), {
    text: [
      "one",
      "[image of the type image/png, 300 bytes; not shown]",
      "[resource file:///a]\ntwo",
      "[resource file:///b of the type x/y, 3 bytes; not shown]",
      "[link to a resource c file:///c]",
      '[content of the type "hologram"; not shown]',
      "[a text that is none]",
      "[content that is no object]",
      "[content that is no object]",
    ].join("\n"),
    failed: false,
  });
  assertEquals(readResult({ structuredContent: { a: 1 } }, 100).text, '{"a":1}');
  assertEquals(readResult({ isError: true }, 100), {
    text: "The tool failed and said nothing.",
    failed: true,
  });
  const { text } = readResult({ content: [{ type: "text", text: "a".repeat(999) + "😀" }] }, 100);
  assert(text.isWellFormed());
  assertMatch(text, /^a{75}\n\[… 901 of 1001 characters are left out here …\]\na{23}😀$/);
});

Deno.test("MCP: answers and events that are too long are not read on", async () => {
  const event = `data: ${"x".repeat(90)}\r\n\r\n`;
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const path = new URL(request.url).pathname;
    const type = path === "/json" ? "application/json" : "text/event-stream; charset=utf-8";
    const body = path === "/one" ? `data: ${"x\n".repeat(90)}` : event.repeat(5);
    return new Response(body, { headers: { "content-type": type } });
  });
  const read = async (path: string) =>
    await (await boundedFetch(120)(`http://127.0.0.1:${server.addr.port}${path}`)).text().catch(
      String,
    );
  assertMatch(await read("/json"), /longer than 120 bytes/);
  assertMatch(await read("/one"), /longer than 120 bytes/);
  assertEquals(await read("/events"), event.repeat(5));
  await server.shutdown();
});

Deno.test("MCP: only what can be a tool's name is allowed", () => {
  const refuse = (message: string) => new Error(message);
  assertEquals(checkAllow(["a__b", "a-b__*"], refuse), ["a__b", "a-b__*"]);
  for (const name of ["*", "a__b*", "", "a.b", "x".repeat(65)]) {
    assertThrows(() => checkAllow([name], refuse));
  }
});
