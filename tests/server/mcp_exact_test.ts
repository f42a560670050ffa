// Numbers and the order of members in what MCP servers say: as they wrote them, over each transport.
import { assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { MessageLines } from "../../mcp/message_lines.ts";
import { ExactResults, readMessage } from "../../mcp/message.ts";
import type { McpTools } from "../../mcp/mod.ts";
import { DATA, SCHEMA, serveHttp } from "../fixtures/mcp_exact_server.ts";
import { open, program } from "../fixtures/mcp_servers.ts";
import { answerOf, startServer } from "../fixtures/server_fixture.ts";

async function assertExact(mcp: McpTools, name: string): Promise<void> {
  assertEquals(mcp.notes, [], name);
  assertEquals(mcp.tools.map(({ parameters }) => JSON.stringify(parameters)), [SCHEMA], name);
  const { text, failed } = await mcp.call(mcp.tools[0].name, "{}");
  assertEquals({ text, failed }, { text: DATA, failed: false }, name);
}

Deno.test("MCP: a program's schemas and data keep their numbers and the order of their members", async () => {
  const server = program(fromFileUrl(new URL("../fixtures/mcp_exact_server.ts", import.meta.url)));
  await using mcp = await open({ exact: server });
  await assertExact(mcp, "program");
});

Deno.test("MCP: schemas and data over HTTP keep them too, as JSON, as events, and by the older way", async () => {
  await using server = serveHttp();
  for (const [path, type] of [["json", "http"], ["events", "http"], ["sse", "sse"]]) {
    await using mcp = await open({
      exact: { type, url: `http://127.0.0.1:${server.port}/${path}` },
    });
    await assertExact(mcp, path);
  }
});

Deno.test("MCP: the page gets the schemas and data as the server wrote them", async () => {
  await using other = serveHttp();
  const url = `http://127.0.0.1:${other.port}/json`;
  await using mcp = await open({ exact: { type: "http", url } });
  await using server = await startServer({ app: { mcp: Promise.resolve(mcp) } });
  const listed = await (await fetch(`${server.url}/m40/mcp/tools`)).text();
  assertStringIncludes(listed, `"parameters":${SCHEMA}`);
  const call = { name: "exact__count", arguments: {}, confirmed: true };
  assertEquals(await answerOf(server, "/m40/mcp/call", call), {
    content: DATA,
    is_error: false,
  });
});

Deno.test("MCP: what is no exact result leaves the SDK's reading as it is", () => {
  const results = new ExactResults();
  const answer = (id: number, data: string) =>
    `{"jsonrpc":"2.0","id":${id},"result":{"structuredContent":${data}}}`;
  results.take(`[${answer(1, "1.0")},7,null,{"id":2,"result":1.0}]`);
  results.take('{"id":');
  results.take(answer(3, "[".repeat(2000) + "1.0" + "]".repeat(2000)));
  const read = (id: number) => {
    const message = { jsonrpc: "2.0" as const, id, result: { structuredContent: 5 } };
    results.put(message);
    return JSON.stringify(message.result);
  };
  assertEquals([1, 1, 2, 3].map(read), [
    '{"structuredContent":1.0}',
    '{"structuredContent":5}',
    '{"structuredContent":5}',
    '{"structuredContent":5}',
  ]);
  // One that never puts them in messages does not fill the memory.
  for (let id = 1; id <= 1000; id++) results.take(answer(id, "1.0"));
  assertEquals(read(1), '{"structuredContent":5}');
  assertEquals(read(1000), '{"structuredContent":1.0}');
  assertThrows(() => readMessage("{}"));
  assertThrows(() => readMessage('{"a":1.0'), SyntaxError);
});

Deno.test("MCP: lines come whole however they are cut, and no longer than they may be", () => {
  const bytes = new TextEncoder().encode("é\r\n\n{}\nrest");
  for (let size = 1; size <= bytes.length; size++) {
    const lines = new MessageLines(4);
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      found.push(...lines.take(bytes.subarray(at, at + size)));
    }
    assertEquals(found, ["é", "", "{}"]);
    assertEquals([...lines.take(new TextEncoder().encode("\n"))], ["rest"]);
  }
  assertMatch(
    String(assertThrows(() => [...new MessageLines(3).take(new Uint8Array(4))])),
    /3 bytes/,
  );
});
