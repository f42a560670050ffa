// Embeddings in OpenAI's and Ollama's shapes.
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import OpenAI from "openai";
import { vectorsAsJson } from "../../server/answer/mod.ts";
import { LlamaEmbeddings } from "../../server/llama_cpp/embedding.ts";
import { OllamaEmbedding, OllamaEmbeddings } from "../../server/ollama/embed.ts";
import { EmbeddingList } from "../../server/openai/embeddings.ts";
import { readOllamaError } from "../fixtures/ollama_fixture.ts";
import { answerOf, MODEL, startServer, type TestServer } from "../fixtures/server_fixture.ts";

const TEXTS = ["Hello there", "Once upon a time, in a land"];

async function openai(server: TestServer, body: Record<string, unknown>) {
  return EmbeddingList.parse(await answerOf(server, "/v1/embeddings", body));
}

async function ollama(server: TestServer, body: Record<string, unknown>) {
  return OllamaEmbeddings.parse(await answerOf(server, "/api/embed", body));
}

Deno.test("embeddings are the engine's, in every shape: one text, several, tokens, base64, fewer dimensions", async () => {
  await using server = await startServer({ engine: { parallel: 2 } });
  const { vectors, tokens } = await server.engine.embed(TEXTS);
  const wanted = vectors.map((vector) => Array.from(vector));
  const answer = await openai(server, { input: TEXTS, model: MODEL, user: "me" });
  assertEquals(answer, {
    object: "list",
    data: wanted.map((embedding, index) => ({ object: "embedding" as const, index, embedding })),
    model: MODEL,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  });
  const ids = server.engine.tokenizer.encode(TEXTS[0]);
  for (const input of [TEXTS[0], [TEXTS[0]], ids, [ids]]) {
    assertEquals((await openai(server, { input })).data.map((one) => one.embedding), [wanted[0]]);
  }
  const [{ embedding }] = (await openai(server, { input: ids, encoding_format: "base64" })).data;
  const bytes = Uint8Array.from(Buffer.from(embedding as string, "base64"));
  assertEquals(new Float32Array(bytes.buffer), vectors[0]);
  const [short] = (await openai(server, { input: ids, dimensions: 3 })).data;
  assertEquals((short.embedding as number[]).length, 3);

  const before = await ollama(server, { model: `${MODEL}:latest`, input: TEXTS, truncate: false });
  assertEquals([before.model, before.embeddings, before.prompt_eval_count], [
    `${MODEL}:latest`,
    wanted,
    tokens,
  ]);
  assert(before.load_duration <= before.total_duration);
  assertEquals((await ollama(server, { input: TEXTS[1], dimensions: 3 })).embeddings[0].length, 3);
  const older = await server.post("/api/embeddings", { model: MODEL, prompt: TEXTS[1] });
  assertEquals(OllamaEmbedding.parse(await older.json()).embedding, wanted[1]);
});

Deno.test("OpenAI's client, which asks for base64 by itself, gets the vectors", async () => {
  await using server = await startServer();
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  const { data } = await client.embeddings.create({ model: MODEL, input: TEXTS });
  const [[first]] = [(await server.engine.embed(TEXTS)).vectors];
  first.forEach((value, i) => assertAlmostEquals(data[0].embedding[i], value, 1e-6));
});

Deno.test("Ollama's embed cuts what is too long unless asked not to; OpenAI's refuses it", async () => {
  await using server = await startServer();
  const long = "word ".repeat(server.engine.contextTokens);
  assertEquals(
    (await ollama(server, { input: long })).prompt_eval_count,
    server.engine.contextTokens,
  );
  const refused = await server.post("/api/embed", { input: long, truncate: false });
  assertMatch(await readOllamaError(refused, 400), /a text has \d+ tokens; the context has/);
  const response = await server.post("/v1/embeddings", { input: [long] });
  assertEquals(response.status, 400);
  const { error } = await response.json();
  assertEquals([error.code, error.param], ["context_length_exceeded", "input"]);
  assertEquals(
    (await ollama(server, { input: "a", options: { num_ctx: 4096 } })).embeddings.length,
    1,
  );
});

Deno.test("nothing to embed only loads the model for Ollama, and is refused for OpenAI", async () => {
  await using server = await startServer();
  for (const body of [{}, { input: "" }, { input: [] }, { input: null }]) {
    assertEquals((await ollama(server, body)).embeddings, []);
  }
  assertEquals(await answerOf(server, "/api/embeddings", { model: MODEL }), {
    embedding: [],
  });
  for (
    const input of ["", [""], ["a", ""], [], undefined, [[]], 5, [1, "a"], Array(2049).fill("a")]
  ) {
    const response = await server.post("/v1/embeddings", { input });
    const { error } = await response.json();
    assertEquals([response.status, error.param], [400, "input"], JSON.stringify(error));
  }
  for (const input of [5, [1], [""], ["a", ""], Array(2049).fill("a")]) {
    assertMatch(await readOllamaError(await server.post("/api/embed", { input }), 400), /wanted/);
  }
  assertMatch(
    await readOllamaError(await server.post("/api/embed", { model: "nope", input: "a" }), 404),
    /nope/,
  );
});

Deno.test("a client that leaves ends its texts, and a deadline is said", async () => {
  await using server = await startServer({ contextLength: 16384, app: { timeoutMs: 50 } });
  const long = "a long text ".repeat(1000);
  const late = await server.post("/v1/embeddings", {
    input: Array(50).fill(long).map((text, i) => i + text),
  });
  assertEquals([late.status, (await late.json()).error.code], [504, "timeout"]);
  await server.engine.idle();
  assertEquals(server.engine.status().usedKvBlocks, 0);
});

Deno.test("the vectors of many texts are written piece by piece, in every shape", async () => {
  await using server = await startServer({ engine: { parallel: 4 } });
  const input = Array.from({ length: 300 }, (_, i) => `text ${i}`);
  const vectors = (await server.engine.embed(input)).vectors.map((vector) => Array.from(vector));
  const shapes: [path: string, read: (json: unknown) => unknown][] = [
    ["/v1/embeddings", (json) => EmbeddingList.parse(json).data.map((one) => one.embedding)],
    ["/api/embed", (json) => OllamaEmbeddings.parse(json).embeddings],
    ["/embedding", (json) => LlamaEmbeddings.parse(json).map((one) => one.embedding[0])],
  ];
  for (const [path, read] of shapes) {
    const response = await server.post(path, { input });
    // Of no answer that is written whole the length is unknown.
    assertEquals(response.headers.get("content-length"), null);
    assertEquals(response.headers.get("content-type"), "application/json");
    assertEquals(read(await response.json()), vectors, path);
  }
});

Deno.test("a piece of a list of vectors has so many numbers at most, however many vectors there are", () => {
  const vectors = Array.from({ length: 40 }, () => new Float32Array(512).fill(1 / 3));
  const pieces = [...vectorsAsJson(vectors, (vector) => Array.from(vector))];
  assertEquals(JSON.parse(pieces.join("")), vectors.map((vector) => Array.from(vector)));
  assertEquals(pieces.length, 40 * 512 / 2048 + 1);
  assertEquals([...vectorsAsJson([], String)], ["[]"]);
});
