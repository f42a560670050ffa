// Several models behind one server: what waiting requests get, and what ends their waiting.
import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { patiently } from "../fixtures/patience.ts";
import { openRequest, readError, readEvents } from "../fixtures/server_fixture.ts";
import { bodyOf, gate, startModels, textOf } from "../fixtures/server_models_fixture.ts";
import { soon, until } from "../fixtures/waiting.ts";

Deno.test("a stream whose model is loaded meanwhile gets comments, and then answers", async () => {
  const loading = gate();
  await using server = await startModels({
    app: { loadingCommentMs: 20 },
    beforeLoad: (name) => name === "qwen3" ? loading.wait() : Promise.resolve(),
  });
  const whole = await textOf(server, "llama");
  const response = await soon(
    "the head",
    server.post("/v1/completions", bodyOf("qwen3", 8, { stream: true })),
  );
  assertEquals([response.status, response.headers.get("content-type")], [200, "text/event-stream"]);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.split(": loading model qwen3\n\n").length < 4) text += (await reader.read()).value;
  const slots = await (await server.get("/slots")).json();
  assertEquals([slots.model, slots.waiting, slots.waiting_for_model], ["qwen3", 1, 1]);
  assertEquals(slots.models[0].state, "loading");
  assertEquals(slots.device, undefined);
  loading.open();
  for (let chunk; !(chunk = await reader.read()).done;) text += chunk.value;
  const events = await readEvents(
    new Response(text.replaceAll(/^: loading model qwen3\n\n/gm, "")),
  );
  assertEquals(events[0].model, "qwen3");
  assertEquals(await textOf(server, "llama"), whole);
});

Deno.test("what goes wrong after a stream has started to wait is an event, for others a status; the former model answers again", async () => {
  const loading = gate();
  await using server = await startModels({
    beforeLoad: (name) => name === "qwen3" ? loading.wait() : Promise.resolve(),
  });
  const before = await textOf(server, "llama");
  const whole = server.post("/v1/completions", bodyOf("qwen3"));
  const stream = await server.post("/v1/completions", bodyOf("qwen3", 8, { stream: true }));
  // Behind the check: it is damaged when it is loaded.
  await Deno.writeTextFile(join(server.folder, "qwen3.gguf"), "no model");
  loading.open();
  assertMatch(await stream.text(), /^(: .*\n\n)+data: {"error":{.*"code":"invalid_model"}}\n\n$/);
  assertEquals((await readError(await whole, 500)).code, "invalid_model");
  assertEquals(await textOf(server, "llama"), before);
  const metrics = await (await server.get("/metrics")).text();
  assertMatch(metrics, /m40_model_loads_total{outcome="failed"} 1\n/);
});

Deno.test("a client that does not read its stream holds up no other model", async () => {
  await using server = await startModels();
  await textOf(server, "llama");
  const body = bodyOf("llama", 100, { stream: true, n: 8, logit_bias: { 2: -100 } });
  const idle = await openRequest(server.port, "/v1/completions", body);
  await until("it runs", () => server.manager.loaded()[0].leases === 1);
  await soon("the other model", textOf(server, "qwen3"));
  idle.close();
});

Deno.test("a deadline counts the time in which a model is waited for, and a leaving client leaves the queue", async () => {
  const loading = gate();
  const options = { manager: { maxWaiting: 2 }, beforeLoad: () => loading.wait() };
  await using server = await startModels(options);
  const controller = new AbortController();
  const left = server.post("/v1/completions", bodyOf("llama"), { signal: controller.signal });
  await until("one waits", () => server.manager.waiting() === 1);
  const stays = server.post("/v1/completions", bodyOf("qwen3"));
  await until("two wait", () => server.manager.waiting() === 2);
  const refused = await server.post("/v1/completions", bodyOf("llama"));
  assertMatch(refused.headers.get("retry-after")!, /^\d+$/);
  assertEquals((await readError(refused, 429)).code, "queue_full");
  controller.abort();
  await left.catch(() => {});
  await until("one has left", () => server.manager.waiting() === 1);

  await using hasty = await startModels({ ...options, app: { timeoutMs: 200 } });
  const error = await readError(await hasty.post("/v1/completions", bodyOf("qwen3")), 504);
  assertMatch(error.message, /not done after 0\.2 s: it was still waiting for its model/);
  assertEquals(hasty.manager.waiting(), 0);
  loading.open();
  assertEquals((await (await stays).json()).choices.length, 1);
});

Deno.test("a server that ends while a model is loaded answers waiting requests in time, and else with 503", () =>
  patiently(endsWhileLoading));

async function endsWhileLoading(times: number): Promise<void> {
  for (const inTime of [true, false]) {
    const loading = gate();
    await using server = await startModels({
      drainMs: 300 * times,
      beforeLoad: () => loading.wait(),
    });
    const answer = server.post("/v1/completions", bodyOf("llama"));
    await until("it waits", () => server.manager.waiting() === 1);
    server.stop();
    await readError(await server.post("/v1/completions", bodyOf("qwen3")), 503);
    if (inTime) loading.open();
    const response = await soon("its answer", answer);
    if (inTime) assertEquals((await response.json()).choices?.length, 1);
    else assertEquals((await readError(response, 503)).code, "cancelled");
    loading.open();
    await soon("the end", server.finished);
  }
}
