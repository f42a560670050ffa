// Several models behind one server: how they are named, which are in memory, and for how long.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { answerOf, readError } from "../fixtures/server_fixture.ts";
import { bodyOf, loadedNames, startModels, textOf } from "../fixtures/server_models_fixture.ts";
import { until } from "../fixtures/waiting.ts";

/** The status of an answer, whatever is in it. */
async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

Deno.test("a model that there is not is answered with 404 and the nearest, a path with nothing of its file", async () => {
  await using server = await startModels({ catalogue: { aliases: new Map([["gpt-4", "llama"]]) } });
  const near = await readError(await server.post("/v1/completions", bodyOf("lama")), 404);
  assertEquals([near.code, near.param], ["model_not_found", "model"]);
  assertMatch(near.message, /no model "lama".*Did you mean "llama"\?.*qwen3/);
  assert(!near.message.includes(server.folder), near.message);
  for (
    const path of [join(server.folder, "llama.gguf"), "../llama", "./llama.gguf", "/etc/passwd"]
  ) {
    const error = await readError(
      await server.post("/v1/chat/completions", {
        model: path,
        messages: [{ role: "user", content: "a" }],
      }),
      404,
    );
    assertEquals(error.code, "model_not_found");
    assertEquals(await statusOf(server.get(`/v1/models/${encodeURIComponent(path)}`)), 404);
  }
  assertEquals(loadedNames(server), []);
  const aliased = await answerOf(server, "/v1/completions", bodyOf("gpt-4"));
  assertEquals(aliased.model, "llama");
});

Deno.test("a request that names no model gets the one used last; where none is in memory it is asked which", async () => {
  await using server = await startModels();
  const error = await readError(await server.post("/v1/completions", bodyOf(undefined)), 400);
  assertMatch(error.message, /wanted the name of a model.*llama/);
  const text = await textOf(server, "qwen3");
  assertEquals(await textOf(server), text);
  await using other = await startModels({ main: "gemma2" });
  const answer = await (await other.post("/v1/completions", bodyOf(undefined))).json();
  assertEquals(answer.model, "gemma2");
});

Deno.test("/v1/models marks what is in memory; /load and /unload change it, and every page is right without a model", async () => {
  await using server = await startModels();
  const state = async () => {
    const { data } = await (await server.get("/v1/models")).json();
    return data.filter(({ id }: { id: string }) => id !== "demo")
      .map(({ id, state }: { id: string; state: string }) => `${id} ${state}`);
  };
  assertEquals(await state(), ["gemma2 unloaded", "llama unloaded", "qwen3 unloaded"]);
  const nothing = async () => {
    assertEquals(await (await server.get("/health")).json(), {
      status: "ok",
      running: 0,
      waiting: 0,
    });
    assertEquals(await statusOf(server.get("/ready")), 200);
    const slots = await (await server.get("/slots")).json();
    assertEquals([slots.model, slots.models, slots.slots, slots.kv_pages], [null, [], [], 0]);
    const metrics = await (await server.get("/metrics")).text();
    assertMatch(metrics, /^m40_models_loaded 0$/m);
  };
  await nothing();
  const loaded = await answerOf(server, "/v1/models/llama/load", { keep_alive: "1h" });
  assertEquals([loaded.id, loaded.state, loaded.context_length, loaded.chat], [
    "llama",
    "loaded",
    128,
    false,
  ]);
  assert(loaded.expires_in_seconds > 3590 && loaded.expires_in_seconds <= 3600);
  assertEquals(await state(), ["llama loaded", "gemma2 unloaded", "qwen3 unloaded"]);
  await (await server.post("/v1/models/qwen3/load")).body?.cancel();
  assertEquals(loadedNames(server), ["qwen3"]);
  await textOf(server, "qwen3");
  const unloaded = await answerOf(server, "/v1/models/qwen3/unload");
  assertEquals([unloaded.id, unloaded.state, unloaded.context_length], ["qwen3", "unloaded", null]);
  await nothing();
  assertEquals(await statusOf(server.post("/v1/models/qwen3/unload")), 200);
  await readError(await server.post("/v1/models/nope/load"), 404);
  await readError(await server.post("/v1/models/llama/load", { keep_alive: [] }), 400);
  // What was counted stays, under the model's own name.
  const metrics = await (await server.get("/metrics")).text();
  assertMatch(metrics, /^m40_requests_total{outcome="length",model_name="qwen3"} 1$/m);
  assertMatch(metrics, /^m40_model_unloads_total{reason="asked"} 1$/m);
  assertEquals(metrics.match(/^# TYPE m40_requests_total /gm)?.length, 1);
});

Deno.test("keep_alive: a request says how long its model stays; 0 unloads it at once, what is no time is refused", async () => {
  await using server = await startModels();
  await answerOf(server, "/v1/completions", bodyOf("llama", 2, { keep_alive: 0 }));
  await until("it is unloaded", () => loadedNames(server).length === 0);
  await answerOf(server, "/v1/completions", bodyOf("llama", 2, { keep_alive: "100ms" }));
  assertEquals(loadedNames(server), ["llama"]);
  await until("its time is over", () => loadedNames(server).length === 0);
  for (const keep_alive of [-1, "-1s"]) {
    await answerOf(server, "/v1/completions", bodyOf("llama", 2, { keep_alive }));
    await until("it is not used", () => server.manager.loaded()[0].leases === 0);
    assertEquals(server.manager.loaded()[0].expiresMs, undefined);
  }
  for (const keep_alive of ["soon", true, "5 minutes", {}]) {
    const error = await readError(
      await server.post("/v1/completions", bodyOf("llama", 2, { keep_alive })),
      400,
    );
    assertEquals(error.param, "keep_alive");
  }
});

Deno.test("--models 2: two models answer at the same time, and a third replaces the one used least recently", async () => {
  await using server = await startModels({ manager: { models: 2 } });
  const texts = new Map<string, string>();
  for (const model of ["llama", "qwen3"]) texts.set(model, await textOf(server, model));
  const both = await Promise.all(["qwen3", "llama"].map((model) => textOf(server, model)));
  assertEquals(both, [texts.get("qwen3"), texts.get("llama")]);
  assertEquals(loadedNames(server).length, 2);
  const slots = await (await server.get("/slots")).json();
  assertEquals(slots.models.length, 2);
  await textOf(server, "llama");
  await textOf(server, "gemma2");
  assertEquals(loadedNames(server), ["gemma2", "llama"]);
});
