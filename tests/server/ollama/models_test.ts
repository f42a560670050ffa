// Ollama's dialect over several models: what it lists, loads and unloads, and when it changes the store.
import { assert, assertEquals, assertMatch } from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { join } from "@std/path";
import { ModelList } from "../../../server/openai/models.ts";
import { readAnthropicError } from "../../fixtures/server_anthropic_fixture.ts";
import { OllamaGenerated } from "../../../server/ollama/generate.ts";
import { PullStatus } from "../../../server/ollama/pull.ts";
import { Shown } from "../../../server/ollama/show.ts";
import { RunningModels, Tags } from "../../../server/ollama/tags.ts";
import { readLines, readOllamaError } from "../../fixtures/ollama_fixture.ts";
import { smallModel, withPulls } from "../../fixtures/pull_fixture.ts";
import { openRequest, startServer, until } from "../../fixtures/server_fixture.ts";
import {
  loadedNames,
  type ModelServer,
  startModels,
} from "../../fixtures/server_models_fixture.ts";

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

Deno.test("/api/tags lists every model with a tag and what it is; /api/ps those in memory", async () => {
  await using server = await startModels();
  const { models } = Tags.parse(await (await server.get("/api/tags")).json());
  const own = models.filter(({ name }) => name !== "demo:latest");
  assertEquals(own.map(({ name }) => name).sort(), [
    "gemma2:latest",
    "llama:latest",
    "qwen3:latest",
  ]);
  const llama = own.find(({ name }) => name === "llama:latest")!;
  assertEquals(llama.model, llama.name);
  assertEquals(llama.size, (await Deno.stat(join(server.folder, "llama.gguf"))).size);
  assertEquals([llama.details.family, llama.details.families], ["llama", ["llama"]]);
  assertMatch(llama.details.parameter_size, /^\d/);
  assertEquals(RunningModels.parse(await (await server.get("/api/ps")).json()).models, []);
  await (await server.post("/api/generate", { model: "llama:latest", keep_alive: "1h" })).json();
  const [running, ...none] = RunningModels.parse(await (await server.get("/api/ps")).json()).models;
  assertEquals(none, []);
  assertEquals([running.name, running.context_length, running.size_vram], ["llama:latest", 128, 0]);
  // Ollama's command line shows twelve digits of it, and panics where there are fewer.
  for (const { digest } of own) assertMatch(digest, /^[0-9a-f]{64}$/);
  assertEquals(new Set(own.map(({ digest }) => digest)).size, own.length);
  assertEquals(running.digest, llama.digest);
  const left = Date.parse(running.expires_at) - Date.now();
  assert(left > 3_500_000 && left <= 3_600_000, running.expires_at);
  await (await server.post("/api/generate", { model: "llama", keep_alive: -1 })).json();
  const [forever] = RunningModels.parse(await (await server.get("/api/ps")).json()).models;
  assertMatch(forever.expires_at, /^9999/);
});

Deno.test("an alias is in both lists of models next to what it stands for, once its model is there", async () => {
  const aliases = new Map([["gpt-4", "llama"], ["org/fast:small", "qwen3"], ["gone", "nowhere"]]);
  await using server = await startModels({ catalogue: { aliases } });
  const { models } = Tags.parse(await (await server.get("/api/tags")).json());
  const tags = new Map(models.map((model) => [model.name, model]));
  const { name: _, model: __, ...llama } = tags.get("llama:latest")!;
  assertEquals(tags.get("gpt-4:latest"), {
    ...llama,
    name: "gpt-4:latest",
    model: "gpt-4:latest",
  });
  assert(tags.has("org/fast:small") && !tags.has("gone:latest"));
  await (await server.post("/api/generate", { model: "gpt-4", keep_alive: "1h" })).json();
  const { data } = ModelList.parse(await (await server.get("/v1/models")).json());
  const byId = new Map(data.map((model) => [model.id, model]));
  assertEquals(byId.get("gpt-4"), {
    ...byId.get("llama")!,
    id: "gpt-4",
    alias_of: "llama",
    // Both say when it is unloaded, one a moment later.
    expires_in_seconds: byId.get("gpt-4")!.expires_in_seconds,
  });
  assertEquals(byId.get("gpt-4")!.state, "loaded");
  assertEquals([byId.has("org/fast:small"), byId.has("gone")], [true, false]);
  assertEquals(byId.size, data.length, "each name once");
  for (const id of ["gpt-4", "org/fast:small"]) {
    const one = await (await server.get(`/v1/models/${id}`)).json();
    assertEquals(one.id, id);
  }
});

