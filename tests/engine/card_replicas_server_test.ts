import { assert, assertEquals, assertMatch } from "@std/assert";
import { M40Error } from "../../engine/mod.ts";
import {
  isComputing,
  killBusy,
  processesOf,
  replicasOf,
  stepsOf,
} from "../fixtures/card_replicas.ts";
import { Home, m40 } from "../fixtures/cli_program.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { childrenOf, endOf } from "../fixtures/process_table.ts";
import { MODEL, NO_END, startServer, type TestServer } from "../fixtures/server_fixture.ts";
import { devicesOf } from "../fixtures/staged_engines.ts";
import { until } from "../fixtures/waiting.ts";

// A server whose model has a replica on each device: what it reports of each, and how requests end where one is lost.

const OPTIONS = { contextTokens: 128, parallel: 3 };
const BODY = { prompt: "Hello", max_tokens: 40, ...NO_END, temperature: 0.8 };

async function textsOf(response: Response): Promise<string[]> {
  const body = await response.json();
  assertEquals(response.status, 200, JSON.stringify(body));
  return body.choices.map(({ text }: { text: string }) => text);
}

/** The text of a stream, which must come to its end. */
async function streamed(server: TestServer, body: unknown): Promise<string> {
  const response = await server.post("/v1/completions", { ...body as object, stream: true });
  const events = (await response.text()).split("\n\n").filter((one) => one.startsWith("data: "));
  assertEquals(events.at(-1), "data: [DONE]", events.slice(-2).join("\n"));
  return events.slice(0, -1).map((one) => JSON.parse(one.slice(6)).choices[0]?.text ?? "").join("");
}

async function metric(server: TestServer, name: string, labels = ""): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  return Number(text.split(`${name}{${labels}model_name="${MODEL}"} `)[1]?.split("\n")[0]);
}

/** What one device answers to requests with seeds from 0 on. */
async function expected(count: number): Promise<string[]> {
  await using one = await startServer({ engine: { device: devicesOf(1), ...OPTIONS } });
  const texts: string[] = [];
  for (let seed = 0; seed < count; seed++) {
    texts.push(...await textsOf(await one.post("/v1/completions", { ...BODY, seed })));
  }
  return texts;
}

Deno.test("a server with replicas answers as one with one device, and reports each", async () => {
  const alone = await expected(8);
  const engine = { device: devicesOf(2), replicas: true, parallel: 3 };
  // So long that what runs still does when it is looked at.
  await using server = await startServer({ engine, contextLength: 8192 });
  const asked = alone.map((_, seed) => server.post("/v1/completions", { ...BODY, seed }));
  assertEquals((await Promise.all((await Promise.all(asked)).map(textsOf))).flat(), alone);
  assert(stepsOf(server.engine).every((steps) => steps > 0));

  const gone = new AbortController();
  const body = { ...BODY, max_tokens: 8000, n: 3 };
  const long = server.post("/v1/completions", body, { signal: gone.signal }).catch(() => {});
  await until("they run", () => server.engine.status().running === 3);
  const names = server.engine.replicas!.map(({ name }) => name);
  const slots = await (await fetch(`${server.url}/slots`)).json();
  assertEquals(
    slots.devices.map(({ id, state, losses, first_layer }: Record<string, unknown>) => [
      ...[id, state, losses, first_layer],
    ]),
    names.map((name) => [name, "ready", 0, undefined]),
  );
  const places = slots.slots.map(({ device }: { device: string }) => device);
  assertEquals(new Set(places).size, 1);
  assert(names.includes(places[0]), String(places));
  assertMatch(slots.device.name, /^2 /);
  const { plan, cards } = server.engine;
  assertEquals(slots.models[0].memory_bytes, plan.totalBytes);
  assertEquals(plan.totalBytes, cards[0].memory.totalBytes + cards[1].memory.totalBytes);

  await using home = await Home.make();
  const { code, stdout, stderr } = await m40(home, ["ps", "--port", String(server.port)]);
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /STATE +DEVICE +PROMPT/);
  for (const [i, line] of stdout.trimEnd().split("\n").slice(-2).entries()) {
    assert(line.startsWith(`${names[i]}, `), line);
    assertMatch(line, new RegExp(`, [03] sequences, [\\d.]+ .iB: .+ \\(${BACKEND}\\)`));
  }
  for (const [i, name] of names.entries()) {
    const labels = `device="${name}",`;
    assertEquals(await metric(server, "m40_replica_ready", labels), 1);
    const weights = await metric(server, "m40_memory_bytes", `part="weights",${labels}`);
    assertEquals(weights, cards[i].memory.weightBytes);
  }
  gone.abort();
  await long;
});

