// /openapi.json and /docs say what the server does; and CORS, for the pages that call it.
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers";
import { z } from "zod";
import { type ApiDocument, describeApi } from "../../server/api/document.ts";
import { docsPage } from "../../server/api/docs_page.ts";
import type { Operation } from "../../server/operation.ts";
import { OPERATIONS } from "../../server/api/operations.ts";
import { ErrorBody } from "../../server/errors.ts";
import { apiPage } from "../../tools/api_docs.ts";
import { byteLevelModel } from "../fixtures/byte_level_model.ts";
import { readMessageEvents } from "../fixtures/server_anthropic_fixture.ts";
import { HELLO, startChat } from "../fixtures/server_chat_fixture.ts";
import { readResponseEvents } from "../fixtures/server_responses_fixture.ts";
import {
  MODEL,
  readEvents,
  sendRaw,
  startServer,
  type TestServer,
} from "../fixtures/server_fixture.ts";
import { appOf } from "../fixtures/fixed_model.ts";

/** A body for each operation that has one. */
const BODIES: Record<string, Record<string, unknown>> = {
  "/v1/chat/completions": { messages: HELLO, max_tokens: 3, logprobs: true, top_logprobs: 2, n: 2 },
  "/v1/messages": { messages: HELLO, max_tokens: 3 },
  "/v1/messages/count_tokens": { messages: HELLO },
  "/v1/embeddings": { input: "Hello" },
  "/v1/responses": { input: "Hello", max_output_tokens: 3 },
  "/v1/responses/input_tokens": { input: "Hello" },
  "/v1/completions": { prompt: "Hello", max_tokens: 3, logprobs: 2, echo: true },
  "/v1/generate": { prompt: "Hello", max_tokens: 3 },
  "/completion": { prompt: "Hello", n_predict: 3, n_probs: 1, return_tokens: true },
  "/completions": { prompt: "Hello", max_tokens: 3 },
  "/chat/completions": { messages: HELLO, max_tokens: 3 },
  "/embedding": { content: "Hello" },
  "/embeddings": { input: "Hello" },
  "/infill": { input_prefix: "a", input_suffix: "b", n_predict: 3 },
  "/tokenize": { content: "Hello é", with_pieces: true },
  "/detokenize": { tokens: [5, 6] },
  "/apply-template": { messages: HELLO },
};

function ask(server: TestServer, { method, path }: Operation, more = {}): Promise<Response> {
  const url = path.replace("{id}", MODEL);
  if (method === "GET") return fetch(server.url + url);
  return server.post(url, { ...BODIES[path], ...more });
}

Deno.test("every answer and every event is as /openapi.json says, no field more", async () => {
  using file = await byteLevelModel();
  await using server = await startServer({ path: file.path, engine: { kvBlocks: 64 } });
  for (const operation of OPERATIONS) {
    const { path, answer, events } = operation;
    // There is one permanent model; tests/server/models_test.ts has others.
    if (path.endsWith("/unload")) continue;
    // tests/server/page_test.ts has them.
    if (path.startsWith("/m40/page/")) continue;
    // tests/server/ollama/ollama_test.ts has them.
    if (path.startsWith("/api/")) continue;
    // tests/server/mcp_test.ts has them.
    if (path.startsWith("/m40/mcp/")) continue;
    // tests/server/responses/responses_test.ts has those that are kept.
    if (path.startsWith("/v1/responses/{id}")) continue;
    const response = await ask(server, operation);
    assertEquals(response.status, 200, path);
    if (typeof answer === "string") {
      assertStringIncludes(response.headers.get("content-type")!, answer);
      await response.body?.cancel();
      continue;
    }
    answer.parse(await response.json());
    if (events === undefined) continue;
    const schema = z.union(events as readonly [z.ZodType]);
    const streamed = await ask(server, operation, {
      stream: true,
      stream_options: { include_usage: true },
    });
    const text = await streamed.text();
    if (path === "/v1/messages" || path === "/v1/responses") {
      const read = path === "/v1/messages" ? readMessageEvents : readResponseEvents;
      assert(read(text).length > 0);
      continue;
    }
    // llama.cpp's streams have no last event of that kind.
    const end = ["/infill", "/completion"].includes(path) ? "data: [DONE]\n\n" : "";
    for (const event of await readEvents(new Response(text + end))) schema.parse(event);
  }
  ErrorBody.parse(await (await server.post("/v1/completions", {})).json());
});

