import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { KernelLibrary } from "../../../engine/device/library.ts";
import { M40Error } from "../../../engine/errors.ts";
import { plainSequence, TestDevice, tokenBuffer } from "../../fixtures/device_harness.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// A GPU that is missing, too small or lost in the middle of a step. Run by slow/emulated_test.ts: these tests need the
// emulated library: environment variables make its device fail (cuda/emulation/device_state.h).

const ABSENCES: [Record<string, string>, RegExp][] = [
  [{ M40_EMULATION_DEVICES: "0" }, /^no NVIDIA driver is installed, or it is not loaded$/],
  [
    { M40_EMULATION_DRIVER: "10020" },
    /^the NVIDIA driver is too old: it supports CUDA 10\.2, this library was built with CUDA 11\.8; install driver 450 or newer/,
  ],
];

for (const [variables, message] of ABSENCES) {
  Deno.test(`without a device the reason is one sentence: ${JSON.stringify(variables)}`, async () => {
    using _environment = new TemporaryEnvironment(variables);
    await using library = KernelLibrary.find("emulated");
    const { count, absence } = library.countDevices();
    assertEquals(count, 0);
    assertMatch(absence, message);
    const error = assertThrows(() => library.createContext(), M40Error);
    assertEquals(error.code, "unsupported");
    assertMatch(error.message, message);
  });
}

Deno.test("an arena that is larger than the device's memory says how much there is", async () => {
  const device = new TestDevice({ arenaBytes: 4096 });
  await withEnvironment({ M40_EMULATION_MEMORY_BYTES: "1000000" }, () => {
    const error = assertThrows(() => device.context.createArena(2_000_000), M40Error);
    assertEquals(error.code, "out_of_memory");
    assertMatch(error.message, /an arena of 2000000 bytes: the device has 1000000 bytes of memory/);
  });
  device.close();
});

Deno.test("a device that is there is described", async () => {
  await using library = KernelLibrary.find("emulated");
  const [device] = library.devices();
  assertEquals(device.computeCapability, 52);
  assertEquals(device.instructionSet, "sm_52");
  assert(device.freeBytes <= device.memoryBytes && device.freeBytes > 0);
  assertThrows(() => library.device(1), M40Error, "device 1: there are 1, wanted 0 to 0");
});

const STATE = {
  memoryBytes: 24 * 2 ** 30,
  usedBytes: 2 ** 30,
  freeBytes: 23 * 2 ** 30,
  temperatureCelsius: undefined,
  powerWatts: 182.5,
  powerLimitWatts: 250,
  energyJoules: undefined,
  clockKhz: 1_114_000,
  memoryClockKhz: 3_004_000,
  utilisation: undefined,
};

Deno.test("a device's temperature and power are the management library's, and what that lacks is absent", async () => {
  await using library = KernelLibrary.find("emulated");
  assertEquals(library.device(0).driver, "450.248.02");
  assertEquals(await library.deviceState(0), STATE);
  await withEnvironment({ M40_EMULATION_TEMPERATURE: "0" }, async () => {
    assertEquals(await library.deviceState(0), { ...STATE, temperatureCelsius: 0 });
  });
  const error = await assertRejects(() => library.deviceState(1), M40Error);
  assertEquals(error.message, "device 1: there are 1, wanted 0 to 0");
});

Deno.test("a device's state can be asked for while a step runs", async () => {
  const device = new TestDevice();
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 0, output: 0, columns: 4096 }],
    buffers: [tokenBuffer(4096)],
  });
  program.writeBuffer(0, new Float32Array(4096));
  let running = true;
  const step = program.step([plainSequence(1)]).finally(() => running = false);
  do assertEquals(await device.kernels.deviceState(0), STATE); while (running);
  await step;
  device.close();
});

// The last: a device that is lost stays lost for the process.
Deno.test("a device that is lost in mid-step fails the step, and every one after it", async () => {
  const device = new TestDevice();
  const program = device.program({
    ops: [{ kind: "add", a: 0, b: 0, output: 0, columns: 8 }],
    buffers: [tokenBuffer(8)],
  });
  program.writeBuffer(0, new Float32Array(8));
  await program.step([plainSequence(1)]);
  await withEnvironment({ M40_EMULATION_FAIL_AFTER: "1" }, async () => {
    for (let i = 0; i < 2; i++) {
      const error = await assertRejects(() => program.step([plainSequence(1)]), M40Error);
      assertEquals(error.code, "device");
      assertMatch(error.message, /: cudaErrorLaunchFailure \(/);
    }
    const untimed = await assertRejects(() => program.profile([plainSequence(1)]), M40Error);
    assertEquals(untimed.code, "device");
    // How hot it was when that happened is what one wants to know.
    assertEquals((await device.kernels.deviceState(0)).powerWatts, STATE.powerWatts);
  });
  device.close();
});
