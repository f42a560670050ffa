// Several models behind one server: what is loaded when, and who is told what meanwhile.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { openRequest, readError, readEvents, soon, until } from "./server_fixture.ts";
import { MODELS, type ModelServer, startModels } from "./server_models_fixture.ts";

/** A body that no end token cuts short, whichever of the models answers. */
function bodyOf(model: string | undefined, tokens = 8, more: Record<string, unknown> = {}) {
  return { model, prompt: [20, 30, 40], max_tokens: tokens, temperature: 0, ...more };
}

async function textOf(server: ModelServer, model?: string): Promise<string> {
  const response = await server.post("/v1/completions", bodyOf(model));
  const body = await response.json();
  assertEquals(response.status, 200, JSON.stringify(body));
  if (model !== undefined) assertEquals(body.model, model);
  return body.choices[0].text;
}

/** Something that is waited for until it is opened. */
function gate() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { wait: () => promise, open: resolve };
}

/** The status of an answer, whatever is in it. */
async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

const loadedNames = (server: ModelServer) => server.manager.loaded().map(({ name }) => name);

Deno.test("eight clients that ask for three models in turn get each model's own answer, none is lost, and one model is in memory", async () => {
  const seconds = Number(Deno.env.get("M40_SWAP_SECONDS") ?? 2);
  await using server = await startModels({ engine: { deviceProcess: true } });
  const expected = new Map<string, string>();
  for (const model of MODELS) expected.set(model, await textOf(server, model));
  assertEquals(new Set(expected.values()).size, MODELS.length, "the models answer differently");
  let loads = 0;
  let most = 0;
  const descriptors = [...Deno.readDirSync("/proc/self/fd")].length;
  server.manager.observe({
    loaded() {
      loads++;
      most = Math.max(most, server.manager.loaded().length);
    },
  });
  const end = performance.now() + seconds * 1000;
  let answers = 0;
  const memory: number[] = [];
  const clients = Array.from({ length: 8 }, async (_, client) => {
    for (let i = client; performance.now() < end; i++) {
      const model = MODELS[i % MODELS.length];
      if (i % 2 === 0) {
        assertEquals(await soon(model, textOf(server, model)), expected.get(model));
      } else {
        const streamed = await server.post("/v1/completions", bodyOf(model, 8, { stream: true }));
        const text = (await soon(model, streamed.text())).replaceAll(/^: .*\n\n/gm, "");
        const events = await readEvents(new Response(text));
        assertEquals(events.map(({ choices }) => choices[0].text).join(""), expected.get(model));
      }
      answers++;
      if (client === 0) memory.push(Deno.memoryUsage().rss);
    }
  });
  await Promise.all(clients);
  console.log(JSON.stringify({ seconds, answers, loads, mebibytes: memory.at(-1)! / 2 ** 20 }));
  assert(answers >= 16 && loads >= MODELS.length, `${answers} answers, ${loads} loads`);
  assert(loads < answers, "the models change places for every request");
  assertEquals(most, 1);
  assertEquals((await (await server.get("/health")).json()).waiting, 0);
  assert((await deviceProcesses()).length <= 1, "processes of devices are left");
  // A client keeps some connections, each of which has two ends here.
  const more = [...Deno.readDirSync("/proc/self/fd")].length - descriptors;
  assert(more <= 40, `${more} descriptors more are open than before`);
  if (seconds < 60) return;
  // After a third of the time everything has been used that is used again and again.
  const mean = (part: number[]) => part.reduce((sum, one) => sum + one, 0) / part.length;
  const third = Math.floor(memory.length / 3);
  const [middle, last] = [mean(memory.slice(third, 2 * third)), mean(memory.slice(2 * third))];
  assert(last < middle * 1.1 + 2 ** 24, `memory grew from ${middle} to ${last} bytes`);
});

