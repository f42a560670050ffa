// What Ollama's dialect changes on disk.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { OllamaGenerated } from "../../../server/ollama/generate.ts";
import { PullStatus } from "../../../server/ollama/pull.ts";
import { Tags } from "../../../server/ollama/tags.ts";
import { readLines, readOllamaError } from "../../fixtures/ollama_fixture.ts";
import { smallModel, withPulls } from "../../fixtures/pull_fixture.ts";
import { openRequest, startServer } from "../../fixtures/server_fixture.ts";
import {
  loadedNames,
  type ModelServer,
  startModels,
} from "../../fixtures/server_models_fixture.ts";
import { until } from "../../fixtures/waiting.ts";

const CHANGES = { app: { storeChanges: true } };
const OPTIONS = { temperature: 0, num_predict: 3 };

/** The names of the files in a server's models directory that are not hidden, sorted. */
function files(server: ModelServer): string[] {
  return [...Deno.readDirSync(server.folder)].map(({ name }) => name)
    .filter((name) => !name.startsWith(".")).sort();
}

function remove(server: ModelServer, model: string, headers = {}): Promise<Response> {
  return server.post("/api/delete", { model }, { method: "DELETE", headers });
}

/** The status of an answer that has nothing in it. */
async function emptyStatus(response: Promise<Response>): Promise<number> {
  const { status, ...rest } = await response.then(async (one) => ({
    status: one.status,
    text: await one.text(),
  }));
  assertEquals(rest.text, "");
  return status;
}

Deno.test("without --allow-store-changes nothing on disk is changed, and the error says how it could be", async () => {
  await using server = await startModels();
  const before = files(server);
  const asked = [
    server.post("/api/copy", { source: "llama", destination: "other" }),
    server.post("/api/pull", { model: "tiny" }),
    remove(server, "llama"),
  ];
  for (const response of asked) {
    assertMatch(await readOllamaError(await response, 403), /--allow-store-changes/);
  }
  assertEquals(files(server), before);
  await using fixed = await startServer({ app: { storeChanges: true } });
  const copied = await fixed.post("/api/copy", { source: "golden", destination: "other" });
  assertMatch(await readOllamaError(copied, 403), /started with alone/);
});

Deno.test("a pull of a model that is served is done where nothing is changed on disk; names with :latest hold everywhere", async () => {
  await using server = await startModels({ catalogue: { aliases: new Map([["gpt-4", "llama"]]) } });
  const before = files(server);
  for (const model of ["llama", "llama:latest", "gpt-4"]) {
    const lines = await readLines(await server.post("/api/pull", { model }));
    assertEquals(lines, [{ status: "success" }]);
    const whole = await server.post("/api/pull", { model, stream: false });
    assertEquals(await whole.json(), { status: "success" });
    const answer = await server.post("/v1/completions", { model, prompt: "a", max_tokens: 1 });
    assertEquals([answer.status, (await answer.json()).model], [200, "llama"]);
  }
  await readOllamaError(await server.post("/api/pull", { model: "other" }), 403);
  await readOllamaError(await server.post("/api/pull", {}), 403);
  const missing = await server.post("/v1/completions", { model: "no:latest", prompt: "a" });
  assertEquals(missing.status, 404);
  assertMatch((await missing.json()).error.message, /"no:latest"/);
  assertEquals(files(server), before);
});

Deno.test("a web page changes nothing on disk, whatever --cors says and whatever name leads here", async () => {
  const origin = "https://chat.example";
  await using server = await startModels({
    app: { storeChanges: true, corsOrigins: [origin, "*"] },
  });
  const before = files(server);
  for (const page of [origin, server.url, "null", `http://localhost:${server.port}`]) {
    const headers = { Origin: page };
    const body = { source: "llama", destination: "other" };
    const words = /Web pages/;
    assertMatch(
      await readOllamaError(await server.post("/api/copy", body, { headers }), 403),
      words,
    );
    assertMatch(await readOllamaError(await remove(server, "llama", headers), 403), words);
    const pulled = await server.post("/api/pull", { model: "tiny" }, { headers });
    assertMatch(await readOllamaError(pulled, 403), words);
  }
  // What a page can send without asking first.
  const form = { "Content-Type": "text/plain", "Sec-Fetch-Site": "cross-site" };
  const body = { source: "llama", destination: "other" };
  await readOllamaError(await server.post("/api/copy", body, { headers: form }), 415);
  assertEquals(files(server), before);
});

Deno.test("/api/copy and /api/delete do as m40 cp and m40 rm, by names alone", async () => {
  await using server = await startModels({
    ...CHANGES,
    catalogue: { aliases: new Map([["gpt-4", "llama"]]) },
  });
  const copy = (source: string, destination: string) =>
    server.post("/api/copy", { source, destination });
  assertEquals(await emptyStatus(copy("llama:latest", "work:latest")), 200);
  assert(files(server).includes("work:latest.gguf"));
  const again = await copy("llama", "work:latest");
  assertMatch(await readOllamaError(again, 400), /already/);
  for (const name of ["../evil", "/tmp/evil", "a/b", ".hidden", "x.gguf", "demo", "", "a:b:c"]) {
    await readOllamaError(await copy("llama", name), 400);
  }
  const path = join(server.folder, "llama.gguf");
  for (const source of [path, "../llama", "nope", ""]) {
    await readOllamaError(await copy(source, "other"), 404);
    const status = source === "" ? 400 : 404;
    await readOllamaError(await remove(server, source), status);
  }
  assertMatch(await readOllamaError(await remove(server, "gpt-4"), 400), /started with/);
  assertMatch(await readOllamaError(await remove(server, "llama"), 400), /calls "gpt-4" as well/);
  assertMatch(await readOllamaError(await remove(server, "demo"), 400), /cannot be removed/);
  assertEquals(await emptyStatus(remove(server, "work")), 200);
  assertEquals(files(server), ["gemma2.gguf", "llama.gguf", "qwen3.gguf"]);
});

