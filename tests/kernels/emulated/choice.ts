import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { openDevice } from "../../../engine/device/open.ts";
import { M40Error } from "../../../engine/errors.ts";
import { Home, m40, TINY } from "../../fixtures/cli_program.ts";
import {
  sanitizerEnvironment,
  takeEmulatedForCuda,
  withEnvironment,
} from "../../fixtures/emulated_environment.ts";
import { MODEL, startServer } from "../../fixtures/server_fixture.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// What --device takes where there is a GPU, or a driver that is too old for it, and what the program then says of the GPU.
// Run by slow/emulated_test.ts: the emulated library stands in the GPU's library's place.

await takeEmulatedForCuda();

Deno.test("auto takes the GPU where there is one", () => {
  const { library, index, fallback } = openDevice("auto");
  assertEquals([library.backend, index, fallback], ["emulated", 0, undefined]);
  library.close();
});

Deno.test("a GPU that is not there is refused with those that are", () => {
  const error = assertThrows(() => openDevice("cuda:9"), M40Error);
  assertEquals([error.code, error.message], [
    "device",
    "there is no device cuda:9; there is cuda:0 (Emulated compute capability 5.2)",
  ]);
});

const ABSENCES: [name: string, value: string, reason: RegExp][] = [
  ["M40_EMULATION_DEVICES", "0", /^no NVIDIA driver is installed, or it is not loaded$/],
  ["M40_EMULATION_DRIVER", "10020", /^the NVIDIA driver is too old: .*install driver 450 or newer/],
  [
    "M40_EMULATION_CAPABILITY",
    "35",
    /has compute capability 3\.5: this library needs 5\.2 or newer$/,
  ],
];
for (const [name, value, reason] of ABSENCES) {
  Deno.test(`auto takes the CPU and says why: ${name}=${value}`, () => {
    using _environment = new TemporaryEnvironment({ [name]: value });
    const { library, fallback } = openDevice("auto");
    assertEquals(library.backend, "cpu");
    assertMatch(fallback!, reason);
    library.close();
  });
}

const TEMPERATURE = { M40_EMULATION_TEMPERATURE: "61" };

Deno.test("m40 bench says which GPU it was, by which driver, how warm it became and what it drew", async () => {
  await using home = await Home.make();
  const env = { ...TEMPERATURE, ...sanitizerEnvironment() };
  const small = ["--prompts", "4", "--batches", "1", "--depths", "0", "--steps", "1"];
  const args = ["bench", "--device", "cuda", TINY, ...small, "--repetitions", "1"];
  const { code, stdout, stderr } = await m40(home, args, { env });
  assertEquals(code, 0, stderr);
  assertMatch(
    stdout,
    /Emulated compute capability 5\.2 \(.*ECC off, driver 450\.248\.02 for CUDA 11\.8\)\n/,
  );
  assertMatch(stdout, /\nat the end of each: 61 °C, 183 W, 1114 MHz; its limit is 250 W\n$/);
  const json = JSON.parse((await m40(home, [...args, "--json"], { env })).stdout);
  assertEquals(json.device.driver, "450.248.02");
  const { temperature_celsius, power_watts, clock_khz } = json.results[0];
  assertEquals([temperature_celsius, power_watts, clock_khz], [61, 182.5, 1_114_000]);
});

Deno.test("metrics and slots have the GPU's temperature, power and clocks, in base units", async () => {
  await using server = await startServer({ engine: { device: "cuda" } });
  const gauge = async (name: string) => {
    const kvBlock = await (await fetch(server.url + "/metrics")).text();
    const value = new RegExp(`^m40_device_${name}\\{model_name="${MODEL}"\\} (.+)$`, "m").exec(
      kvBlock,
    );
    return value === null ? undefined : Number(value[1]);
  };
  const expected = {
    memory_total_bytes: 24 * 2 ** 30,
    memory_used_bytes: 2 ** 30,
    temperature_celsius: undefined,
    power_watts: 182.5,
    power_limit_watts: 250,
    clock_hertz: 1_114_000_000,
    memory_clock_hertz: 3_004_000_000,
    utilisation_ratio: undefined,
  };
  for (const [name, value] of Object.entries(expected)) {
    assertEquals(await gauge(name), value, name);
  }
  await withEnvironment(TEMPERATURE, async () => {
    assertEquals(await gauge("temperature_celsius"), 61);
    // How steps are run follows from what was measured: tests/kernels/emulated/executors.ts.
    const { executors: _, ...device } = (await (await fetch(server.url + "/slots")).json()).device;
    assertEquals(device, {
      name: "Emulated compute capability 5.2",
      backend: "emulated",
      memory_bytes: 24 * 2 ** 30,
      memory_used_bytes: 2 ** 30,
      temperature_celsius: 61,
      power_watts: 182.5,
      power_limit_watts: 250,
      clock_khz: 1_114_000,
      memory_clock_khz: 3_004_000,
    });
  });
  assertEquals(await gauge("temperature_celsius"), undefined);
});