Deno.test("Anthropic's client lists models by pages, each with a display name, and finds one", async () => {
  const aliases = new Map([["claude-3-5-haiku-latest", "llama"]]);
  await using server = await startModels({ catalogue: { aliases } });
  const client = new Anthropic({ baseURL: server.url, apiKey: "none", maxRetries: 0 });
  const { data } = ModelList.parse(await (await server.get("/v1/models")).json());
  const ids = data.map(({ id }) => id);
  assert(ids.length > 3);
  for (const limit of [1, 2, 100]) {
    const found: string[] = [];
    for await (const model of client.models.list({ limit })) {
      assertEquals([model.type, model.display_name], ["model", model.id]);
      assert(Date.parse(model.created_at) > 0);
      found.push(model.id);
    }
    assertEquals(found, ids, `pages of ${limit}`);
  }
  const before = await client.models.list({ limit: 1, before_id: ids[2] });
  assertEquals([before.data.map(({ id }) => id), before.has_more], [[ids[1]], true]);
  const one = await client.models.retrieve("claude-3-5-haiku-latest");
  assertEquals(one.display_name, "claude-3-5-haiku-latest");
  const missing = await client.models.retrieve("nope").catch((error) => error);
  assert(missing instanceof Anthropic.NotFoundError, String(missing));
  for (const query of ["limit=0", "limit=x", "after_id=nope"]) {
    const headers = { "anthropic-version": "2023-06-01" };
    const refused = await fetch(`${server.url}/v1/models?${query}`, { headers });
    assertMatch((await readAnthropicError(refused, 400)).message, /^(limit|after_id): wanted/);
  }
});

Deno.test("/api/tags, ps and show know the one model of a server that has no store", async () => {
  await using server = await startServer();
  for (const path of ["/api/tags", "/api/ps"]) {
    const { models } = await (await fetch(server.url + path)).json();
    assertMatch(models[0].digest, /^[0-9a-f]{64}$/);
    assertEquals([models.length, models[0].name, models[0].details.family], [
      1,
      "golden:latest",
      "llama",
    ]);
  }
  for (const name of ["golden", "golden:latest"]) {
    const shown = Shown.parse(await (await server.post("/api/show", { model: name })).json());
    assertEquals(shown.model_info["llama.context_length"], 128);
  }
});

Deno.test("/api/show reports the header of a model that is not in memory, and what came with it", async () => {
  await using server = await startModels();
  const record = {
    version: 1,
    source: "ollama:llama",
    pulled_at: new Date().toISOString(),
    files: [{
      name: "llama.gguf",
      bytes: (await Deno.stat(join(server.folder, "llama.gguf"))).size,
      sha256: "a".repeat(64),
    }],
    system: "Be kind.",
    messages: [{ role: "user", content: "hi" }],
    parameters: { stop: ["<|end|>", "x"], temperature: 0.5 },
  };
  await Deno.writeTextFile(join(server.folder, "llama.json"), JSON.stringify(record));
  const shown = Shown.parse(
    await (await server.post("/api/show", { model: "llama:latest" })).json(),
  );
  assertEquals(shown.system, "Be kind.");
  assertEquals(shown.parameters.split("\n").map((line) => line.split(/ +/)), [
    ["stop", '"<|end|>"'],
    ["stop", '"x"'],
    ["temperature", "0.5"],
  ]);
  assertMatch(shown.modelfile, /^FROM llama\nSYSTEM """Be kind\."""\nPARAMETER stop /);
  assertMatch(shown.modelfile, /\nMESSAGE user """hi"""\n$/);
  assertEquals(shown.model_info["general.architecture"], "llama");
  assertEquals(shown.model_info["tokenizer.ggml.tokens"], null);
  assert(shown.capabilities.includes("completion"));
  assertEquals(loadedNames(server), []);
  const { models } = Tags.parse(await (await server.get("/api/tags")).json());
  assertEquals(models.find(({ name }) => name === "llama:latest")!.digest, "a".repeat(64));
  for (const path of [join(server.folder, "llama.gguf"), "../llama", "/etc/passwd"]) {
    await readOllamaError(await server.post("/api/show", { model: path }), 404);
  }
});

Deno.test("a request without a prompt loads its model, with keep_alive 0 it unloads it; the answer says which", async () => {
  await using server = await startModels();
  for (const [path, more] of [["/api/generate", {}], ["/api/chat", { messages: [] }]] as const) {
    const loaded = await (await server.post(path, { model: "llama", ...more })).json();
    assertEquals([loaded.done, loaded.done_reason, loaded.eval_count], [true, "load", 0]);
    assert(loaded.load_duration > 0);
    assertEquals(loadedNames(server), ["llama"]);
    const body = { model: "llama", keep_alive: 0, ...more };
    const unloaded = await (await server.post(path, body)).json();
    assertEquals([unloaded.done_reason, unloaded.load_duration], ["unload", 0]);
    assertEquals(loadedNames(server), []);
  }
  await readOllamaError(await server.post("/api/generate", { model: "nope" }), 404);
  const body = { model: "llama", prompt: "a", options: OPTIONS, stream: false };
  const first = OllamaGenerated.parse(await (await server.post("/api/generate", body)).json());
  assert(first.load_duration > 0, "it waited for its model");
  await (await server.post("/api/generate", { ...body, keep_alive: 0 })).json();
  await until("it is unloaded", () => loadedNames(server).length === 0);
});

Deno.test("a stream whose model is loaded first has white space meanwhile, and its lines are still JSON", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await using server = await startModels({
    beforeLoad: () => promise,
    app: { loadingCommentMs: 20 },
  });
  const response = await server.post("/api/generate", {
    model: "llama",
    prompt: "a",
    options: OPTIONS,
  });
  const reader = response.clone().body!.getReader();
  assertEquals(new TextDecoder().decode((await reader.read()).value).trim(), "");
  resolve();
  const lines = await readLines(response);
  OllamaGenerated.parse(lines.at(-1));
  await reader.cancel();
});

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