Deno.test("a model that answers is deleted when its answer is done, and is not found from then on", async () => {
  await using server = await startModels(CHANGES);
  const options = { ...OPTIONS, num_predict: 60, logit_bias: { "2": -100 } };
  const body = { model: "llama", prompt: "a", options };
  const answer = await server.post("/api/generate", body);
  const removed = remove(server, "llama");
  const lines = await readLines(answer);
  assertEquals(OllamaGenerated.parse(lines.at(-1)).eval_count, 60);
  assertEquals(await emptyStatus(removed), 200);
  assertEquals(loadedNames(server), []);
  await readOllamaError(await server.post("/api/generate", body), 404);
  assertEquals(files(server), ["gemma2.gguf", "qwen3.gguf"]);
});

Deno.test("/api/pull fetches from Ollama's library, says how far it is, and the model can be asked", () =>
  withPulls(async ({ server: registry, models }) => {
    const model = await smallModel();
    registry.ollamaModels.set("library/tiny", [["model", model]]);
    await using server = await startModels(CHANGES);
    Deno.env.set("M40_MODELS", models);
    const lines = await readLines(await server.post("/api/pull", { model: "tiny:8b" }));
    assertEquals(lines[0], { status: "pulling manifest" });
    assertEquals(lines.at(-1), { status: "success" });
    const last = lines.findLast(({ completed }) => completed !== undefined);
    assertEquals([last.completed, last.total], [model.size, model.size]);
    // Ollama's clients cut twelve digits out of it, and know by it which lines are of one bar.
    assertMatch(last.digest.slice(7, 19), /^[0-9a-f]{12}$/);
    const digests = lines.map((line) => PullStatus.parse(line)).flatMap(({ digest }) =>
      digest ?? []
    );
    assertEquals(new Set(digests), new Set([last.digest]));
    const { models: listed } = Tags.parse(await (await server.get("/api/tags")).json());
    assertEquals(
      listed.find(({ name }) => name === "tiny:8b")?.digest,
      model.sha256,
    );
    const quiet = await server.post("/api/pull", { name: "tiny:8b", stream: false });
    assertEquals(await quiet.json(), { status: "success" });
    // What is not there: an error's status where nothing was said yet, else a line.
    const missing = { model: "tiny:9b" };
    await readOllamaError(await server.post("/api/pull", { ...missing, stream: false }), 404);
    const failed = await readLines(await server.post("/api/pull", missing));
    assertMatch(failed.at(-1).error, /no ollama:tiny:9b/);
  }));

Deno.test("/api/pull fetches nothing of the server's own machine or of an address in a request", async () => {
  await using server = await startModels(CHANGES);
  const before = files(server);
  const path = join(server.folder, "llama.gguf");
  for (
    const model of [
      path,
      "./x.gguf",
      "../x",
      "~/x.gguf",
      "http://127.0.0.1:1/x.gguf",
      "https://evil.example/x.gguf",
      "file:///etc/passwd",
      "ollama:../x",
      "",
    ]
  ) {
    const error = await readOllamaError(await server.post("/api/pull", { model }), 400);
    assert(!error.includes(server.folder) || model === path, error);
  }
  await readOllamaError(await server.post("/api/pull", { model: "tiny", insecure: true }), 400);
  assertEquals(files(server), before);
});

Deno.test("a client that leaves ends its pull, and the next one goes on where it was", () =>
  withPulls(async ({ server: registry, models }) => {
    const model = await smallModel();
    registry.ollamaModels.set("library/tiny", [["model", model]]);
    await using server = await startModels(CHANGES);
    Deno.env.set("M40_MODELS", models);
    let held = 0;
    const gate = Promise.withResolvers<void>();
    registry.intercept = (request) => {
      if (!new URL(request.url).pathname.includes("blobs")) return undefined;
      held++;
      return gate.promise.then(() => new Response(null, { status: 503 }));
    };
    const client = await openRequest(server.port, "/api/pull", { model: "tiny" });
    await until("it is fetched", () => held > 0);
    client.close();
    // A process that pulls a model has its lock.
    await until("the lock is free", () => {
      try {
        return ![...Deno.readDirSync(join(models, ".partial"))].some(({ name }) =>
          name.endsWith(".lock")
        );
      } catch {
        return true;
      }
    });
    gate.resolve();
    registry.intercept = undefined;
    const lines = await readLines(await server.post("/api/pull", { model: "tiny" }));
    assertEquals(lines.at(-1), { status: "success" });
  }));
