/** The pacer between the steps of a scheduler: it waits as long as the pace wants, and says when that changes. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { DeviceState } from "../../engine/device/library.ts";
import { createPacer, Pacer } from "../../engine/power/pacer.ts";
import { startServer } from "../fixtures/server_fixture.ts";

/** Lets a call of the device's state that was made come back. */
const settle = () => new Promise((resolve) => setTimeout(resolve));

Deno.test("a pacer looks four times a second, rests when it is too hot, and says when that begins and ends", async () => {
  let now = 0;
  let asked = 0;
  let state: DeviceState = { temperatureCelsius: 90, powerWatts: 200 };
  const reported: boolean[] = [];
  const pacer = new Pacer(
    { maxTemperatureCelsius: 80 },
    () => (asked++, Promise.resolve(state)),
    (rests) => reported.push(rests),
    () => now,
  );
  for (let i = 0; i < 10; i++) {
    await pacer.rest(1, 0);
    await settle();
    now += 100;
  }
  assertEquals([asked, reported], [4, [true]]);
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
  assertEquals([pacer.share, reported], [0, [true, false]]);
});

Deno.test("a device that cools during a long pause goes on before its end", async () => {
  let celsius = 100;
  let looks = 0;
  const pacer = new Pacer(
    { maxTemperatureCelsius: 80 },
    () => (looks++, Promise.resolve({ temperatureCelsius: celsius })),
  );
  await pacer.rest(0, 0);
  await settle();
  celsius = 30;
  // Of a step of a second it would rest as long as one rest may be.
  const waited = await pacer.rest(1000, 0);
  assert(waited > 400 && looks < 6, `waited ${waited} ms, and looked ${looks} times`);
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
  assertMatch(messages[0], /^The device is at its limit \(300 W\): it pauses between steps/);
});

Deno.test("a server with limits says what its device rests, and what that has cost", async () => {
  await using server = await startServer({ engine: { maxTemperatureCelsius: 80 } });
  const answer = await server.post("/v1/completions", { prompt: "Hello", max_tokens: 5 });
  await answer.json();
  const slots = await (await fetch(`${server.url}/slots`)).json();
  // The processor reports no temperature.
  assertEquals(slots.device.rest_share, 0);
  assert(slots.rested_seconds >= 0 && slots.rested_seconds < 0.5);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  assertMatch(metrics, /^m40_rested_seconds_total\{?.*\d/m);
});