Deno.test("/openapi.json has every route that the server has, and no other", async () => {
  await using server = await startServer();
  const routes = appOf({ engine: server.engine, modelName: MODEL }).routes
    .filter(({ method, path }) => ["GET", "POST", "DELETE"].includes(method) && path !== "/*")
    .map(({ method, path }) => `${method} ${path.replace(/:id({\.\+})?/, "{id}")}`);
  const document: ApiDocument = await (await fetch(server.url + "/openapi.json")).json();
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`)
  );
  assertEquals(described.toSorted(), [...new Set(routes)].toSorted());
});

Deno.test("/openapi.json is OpenAPI 3.1 whose references lead somewhere and whose fields are explained", async () => {
  const document = await describeApi(true);
  assertEquals(document.openapi, "3.1.0");
  assertEquals(document.security, [{ key: [] }, { header: [] }]);
  assertEquals((await describeApi(false)).security, []);
  const { schemas } = document.components;
  const references = JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g);
  for (const [, reference] of references) {
    assertMatch(reference, /^#\/components\/schemas\//);
    assert(schemas[reference.split("/").at(-1)!] !== undefined, reference);
  }
  for (const [name, { properties = {} }] of Object.entries(schemas)) {
    if (!name.endsWith("Request")) continue;
    for (const [field, schema] of Object.entries(properties)) {
      assert((schema.description ?? "").length > 5, `${name}.${field} has no description`);
    }
  }
  const { temperature, seed, n } = schemas.ChatCompletionRequest.properties!;
  assertEquals(temperature.anyOf?.[0], { type: "number", minimum: 0, maximum: 100 });
  assertEquals(seed.type, ["integer", "null"]);
  assertEquals(n.anyOf?.[0], { type: "integer", minimum: 1, maximum: 8 });
  assertEquals(schemas.ChatCompletionRequest.required, ["messages"]);
  assertEquals(schemas.CompletionRequest.required, ["prompt"]);
  assertEquals(schemas.MessagesRequest.required, ["messages", "max_tokens"]);
  const { post } = document.paths["/v1/messages"] as { post: { responses: { default: unknown } } };
  assertStringIncludes(
    JSON.stringify(post.responses.default),
    "#/components/schemas/AnthropicError",
  );
});

Deno.test("while the API is described the first time, others have their turns", async () => {
  let isOver = false;
  const described = describeApi(false).finally(() => isOver = true);
  let turns = 0;
  for (; !isOver; turns++) await new Promise((resolve) => setImmediate(resolve));
  const { paths } = await described;
  assert(turns > Object.keys(paths).length, `${turns} turns`);
});

Deno.test("/docs is a page by itself: it loads nothing, runs nothing, and names every field", async () => {
  await using server = await startServer();
  const response = await fetch(server.url + "/docs");
  assertEquals(response.headers.get("content-type"), "text/html; charset=utf-8");
  const policy = response.headers.get("content-security-policy")!;
  const page = await response.text();
  assertMatch(policy, /default-src 'none'/);
  const style = /<style>([^]*?)<\/style>/.exec(page)![1];
  const hash = createHash("sha256").update(style).digest("base64");
  assertStringIncludes(policy, `style-src 'sha256-${hash}'`);
  assert(
    !/<script|<link|<img|<iframe|\son\w+=|\sstyle=|javascript:/i.test(page),
    "nothing that runs",
  );
  for (const [, target] of page.matchAll(/(?:href|src)="([^"]*)"/g)) {
    assert(target === "openapi.json" || target.startsWith("#"), target);
    if (target.startsWith("#")) assertStringIncludes(page, `id="${target.slice(1)}"`);
  }
  assertMatch(page, /<html lang="en">/);
  assertMatch(page, /<meta name="viewport"/);
  const { components, paths } = await describeApi(false);
  for (const path of Object.keys(paths)) assertStringIncludes(page, `<code>${path}</code>`);
  for (
    const name of ["ChatCompletionRequest", "CompletionRequest", "InfillRequest", "ChatChoice"]
  ) {
    for (const field of Object.keys(components.schemas[name].properties!)) {
      assertStringIncludes(page, `<code>${field}</code>`);
    }
  }
});

Deno.test("/docs escapes whatever the document says", async () => {
  const evil = `<script>alert("&")</script>`;
  const document = await describeApi(false);
  const shown = JSON.parse(
    JSON.stringify(document),
    (key, value) =>
      ["title", "summary", "description"].includes(key) && typeof value === "string" ? evil : value,
  );
  const page = await (await docsPage(shown)).text();
  assert(!page.includes("<script"), "a tag came through");
  assertStringIncludes(page, "&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;");
});

Deno.test("/docs and /openapi.json need no key, and say that others do", async () => {
  await using server = await startServer({ app: { apiKey: "k" } });
  const page = await (await fetch(server.url + "/docs")).text();
  assertStringIncludes(page, "Authorization: Bearer KEY");
  const document: ApiDocument = await (await fetch(server.url + "/openapi.json")).json();
  assertEquals(document.security, [{ key: [] }, { header: [] }]);
  const open = Object.entries(document.paths)
    .filter(([, { get }]) => (get as { security?: unknown } | undefined)?.security !== undefined);
  assertEquals(open.map(([path]) => path), [
    ...["/", "/health", "/ready", "/openapi.json", "/docs", "/m40/page/{id}"],
  ]);
});

Deno.test("docs/api.md says of every operation and field what the schemas say (deno task api-docs)", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/api.md", import.meta.url));
  assertEquals(page, await apiPage(page));
});

Deno.test("/v1/models says whether the model chats", async () => {
  await using server = await startChat();
  const { data: [model] } = await (await fetch(server.url + "/v1/models")).json();
  assertEquals(model.chat, true);
});

const PAGE = "https://app.example";

/** Asks as a browser does for a page. */
async function fromPage(
  server: TestServer,
  method: string,
  path: string,
  headers: string,
  body = "",
) {
  const answer = await sendRaw(
    server.port,
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}` +
      (body === "" ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`) +
      `\r\n${body}`,
  );
  const [head] = answer.split("\r\n\r\n", 1);
  const [status, ...lines] = head.split("\r\n");
  const all = new Headers(
    lines.map((line) => /^([^:]*):\s*(.*)$/.exec(line)!.slice(1) as [string, string]),
  );
  return {
    status: Number(status.split(" ")[1]),
    headers: all,
    body: answer.slice(head.length + 4),
  };
}

/** Whatever a JSON schema describes, with all its fields; then what else each of them may be, alone. */
// deno-lint-ignore no-explicit-any
function examplesOf(schema: any, definitions: any = schema.$defs): unknown[] {
  const examples = (one: unknown) => examplesOf(one, definitions);
  if (schema.$ref !== undefined) return examples(definitions[schema.$ref.split("/").at(-1)]);
  if (schema.const !== undefined) return [schema.const];
  if (schema.enum !== undefined) return [schema.enum[0]];
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(examples);
  if (Array.isArray(schema.type)) {
    return schema.type.flatMap((type: string) => examples({ ...schema, type }));
  }
  switch (schema.type) {
    case "object": {
      const fields = Object.entries(schema.properties ?? {})
        .map(([name, one]) => [name, examples(one)] as const);
      const first = Object.fromEntries(fields.map(([name, [one]]) => [name, one]));
      const others = fields.flatMap(([name, [_, ...more]]) => more.map((one) => ({ [name]: one })));
      return [first, ...others];
    }
    case "array":
      return examples(schema.items ?? {}).map((one) => [one]);
    case "string":
      return ["a"];
    case "number":
    case "integer":
      return [schema.minimum ?? 1];
    case "boolean":
      return [true];
    default:
      return [null];
  }
}

/** A value with a field left out, for each field in it. */
function* withoutEach(value: unknown): Generator<{ left: unknown; out: string }> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, one] of Object.entries(value)) {
    const put = (left: unknown) =>
      Array.isArray(value) ? value.with(Number(name), left) : { ...value, [name]: left };
    if (!Array.isArray(value)) yield { left: put(undefined), out: name };
    for (const { left, out } of withoutEach(one)) yield { left: put(left), out: `${name}.${out}` };
  }
}

Deno.test("a missing field gets the server's own error, whichever it is and in whichever dialect", () => {
  let missed = 0;
  for (const { path, body } of OPERATIONS) {
    if (body === undefined) continue;
    const schema = z.toJSONSchema(body, { io: "input", unrepresentable: "any" });
    for (const example of examplesOf(schema)) {
      for (const { left, out } of withoutEach(example)) {
        // As it comes over the wire: a field without a value is none.
        const { error } = body.safeParse(JSON.parse(JSON.stringify(left)));
        for (const { message } of error?.issues ?? []) {
          missed++;
          assertMatch(message, /^wanted .+; got .+$/, `${path} without ${out}`);
        }
      }
    }
  }
  assert(missed > 20, `${missed}`);
});

Deno.test("--cors: a preflight of an allowed origin is granted without a key, of another refused", async () => {
  await using server = await startServer({ app: { apiKey: "k", corsOrigins: [PAGE] } });
  const preflight = (origin: string) =>
    fromPage(
      server,
      "OPTIONS",
      "/v1/chat/completions",
      `Origin: ${origin}\r\nAccess-Control-Request-Method: POST\r\n` +
        "Access-Control-Request-Headers: authorization,content-type,x-stainless-lang\r\n",
    );
  const { status, headers } = await preflight(PAGE);
  assertEquals(status, 204);
  assertEquals(headers.get("access-control-allow-origin"), PAGE);
  assertEquals(headers.get("access-control-allow-credentials"), "true");
  const methods = headers.get("access-control-allow-methods")!.split(/, ?/);
  for (const { method, path } of OPERATIONS) assert(methods.includes(method), `${method} ${path}`);
  assertMatch(
    headers.get("access-control-allow-headers")!,
    /authorization,content-type,x-stainless/,
  );
  assertMatch(headers.get("vary")!, /Origin/i);
  const other = await preflight("https://evil.example");
  assertEquals(other.status, 403);
  assertEquals(other.headers.get("access-control-allow-origin"), null);
});

Deno.test("--cors: answers, streams and errors carry the headers; a key is still needed", async () => {
  await using server = await startServer({ app: { apiKey: "k", corsOrigins: [PAGE, "http://b"] } });
  const key = "Authorization: Bearer k\r\n";
  const body = JSON.stringify({ prompt: "Hello", max_tokens: 2, stream: true });
  const answers = [
    await fromPage(server, "GET", "/v1/models", `Origin: ${PAGE}\r\n${key}`),
    await fromPage(server, "POST", "/v1/completions", `Origin: ${PAGE}\r\n${key}`, body),
    await fromPage(server, "POST", "/v1/completions", `Origin: ${PAGE}\r\n${key}`, "{}"),
    await fromPage(server, "GET", "/v1/models", `Origin: ${PAGE}\r\n`),
    await fromPage(server, "GET", "/nowhere", `Origin: ${PAGE}\r\n${key}`),
  ];
  assertEquals(answers.map(({ status }) => status), [200, 200, 400, 401, 404]);
  assertStringIncludes(answers[1].body, "[DONE]");
  for (const { headers } of answers) {
    assertEquals(headers.get("access-control-allow-origin"), PAGE);
    assertMatch(headers.get("vary")!, /Origin/i);
    // tests/server/openai_test.ts has what its client reads of them.
    assertMatch(headers.get("access-control-expose-headers")!, /Retry-After.*X-M40-Prefix/);
  }
  // What no page may read must not be cached for one.
  const none = await fromPage(server, "GET", "/v1/models", key);
  assertEquals([none.status, none.headers.get("access-control-allow-origin")], [200, null]);
  assertMatch(none.headers.get("vary")!, /Origin/i);
  const evil = await fromPage(
    server,
    "GET",
    "/v1/models",
    `Origin: https://evil.example\r\n${key}`,
  );
  assertEquals([evil.status, evil.headers.get("access-control-allow-origin")], [403, null]);
});

Deno.test("--cors *: every origin may, without credentials", async () => {
  await using server = await startServer({ app: { corsOrigins: ["*"] } });
  for (const origin of [PAGE, "null", "http://localhost:3000"]) {
    const { status, headers } = await fromPage(
      server,
      "GET",
      "/v1/models",
      `Origin: ${origin}\r\n`,
    );
    assertEquals([status, headers.get("access-control-allow-origin")], [200, "*"]);
    assertEquals(headers.get("access-control-allow-credentials"), null);
  }
});

Deno.test("--cors does not open a local server to names that lead to it (DNS rebinding)", async () => {
  await using server = await startServer({ app: { corsOrigins: ["*"] } });
  const answer = await sendRaw(
    server.port,
    "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n" +
      "Connection: close\r\n\r\n",
  );
  assertMatch(answer, /^HTTP\/1\.1 403 [^]*forbidden_host/);
});
