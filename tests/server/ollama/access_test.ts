// Who may ask Ollama's dialect, and what a body is sent as.
import { assertEquals, assertMatch } from "@std/assert";
import { OllamaVersion } from "../../../server/ollama/routes.ts";
import { readOllamaError } from "../../fixtures/ollama_fixture.ts";
import { startServer, type TestServer } from "../../fixtures/server_fixture.ts";

/** Content types, and none, that clients of Ollama give to JSON. */
const TYPES = [
  undefined,
  "",
  "text/plain",
  "text/plain;charset=UTF-8",
  "application/x-www-form-urlencoded",
  "application/x-www-form-urlencoded; charset=UTF-8",
  "application/octet-stream",
  "Application/JSON; charset=utf-8",
];

/** What programs that are no browsers send with it. */
const PROGRAMS: Record<string, string>[] = [
  {},
  // Node's fetch, and a desktop program in a browser's engine.
  { "Sec-Fetch-Mode": "cors", "Accept-Language": "*" },
  { Origin: "app://obsidian.md", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors" },
];

/** What a browser says of a page's request, and what is answered to it where the page does not say that it is JSON. */
const PAGES: [Record<string, string>, number][] = [
  [{ Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" }, 403],
  [{ Origin: "https://evil.example" }, 403],
  [{ Origin: "null" }, 403],
  [{ "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" }, 415],
  [{ "Sec-Fetch-Site": "same-origin" }, 415],
  [{ Referer: "https://evil.example/" }, 415],
];

/** Asks for tokens, whose routes want no more than a body. */
async function tokenize(
  server: TestServer,
  path: string,
  type: string | undefined,
  headers: Record<string, string>,
): Promise<number> {
  const body = path === "/api/show" ? { model: "golden" } : { content: "a" };
  // Bytes, so that no content type is added.
  const response = await fetch(server.url + path, {
    method: "POST",
    headers: type === undefined ? headers : { ...headers, "Content-Type": type },
    body: new TextEncoder().encode(JSON.stringify(body)),
  });
  await response.text();
  return response.status;
}

Deno.test("bodies of any content type and of none are read as JSON where no web page sent them", async () => {
  await using server = await startServer();
  for (const path of ["/api/show", "/tokenize"]) {
    for (const type of TYPES) {
      for (const program of PROGRAMS) {
        const status = await tokenize(server, path, type, program);
        assertEquals(status, 200, `${path} ${type} ${JSON.stringify(program)}`);
      }
    }
    for (const [page, refused] of PAGES) {
      for (const type of ["text/plain", "application/x-www-form-urlencoded", undefined]) {
        const status = await tokenize(server, path, type, page);
        assertEquals(status, refused, `${path} ${type} ${JSON.stringify(page)}`);
      }
    }
  }
  const own = { Origin: server.url };
  assertEquals(await tokenize(server, "/api/show", "text/plain", own), 415);
  assertEquals(await tokenize(server, "/api/show", "application/json", own), 200);
});

Deno.test("a key holds for Ollama's routes, in its shape; the greeting needs none", async () => {
  await using server = await startServer({ app: { apiKey: "k" } });
  for (const path of ["/api/tags", "/api/ps", "/api/version", "/api/nothing"]) {
    assertMatch(await readOllamaError(await fetch(server.url + path), 401), /API key/);
  }
  const headers = { Authorization: "Bearer k" };
  const version = await fetch(server.url + "/api/version", { headers });
  assertMatch(OllamaVersion.parse(await version.json()).version, /^\d+\.\d+\.\d+$/);
  const greeting = await fetch(server.url + "/");
  assertEquals([greeting.status, await greeting.text()], [200, "Ollama is running"]);
  const head = await fetch(server.url + "/", { method: "HEAD" });
  assertEquals([head.status, await head.text()], [200, ""]);
});
