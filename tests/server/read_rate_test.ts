import { assertAlmostEquals, assertEquals } from "@std/assert";
import { StepRate } from "../../server/metrics/rates.ts";
import { SlotsObject } from "../../server/monitoring/slots.ts";
import { NO_END, startServer } from "../fixtures/server_fixture.ts";

Deno.test("what steps read a second is that of the last seconds, and nothing when nothing ran", async () => {
  await using server = await startServer();
  const { engine } = server;
  let now = 10_000;
  const rate = new StepRate();
  assertEquals(rate.bytesPerSecond(engine, now), 0);
  for (let i = 0; i < 10; i++) rate.step({ promptTokens: 0, decodeTokens: 4 }, now);
  assertEquals(rate.bytesPerSecond(engine, now), 0, "the second is not over");
  now = 11_000;
  const { bytes } = engine.stepWork({ tokens: 4, outputs: 4, sequences: 4, attended: 0 });
  assertAlmostEquals(rate.bytesPerSecond(engine, now), 10 * bytes / 5, 1);
  now = 13_500;
  for (let i = 0; i < 5; i++) rate.step({ promptTokens: 0, decodeTokens: 4 }, now);
  now = 14_000;
  assertAlmostEquals(rate.bytesPerSecond(engine, now), 15 * bytes / 5, 1);
  now = 16_000;
  assertAlmostEquals(rate.bytesPerSecond(engine, now), 5 * bytes / 5, 1);
  now = 19_000;
  assertEquals(rate.bytesPerSecond(engine, now), 0);
});

Deno.test("/slots says what the steps of an answer read", async () => {
  await using server = await startServer();
  const body = { prompt: "Hello", max_tokens: 50, ...NO_END };
  await (await server.post("/v1/completions", body)).body?.cancel();
  for (let i = 0; i < 100; i++) {
    const slots = SlotsObject.parse(await (await fetch(`${server.url}/slots`)).json());
    // A CPU's memory does not say what it gives.
    assertEquals(slots.device?.memory_bytes_per_second, undefined);
    if (slots.read_bytes_per_second > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("nothing was read");
});
