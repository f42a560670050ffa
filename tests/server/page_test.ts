import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { FILES } from "../../server/page/files.ts";
import { readError, startServer } from "../fixtures/server_fixture.ts";

const CLIENT = new URL("../../server/page/client/", import.meta.url);
const BROWSER = { Accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

/** The modules that a module imports, but for those that its comments name for their types. */
const IMPORTS = /(?:^(?:import|export|}) .*?from |^import |= import\()"([^"]+)"/gm;

Deno.test("the page is for those that take HTML, Ollama's line for all others at /", async () => {
  await using server = await startServer();
  const kinds: [Record<string, string>, string, string][] = [
    [BROWSER, "text/html; charset=utf-8", "GET"],
    [BROWSER, "text/html; charset=utf-8", "HEAD"],
    [{}, "text/plain;charset=UTF-8", "GET"],
    [{}, "text/plain;charset=UTF-8", "HEAD"],
    [{ Accept: "*/*" }, "text/plain;charset=UTF-8", "GET"],
    [{ Accept: "application/json" }, "text/plain;charset=UTF-8", "GET"],
    [{ Accept: "text/plain, text/html;q=0.5" }, "text/plain;charset=UTF-8", "GET"],
    [{ Accept: "text/html;q=0" }, "text/plain;charset=UTF-8", "GET"],
  ];
  for (const [headers, type, method] of kinds) {
    const response = await fetch(server.url, { headers, method });
    const text = await response.text();
    assertEquals(response.status, 200);
    assertEquals(response.headers.get("content-type"), type, JSON.stringify(headers));
    assertMatch(response.headers.get("vary") ?? "", /Accept/);
    if (method === "HEAD") assertEquals(text, "");
    else if (type.startsWith("text/html")) assertMatch(text, /^<!DOCTYPE html>/);
    else assertEquals(text, "Ollama is running");
  }
  const post = await server.post("/", {}, { headers: BROWSER });
  assertEquals((await readError(post, 405)).code, "method_not_allowed");
});

Deno.test("the page and each of its files may do nothing but run modules of this server", async () => {
  await using server = await startServer();
  for (const path of ["/", ...[...FILES.keys()].map((name) => `/m40/page/${name}`)]) {
    const response = await fetch(server.url + path, { headers: BROWSER });
    await response.body?.cancel();
    assertEquals(response.status, 200, path);
    const { headers } = response;
    const policy = headers.get("content-security-policy") ?? "";
    const directives = policy.split("; ");
    assert(directives.includes("default-src 'none'"), policy);
    assert(directives.includes("script-src 'self'"), policy);
    assert(directives.includes("style-src 'self'"), policy);
    assert(directives.includes("connect-src 'self'"), policy);
    assert(directives.includes("require-trusted-types-for 'script'"), policy);
    assert(directives.includes("frame-ancestors 'none'"), policy);
    assertNotMatch(policy, /unsafe|https?:|data:|blob:|\*/);
    assertEquals(headers.get("x-content-type-options"), "nosniff");
    assertEquals(headers.get("referrer-policy"), "no-referrer");
    assertNotMatch(headers.get("content-type") ?? "", /octet|undefined/);
  }
});

Deno.test("the page names no file that there is not, and nothing of other origins", async () => {
  const html = String(FILES.get("index.html")?.content);
  const named = [...html.matchAll(/(?:href|src)="([^"#]+)"/g)].map(([, path]) => path);
  assert(named.length > 5);
  for (const path of named) {
    assert(path === "docs" || FILES.has(path.replace("m40/page/", "")), path);
  }
  assertNotMatch(html, /<script(?![^>]* src=)|<style| style=| on\w+=/);
  for (const [name, { content }] of FILES) {
    if (name.startsWith("libraries/") || typeof content !== "string") continue;
    for (const [, path] of content.matchAll(IMPORTS)) {
      const url = new URL(path, `http://page/${name}`);
      assert(FILES.has(url.pathname.slice(1)), `${name} imports ${path}`);
    }
    if (name.endsWith(".css")) assertNotMatch(content, /url\(|@import/, name);
    assertNotMatch(content, /innerHTML|outerHTML|insertAdjacentHTML|document\.write/, name);
  }
  const files: string[] = [];
  for await (const name of filesIn(CLIENT)) files.push(name);
  assertEquals(
    files.filter((name) => name !== "deno.json" && name !== "README.md").sort(),
    [...FILES.keys()].filter((name) => !name.startsWith("libraries/")).sort(),
    "server/page/files.ts has every file of the folder",
  );
});

Deno.test("a file that the browser has already is not sent again", async () => {
  await using server = await startServer();
  for (const path of ["/", "/m40/page/main.js", "/m40/page/libraries/Temml.woff2"]) {
    const first = await fetch(server.url + path, { headers: BROWSER });
    const bytes = (await first.bytes()).length;
    const etag = first.headers.get("etag")!;
    assert(bytes > 500 && etag.length > 10);
    const again = await fetch(server.url + path, {
      headers: { ...BROWSER, "If-None-Match": etag },
    });
    assertEquals([again.status, await again.text()], [304, ""]);
    assertEquals(again.headers.get("etag"), etag);
    const other = await fetch(server.url + path, {
      headers: { ...BROWSER, "If-None-Match": '"another"' },
    });
    assertEquals([other.status, (await other.bytes()).length], [200, bytes]);
  }
});

Deno.test("the page needs no key, what it asks for does", async () => {
  await using server = await startServer({ app: { apiKey: "secret" } });
  for (const path of ["/", "/m40/page/main.js"]) {
    const response = await fetch(server.url + path, { headers: BROWSER });
    await response.body?.cancel();
    assertEquals(response.status, 200, path);
  }
  assertEquals(
    (await readError(await fetch(`${server.url}/v1/models`), 401)).code,
    "invalid_api_key",
  );
  const elsewhere = await fetch(`${server.url}/m40/page/../slots`);
  await elsewhere.body?.cancel();
  assertEquals(elsewhere.status, 401);
});

Deno.test("a file that the page has not is an error, whatever it is called", async () => {
  await using server = await startServer();
  const names = ["nothing.js", "../routes.ts", "%2e%2e/policy.ts", "__proto__", "%00", "deno.json"];
  for (const name of [...names, "x".repeat(3000)]) {
    const response = await fetch(`${server.url}/m40/page/${name}`, { headers: BROWSER });
    assertEquals((await readError(response, 404)).code, "not_found");
  }
});

/** The names of the files in a folder, relative to it. */
async function* filesIn(folder: URL, prefix = ""): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) yield* filesIn(new URL(`${name}/`, folder), `${prefix}${name}/`);
    else yield prefix + name;
  }
}
