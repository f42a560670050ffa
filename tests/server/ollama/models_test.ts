// Ollama's dialect over several models: what it lists, loads and unloads, and when it changes the store.
import { assert, assertEquals, assertMatch } from "@std/assert";
import Anthropic from "@anthropic-ai/sdk";
import { join } from "@std/path";
import { ModelList } from "../../../server/openai/models.ts";
import { readAnthropicError } from "../../fixtures/server_anthropic_fixture.ts";
import { OllamaGenerated } from "../../../server/ollama/generate.ts";
import { Shown } from "../../../server/ollama/show.ts";
import { RunningModels, Tags } from "../../../server/ollama/tags.ts";
import { readLines, readOllamaError } from "../../fixtures/ollama_fixture.ts";
import { answerOf, startServer } from "../../fixtures/server_fixture.ts";
import { loadedNames, startModels } from "../../fixtures/server_models_fixture.ts";
import { until } from "../../fixtures/waiting.ts";

const OPTIONS = { temperature: 0, num_predict: 3 };

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
  await answerOf(server, "/api/generate", { model: "llama:latest", keep_alive: "1h" });
  const [running, ...none] = RunningModels.parse(await (await server.get("/api/ps")).json()).models;
  assertEquals(none, []);
  assertEquals([running.name, running.context_length, running.size_vram], ["llama:latest", 128, 0]);
  // Ollama's command line shows twelve digits of it, and panics where there are fewer.
  for (const { digest } of own) assertMatch(digest, /^[0-9a-f]{64}$/);
  assertEquals(new Set(own.map(({ digest }) => digest)).size, own.length);
  assertEquals(running.digest, llama.digest);
  const left = Date.parse(running.expires_at) - Date.now();
  assert(left > 3_500_000 && left <= 3_600_000, running.expires_at);
  await answerOf(server, "/api/generate", { model: "llama", keep_alive: -1 });
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
  await answerOf(server, "/api/generate", { model: "gpt-4", keep_alive: "1h" });
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
    const shown = Shown.parse(await answerOf(server, "/api/show", { model: name }));
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
    await answerOf(server, "/api/show", { model: "llama:latest" }),
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
    const loaded = await answerOf(server, path, { model: "llama", ...more });
    assertEquals([loaded.done, loaded.done_reason, loaded.eval_count], [true, "load", 0]);
    assert(loaded.load_duration > 0);
    assertEquals(loadedNames(server), ["llama"]);
    const body = { model: "llama", keep_alive: 0, ...more };
    const unloaded = await answerOf(server, path, body);
    assertEquals([unloaded.done_reason, unloaded.load_duration], ["unload", 0]);
    assertEquals(loadedNames(server), []);
  }
  await readOllamaError(await server.post("/api/generate", { model: "nope" }), 404);
  const body = { model: "llama", prompt: "a", options: OPTIONS, stream: false };
  const first = OllamaGenerated.parse(await answerOf(server, "/api/generate", body));
  assert(first.load_duration > 0, "it waited for its model");
  await answerOf(server, "/api/generate", { ...body, keep_alive: 0 });
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
