/** The pacer between the steps of a scheduler: it waits as long as the pace wants, and says when that changes. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { DeviceState } from "../engine/device/library.ts";
import { createPacer, Pacer } from "../engine/pacer.ts";
import { Engine } from "../engine/mod.ts";
import { TINY } from "./cli_program.ts";
import { takeEmulatedDriver } from "./doctor_fixture.ts";
import { withEnvironment } from "./emulated_environment.ts";
import { startServer } from "./server_fixture.ts";

/** Lets a call of the device's state that was made come back. */
const settle = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("a pacer looks twice a second, rests when it is too hot, and says when that begins and ends", async () => {
  let now = 0;
  let asked = 0;
  let state: DeviceState = { temperatureCelsius: 90, powerWatts: 200 };
  const told: boolean[] = [];
  const pacer = new Pacer(
    { maxTemperatureCelsius: 80 },
    () => (asked++, Promise.resolve(state)),
    (rests) => told.push(rests),
    () => now,
  );
  for (let i = 0; i < 10; i++) {
    await pacer.rest(1, 0);
    await settle();
    now += 100;
  }
  assertEquals([asked, told], [2, [true]]);
  assert(pacer.share > 0.5);
  const start = performance.now();
  const waited = await pacer.rest(5, 0);
  assert(performance.now() - start >= waited && waited >= 4, `waited ${waited} ms`);
  state = { temperatureCelsius: 40, powerWatts: 200 };
  for (let i = 0; i < 60; i++) {
    now += 500;
    await pacer.rest(0, 0);
    await settle();
  }
  assertEquals([pacer.share, told], [0, [true, false]]);
});

Deno.test("a driver that fails or never answers holds no step up", async () => {
  let now = 0;
  const silent = new Pacer(
    { maxPowerWatts: 100 },
    () => new Promise(() => {}),
    undefined,
    () => now,
  );
  const failing = new Pacer(
    { maxPowerWatts: 100 },
    () => Promise.reject(new Error("lost")),
    undefined,
    () => now,
  );
  for (let i = 0; i < 5; i++) {
    await silent.rest(10, 0);
    await failing.rest(10, 0);
    now += 1000;
  }
  assertEquals([silent.share, failing.share], [0, 0]);
});

Deno.test("an engine without limits has no pacer; one with some says in a sentence what it does", async () => {
  const state = () => Promise.resolve({ powerWatts: 300 });
  assertEquals(createPacer({ paceLimits: {} }, state), undefined);
  const messages: string[] = [];
  const onPace = (message: string) => messages.push(message);
  const pacer = createPacer({ paceLimits: { maxPowerWatts: 100 }, onPace }, state)!;
  await pacer.rest(1, 0);
  await new Promise((resolve) => setTimeout(resolve, 520));
  await pacer.rest(1, 0);
  await settle();
  assertEquals(messages.length, 1);
  assertMatch(messages[0], /^The device is at its limit \(300 W\): it rests between steps/);
});

Deno.test("a server with limits says what its device rests, and what that has cost", async () => {
  await using server = await startServer({ engine: { maxTemperatureCelsius: 80 } });
  const answer = await server.post("/v1/completions", { prompt: "Hello", max_tokens: 5 });
  await answer.json();
  const slots = await (await fetch(`${server.url}/slots`)).json();
  // The processor tells no temperature.
  assertEquals(slots.device.rest_share, 0);
  assert(slots.rested_seconds >= 0 && slots.rested_seconds < 0.5);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  assertMatch(metrics, /^m40_rested_seconds_total\{?.*\d/m);
});

Deno.test(
  "an engine on a card that is too hot rests between its steps, and one that is cool does not",
  {
    sanitizeOps: false,
    sanitizeResources: false,
  },
  async () => {
    await takeEmulatedDriver();
    for (const [temperature, rests] of [["83", true], ["50", false]] as const) {
      await withEnvironment({ M40_EMULATION_TEMPERATURE: temperature }, async () => {
        const messages: string[] = [];
        const engine = await Engine.load(TINY, {
          device: "cuda",
          deviceProcess: true,
          parallel: 1,
          contextTokens: 64,
          maxTemperatureCelsius: 80,
          onPace: (message) => messages.push(message),
        });
        try {
          const generation = engine.generate({
            prompt: [5, 6],
            maxTokens: 8,
            sampling: { ignoreEos: true },
          });
          let tokens = 0;
          for await (const chunk of generation) tokens += chunk.tokens.length;
          assertEquals(tokens, 8);
          const { restShare, restedMs } = engine.status();
          assertEquals([restShare! > 0.3, restedMs > 0, messages.length], [
            rests,
            rests,
            rests ? 1 : 0,
          ]);
        } finally {
          await engine.close();
        }
      });
    }
  },
);
