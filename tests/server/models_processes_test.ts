// Several models behind one server, each on a device's process of its own: they change places, die and are unloaded.
import { assert, assertEquals, assertMatch } from "@std/assert";
import { childrenOf, lives, openDescriptors } from "../fixtures/process_table.ts";
import { openRequest, readError, readEvents, soon, until } from "../fixtures/server_fixture.ts";
import {
  bodyOf,
  loadedNames,
  MODELS,
  startModels,
  textOf,
} from "../fixtures/server_models_fixture.ts";

/** The processes of devices that this process has started. */
const deviceProcesses = () => childrenOf().filter(lives);

Deno.test("eight clients that ask for three models in turn get each model's own answer, none is lost, and one model is in memory", async () => {
  // In six requests a client comes back to each model, which others have replaced meanwhile.
  const requests = 6;
  const seconds = Number(Deno.env.get("M40_SWAP_SECONDS") ?? 0);
  await using server = await startModels({ engine: { deviceProcess: true } });
  const expected = new Map<string, string>();
  for (const model of MODELS) expected.set(model, await textOf(server, model));
  assertEquals(new Set(expected.values()).size, MODELS.length, "the models answer differently");
  let loads = 0;
  let most = 0;
  const descriptors = openDescriptors();
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
    for (let i = client; i < client + requests || performance.now() < end; i++) {
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
  assert(loads >= MODELS.length, `${answers} answers, ${loads} loads`);
  assert(loads < answers, "the models replace each other for every request");
  assertEquals(most, 1);
  assertEquals((await (await server.get("/health")).json()).waiting, 0);
  assert(deviceProcesses().length <= 1, "processes of devices are left");
  // A client keeps some connections, each of which has two ends here.
  const more = openDescriptors() - descriptors;
  assert(more <= 40, `${more} descriptors more are open than before`);
  if (seconds < 60) return;
  // After a third of the time everything has been used that is used again and again.
  const mean = (part: number[]) => part.reduce((sum, one) => sum + one, 0) / part.length;
  const third = Math.floor(memory.length / 3);
  const [middle, last] = [mean(memory.slice(third, 2 * third)), mean(memory.slice(2 * third))];
  assert(last < middle * 1.1 + 2 ** 24, `memory grew from ${middle} to ${last} bytes`);
});

Deno.test("after the idle time nothing is in memory, and the next request brings it back", async () => {
  await using server = await startModels({
    manager: { idleMs: 150 },
    engine: { deviceProcess: true },
  });
  const text = await textOf(server, "llama");
  const used = await server.manager.acquire("llama");
  assertEquals(deviceProcesses().length, 1);
  used.release();
  await until("it is gone", () => loadedNames(server).length === 0);
  assertEquals(deviceProcesses(), []);
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
  for (const pid of deviceProcesses()) Deno.kill(pid, "SIGKILL");
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
    for (const pid of deviceProcesses()) Deno.kill(pid, "SIGKILL");
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
  assertEquals((await (await server.get("/health")).json()).status, "ok");
});

Deno.test("clients leave, load, unload and kill meanwhile: every answer that comes whole is its model's own", async () => {
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
  let [actions, kills] = [0, 0];
  const clients = Array.from({ length: 6 }, async () => {
    while (actions < 60 || kills < 2 || seen.whole === 0 || seen.left === 0) {
      await soon("an action", act());
      actions++;
      // Twice, so that no model fails too often to be loaded again; whatever it does, being loaded included.
      const [pid] = deviceProcesses();
      if (pid === undefined || kills === 2 || actions < 20 * (kills + 1)) continue;
      Deno.kill(pid, "SIGKILL");
      kills++;
    }
  });
  await Promise.all(clients);
  console.log(JSON.stringify({ ...seen, kills }));
  await server.manager.idle();
  assertEquals(server.manager.waiting(), 0);
  for (const model of MODELS) assertEquals(await textOf(server, model), expected.get(model));
});