Deno.test("a replica is killed under load: every stream and answer comes to its end as it would alone, and it comes back", async () => {
  const alone = await expected(16);
  const said: string[] = [];
  const onReplica = (text: string) => said.push(text);
  const engine = {
    device: devicesOf(2),
    replicas: true,
    deviceProcess: true,
    onReplica,
    ...OPTIONS,
  };
  await using server = await startServer({ engine: { ...engine, maxQueue: 40 } });
  const [, killed] = processesOf(server.engine);
  const { name } = server.engine.replicas![1];
  const ask = () =>
    alone.map((_, seed) =>
      seed % 2 === 0
        ? streamed(server, { ...BODY, seed })
        : server.post("/v1/completions", { ...BODY, seed }).then(textsOf).then(([text]) => text)
    );
  const answers = ask();
  await until("it computes", () => stepsOf(server.engine)[1] > 4);
  await killBusy(killed);
  await until("its loss is noticed", () => replicasOf(server.engine).length === 1);
  const labels = `device="${name}",`;
  assertEquals(await metric(server, "m40_replica_ready", labels), 0);
  assertEquals(await metric(server, "m40_device_failed"), 0);
  const ready = await fetch(`${server.url}/ready`);
  const { status, lost_replicas } = await ready.json();
  assertEquals([ready.status, status, lost_replicas], [200, "ok", 1]);
  const slots = await (await fetch(`${server.url}/slots`)).json();
  assert(["lost", "loading"].includes(slots.devices[1].state));
  assertMatch(slots.devices[1].reason, /signal 9/);
  assertEquals(await Promise.all(answers), alone);

  await until("it is ready again", () => replicasOf(server.engine).length === 2);
  assertEquals(await Promise.all(ask()), alone);
  assert(stepsOf(server.engine)[1] > 0);
  assertEquals(await metric(server, "m40_replica_ready", labels), 1);
  assertEquals(await metric(server, "m40_replica_losses", labels), 1);
  assertEquals((await (await fetch(`${server.url}/ready`)).json()).lost_replicas, undefined);
  assertMatch(
    said.join("\n"),
    /^A replica was lost, .*signal 9.*\nThe replica on .* is ready again\.$/,
  );
  await endOf(killed);
});

Deno.test("a replica that does nothing and whose process has ended is noticed by a status call, or by a request", async () => {
  const engine = { device: devicesOf(2), replicas: true, deviceProcess: true, ...OPTIONS };
  await using server = await startServer({ engine });
  for (const index of [0, 1]) {
    const process = processesOf(server.engine)[index];
    Deno.kill(process, "SIGKILL");
    await endOf(process);
    if (index === 1) await fetch(`${server.url}/ready`).then((response) => response.body?.cancel());
    await textsOf(await server.post("/v1/completions", BODY));
    assertEquals(server.engine.replicas![index].losses, 1);
    await until("it is ready again", () => replicasOf(server.engine).length === 2);
  }
});

Deno.test("a replica that hangs holds up its own requests alone, and these migrate when that is found out", async () => {
  const [alone] = await expected(1);
  const engine = { device: devicesOf(2), replicas: true, ...OPTIONS };
  await using server = await startServer({ engine });
  const { placed } = replicasOf(server.engine)[0];
  // As a step does that a GPU never finishes, until its minute is over.
  const hung = Promise.withResolvers<never>();
  placed.scheduled.step = () => hung.promise;
  const first = server.post("/v1/completions", { ...BODY, seed: 0 });
  await until("the first computes", () => isComputing(replicasOf(server.engine)[0]));
  for (let seed = 0; seed < 4; seed++) {
    await textsOf(await server.post("/v1/completions", { ...BODY, prompt: `Other ${seed}`, seed }));
  }
  assertEquals(server.engine.replicas!.map(({ sequences }) => sequences), [1, 0]);
  hung.reject(new M40Error("device", "a step: the device hangs"));
  assertEquals(await textsOf(await first), [alone]);
  assertEquals(server.engine.replicas!.map(({ losses }) => losses), [1, 0]);
});

Deno.test("all replicas are killed: it is as with one device that is lost, and nothing is left", async () => {
  let processes: number[];
  {
    const engine = { device: devicesOf(2), replicas: true, deviceProcess: true, parallel: 3 };
    await using server = await startServer({ engine, contextLength: 8192 });
    processes = processesOf(server.engine);
    const answers = [0, 1, 2].map((seed) =>
      server.post("/v1/completions", { ...BODY, seed, max_tokens: 8000 })
    );
    await until("both compute", () => replicasOf(server.engine).every(isComputing));
    await killBusy(...processes);
    for (const response of await Promise.all(answers)) {
      const { error } = await response.json();
      assertEquals([response.status, error.code], [503, "device"]);
      assertMatch(error.message, new RegExp(`^${BACKEND}.*signal 9`));
    }
    const health = await fetch(`${server.url}/health`);
    assertEquals([health.status, (await health.json()).status], [503, "failed"]);
    const after = await server.post("/v1/completions", BODY);
    assertEquals([after.status, (await after.json()).error.code], [503, "device"]);
  }
  const children = childrenOf();
  assertEquals(processes.filter((process) => children.includes(process)), []);
});