Deno.test("a stream whose model is loaded meanwhile is told so in comments, and then answers", async () => {
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

Deno.test("what goes wrong after a stream has begun to wait is an event, for others a status; the former model answers again", async () => {
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
  const aliased = await (await server.post("/v1/completions", bodyOf("gpt-4"))).json();
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
  const loaded = await (await server.post("/v1/models/llama/load", { keep_alive: "1h" })).json();
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
  const unloaded = await (await server.post("/v1/models/qwen3/unload")).json();
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
  await (await server.post("/v1/completions", bodyOf("llama", 2, { keep_alive: 0 }))).json();
  await until("it is unloaded", () => loadedNames(server).length === 0);
  await (await server.post("/v1/completions", bodyOf("llama", 2, { keep_alive: "100ms" }))).json();
  assertEquals(loadedNames(server), ["llama"]);
  await until("its time is over", () => loadedNames(server).length === 0);
  for (const keep_alive of [-1, "-1s"]) {
    await (await server.post("/v1/completions", bodyOf("llama", 2, { keep_alive }))).json();
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

Deno.test("after the idle time nothing is in memory, and the next request brings it back", async () => {
  await using server = await startModels({
    manager: { idleMs: 150 },
    engine: { deviceProcess: true },
  });
  const text = await textOf(server, "llama");
  const used = await server.manager.acquire("llama");
  assertEquals((await deviceProcesses()).length, 1);
  used.release();
  await until("it is gone", () => loadedNames(server).length === 0);
  assertEquals(await deviceProcesses(), []);
  assertEquals(await textOf(server, "llama"), text);
});

Deno.test("kill -9 of the device's process: what ran ends with an error, the next request is answered", async () => {
  await using server = await startModels({ engine: { deviceProcess: true } });
  const text = await textOf(server, "llama");
  // More than there is room for on the device: some run and some wait, when it happens.
  const long = bodyOf("llama", 110, { logit_bias: { 2: -100 }, n: 4 });
  const streams = Array.from(
    { length: 4 },
    () => server.post("/v1/completions", { ...long, stream: true }),
  );
  const wholes = Array.from({ length: 4 }, () => server.post("/v1/completions", long));
  await until("they run", () => (server.manager.loaded()[0].engine?.status().running ?? 0) > 0);
  for (const pid of await deviceProcesses()) Deno.kill(pid, "SIGKILL");
  let ended = 0;
  for (const stream of streams) {
    const all = await soon("a stream's end", (await stream).text());
    if (/data: {"error":{.*"code":"device"}}\n\n$/.test(all)) ended++;
    else assertMatch(all, /data: \[DONE\]\n\n$/);
  }
  for (const whole of wholes) {
    const response = await soon("an answer", whole);
    if (response.status === 200) await response.body?.cancel();
    else assertEquals((await readError(response, 503)).code, "device");
  }
  assert(ended > 0, "none of them noticed");
  assertEquals(await textOf(server, "llama"), text);
  assertEquals((await (await server.get("/health")).json()).status, "ok");
});

Deno.test("a device's process that dies again and again is not started for every request: 503 with Retry-After", async () => {
  await using server = await startModels({ engine: { deviceProcess: true } });
  for (let i = 0; i < 3; i++) {
    await textOf(server, "llama");
    for (const pid of await deviceProcesses()) Deno.kill(pid, "SIGKILL");
    const engine = server.manager.loaded()[0].engine!;
    // What notices is the next call of the device.
    await until("it is noticed", () => {
      if (engine.status().failed === undefined) engine.generate({ prompt: [5], maxTokens: 1 });
      return engine.status().failed !== undefined;
    });
    if (i === 0) assertMatch((await (await server.get("/health")).json()).lost, /SIGKILL/);
  }
  const response = await server.post("/v1/completions", bodyOf("llama"));
  const wait = Number(response.headers.get("retry-after"));
  assert(wait > 30 && wait <= 60, `Retry-After is ${wait}`);
  assertEquals((await readError(response, 503)).code, "device");
  const health = await server.get("/health");
  assertEquals(health.status, 503);
  assertMatch((await health.json()).reason, /3 times within a minute.*SIGKILL/);
  // Another model is not to blame.
  await textOf(server, "qwen3");
  assertEquals(await statusOf(server.get("/health")), 200);
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

Deno.test("a deadline counts the time in which a model is waited for, and who leaves gives up its place", async () => {
  const loading = gate();
  await using server = await startModels({
    app: { timeoutMs: 400 },
    manager: { maxWaiting: 2 },
    beforeLoad: () => loading.wait(),
  });
  const controller = new AbortController();
  const left = server.post("/v1/completions", bodyOf("llama"), { signal: controller.signal });
  await until("one waits", () => server.manager.waiting() === 1);
  const late = server.post("/v1/completions", bodyOf("qwen3"));
  await until("two wait", () => server.manager.waiting() === 2);
  const refused = await server.post("/v1/completions", bodyOf("llama"));
  assertMatch(refused.headers.get("retry-after")!, /^\d+$/);
  assertEquals((await readError(refused, 429)).code, "queue_full");
  controller.abort();
  await left.catch(() => {});
  await until("one has left", () => server.manager.waiting() <= 1);
  const error = await readError(await late, 504);
  assertMatch(error.message, /not done after 0\.4 s: it was still waiting for its model/);
  assertEquals(server.manager.waiting(), 0);
  loading.open();
});

Deno.test("a server that ends while a model is loaded answers who waits for it in time, and else with 503", async () => {
  for (const inTime of [true, false]) {
    const loading = gate();
    await using server = await startModels({ drainMs: 300, beforeLoad: () => loading.wait() });
    const answer = server.post("/v1/completions", bodyOf("llama"));
    await until("it waits", () => server.manager.waiting() === 1);
    server.stop();
    await readError(await server.post("/v1/completions", bodyOf("qwen3")), 503);
    if (inTime) loading.open();
    const response = await soon("its answer", answer);
    if (inTime) assertEquals((await response.json()).choices.length, 1);
    else assertEquals((await readError(response, 503)).code, "cancelled");
    loading.open();
    await soon("the end", server.finished);
  }
});

Deno.test("--models 2: two models answer at the same time, and a third takes the place of the one used least recently", async () => {
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

Deno.test("whoever leaves, loads, unloads and kills meanwhile: every answer that comes whole is its model's own", async () => {
  await using server = await startModels({ engine: { deviceProcess: true } });
  const expected = new Map<string, string>();
  for (const model of MODELS) expected.set(model, await textOf(server, model));
  const seen = { whole: 0, left: 0, lost: 0, loads: 0, unloads: 0 };
  let state = Number(Deno.env.get("M40_SWAP_SEED") ?? 7);
  const below = (limit: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * limit);
  };
  const act = async () => {
    const model = MODELS[below(MODELS.length)];
    const kind = below(10);
    if (kind < 6) {
      const response = await server.post("/v1/completions", bodyOf(model));
      const body = await response.json();
      if (response.status === 503) {
        assertEquals(body.error.code, "device");
        seen.lost++;
      } else {
        assertEquals(body.choices?.[0].text, expected.get(model), JSON.stringify(body));
        seen.whole++;
      }
    } else if (kind < 8) {
      const connection = await openRequest(server.port, "/v1/completions", bodyOf(model, 100));
      await new Promise((resolve) => setTimeout(resolve, below(60)));
      connection.close();
      seen.left++;
    } else {
      const verb = kind === 8 ? "load" : "unload";
      const response = await server.post(`/v1/models/${model}/${verb}`);
      if (response.status !== 503) assertEquals((await response.json()).id, model);
      else await response.body?.cancel();
      seen[`${verb}s`]++;
    }
  };
  const end = performance.now() + 3000;
  let kills = 0;
  const clients = Array.from({ length: 6 }, async () => {
    while (performance.now() < end) await soon("an action", act());
  });
  const killer = (async () => {
    // Twice, so that no model fails too often to be loaded again.
    for (let at = 300; kills < 2 && performance.now() < end; at += 20) {
      await new Promise((resolve) => setTimeout(resolve, at));
      at = 0;
      // Whatever it does, being loaded included.
      const [pid] = await deviceProcesses();
      if (pid === undefined) continue;
      Deno.kill(pid, "SIGKILL");
      kills++;
      at = 700;
    }
  })();
  await Promise.all([...clients, killer]);
  console.log(JSON.stringify({ ...seen, kills }));
  const { whole, left } = seen;
  for (const [what, count] of Object.entries({ whole, left, kills })) {
    assert(count > 0, `no ${what}`);
  }
  await server.manager.idle();
  assertEquals(server.manager.waiting(), 0);
  for (const model of MODELS) assertEquals(await textOf(server, model), expected.get(model));
});

/** The processes of devices that this process has started. */
async function deviceProcesses(): Promise<number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await Deno.readTextFile(`/proc/${name}/stat`).catch(() => "");
    // Behind the program's name in brackets: its state and its parent.
    const [, state, parent] = /\) (\S) (\d+) /.exec(stat) ?? [];
    if (Number(parent) === Deno.pid && state !== "Z") found.push(Number(name));
  }
  return found;
}
