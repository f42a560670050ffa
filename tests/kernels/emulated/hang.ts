import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { StepBlock, type StepSequence } from "../../../engine/device/step_block.ts";
import { NONE, RESULT, Status } from "../../../engine/device/structs.ts";
import { Home, m40, startServe, TINY } from "../../fixtures/cli_program.ts";
import { outputBuffer, TestDevice } from "../../fixtures/device_harness.ts";
import {
  sanitizerEnvironment,
  takeEmulatedForCuda,
  withEnvironment,
} from "../../fixtures/emulated_environment.ts";
import { NO_END, readError, startServer } from "../../fixtures/server_fixture.ts";
import { answer, answerAsync } from "../../fixtures/spoiled_program.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// A GPU that is late, or never finishes. Run by slow/emulated_test.ts: the emulated device's clock makes a minute pass at
// once, and it ends the process where anything waits for it without a bound.

/** Kernels of a step alone: a model is loaded without any. */
const HANGING = { M40_EMULATION_HANG_IN: "sample" };
const REASON =
  /^a step: the device hangs: it has not finished in 60 s; restart the program, and where that does not help, the machine$/;

Deno.test("a step that takes longer than the ones before does not hold up the thread that finishes it", async () => {
  const device = new TestDevice();
  const program = device.program({
    ops: [{ kind: "sample", logits: 0, columns: 8, hidden: NONE, hidden_columns: 0 }],
    buffers: [outputBuffer(8)],
    limits: { n_vocab: 8 },
  });
  program.writeBuffer(0, Float32Array.of(0, 1, 2, 3, 9, 3, 2, 1));
  const sequence: StepSequence = {
    tokens: [0],
    position: 0,
    kvBlocks: [],
    outputs: [{ row: 0 }],
    decode: true,
  };
  const expected = await program.step([sequence]);
  assertEquals(expected.outputs[0].sample?.token, 4);

  const block = new StepBlock(program.records.limits);
  block.write([sequence]);
  const { symbols } = device.kernels;
  const handle = program["handle"];
  const results = new Uint8Array(RESULT.bytes);
  const length = BigInt(block.length);
  const wait = () => answerAsync((e) => symbols.m40_step_wait(handle, e));
  const finish = () => answer((e) => symbols.m40_step_finish(handle, results, 1, e));
  await withEnvironment({ M40_EMULATION_LATE_MS: "300" }, async () => {
    const begun = answer((e) => symbols.m40_step_begin(handle, block.bytes, length, e));
    assertEquals(begun.message, "");
    // Forecast by the previous step, this one is nearly done.
    assertEquals((await wait()).message, "");
    for (let i = 0; i < 2; i++) {
      const { status, message } = finish();
      assertEquals([status, message], [
        Status.not_ready,
        "the step is not over: wanted m40_step_wait again",
      ]);
    }
    assertEquals((await wait()).message, "");
    assertEquals(finish().message, "");
    const { sample } = RESULT.fields;
    assertEquals(new DataView(results.buffer).getInt32(sample.offset, true), 4);
    for (let i = 0; i < 3; i++) {
      assertEquals(await program.step([sequence]), expected);
    }
  });
  device.close();
});

for (
  const [kernel, what, where] of [
    ["repack", "an upload", "while the model is loaded"],
    ["sample", "a step", "in a step that gives logits"],
  ]
) {
  Deno.test(`m40 eval ends with the reason when the device hangs ${where}`, async () => {
    await using home = await Home.make();
    await Deno.symlink(Deno.env.get("M40_KERNELS")!, `${home.path}/libm40_cuda.so`);
    const env = {
      ...sanitizerEnvironment(),
      M40_EMULATION_HANG_IN: kernel,
      M40_KERNELS: home.path,
    };
    const args = ["eval", TINY, "--device", "cuda", "--tokens", "1,2,3"];
    const { code, stdout, stderr } = await m40(home, args, { env });
    assertEquals([code, stdout], [1, ""]);
    const reason = new RegExp(
      `^error: ${what}: the device hangs: it has not finished in 60 s; restart .*\n$`,
    );
    assertMatch(stderr, reason);
  });
}

for (const [what, where] of [["read", "a tensor"], ["place", "a program"]]) {
  Deno.test(`a device that hangs during ${where} is given up with the reason, and no memory of it is waited for`, async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        `${import.meta.dirname}/../../fixtures/hanging_device.ts`,
        what,
      ],
      env: { ...sanitizerEnvironment(), M40_KERNELS: Deno.env.get("M40_KERNELS")! },
    }).output();
    const text = new TextDecoder();
    assertEquals([code, text.decode(stderr)], [0, ""]);
    assertMatch(
      text.decode(stdout),
      new RegExp(`^${where}: the device hangs: it has not finished in 60 s; restart .*\n$`),
    );
  });
}

Deno.test("m40 serve ends on SIGTERM, though its device hangs", async () => {
  await using home = await Home.make();
  await Deno.symlink(Deno.env.get("M40_KERNELS")!, `${home.path}/libm40_cuda.so`);
  const env = { ...HANGING, ...sanitizerEnvironment(), M40_KERNELS: home.path };
  const server = await startServe(home, ["--model", TINY, "--device", "cuda", "--port", "0"], env);
  const { child, output, errors } = server;
  const body = { model: "llama", prompt: "hello", max_tokens: 5, ...NO_END };
  const response = await server.post("/v1/completions", body);
  assertMatch((await readError(response, 503)).message, REASON);
  child.kill("SIGTERM");
  const said = (await output.rest()).trim().split("\n");
  // It may come to that before the end, or not.
  assertEquals(said.filter((line) => line !== "Unloaded llama: its device was lost"), ["Closed."]);
  assertEquals([(await child.status).code, await errors], [0, ""]);
});

const leavesACall = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "a driver that never reports the device's state holds up neither metrics nor the end",
  leavesACall,
  async () => {
    using _environment = new TemporaryEnvironment({ M40_EMULATION_SILENT: "1" });
    await using server = await startServer({ engine: { device: "emulated" } });
    for (let i = 0; i < 3; i++) {
      const response = await fetch(server.url + "/metrics");
      const metrics = await response.text();
      assertEquals(response.status, 200, metrics);
      assertMatch(metrics, /^m40_device_failed\{.*\} 0$/m);
      assertEquals(/^m40_device_power_watts/m.test(metrics), false);
    }
    await assertRejects(
      () => server.engine.deviceState(),
      Error,
      "the driver has not reported the device's state in 3 s",
    );
  },
);

// The last: a device that hangs does so until the process ends.
Deno.test("a device that hangs fails every request with the reason, and the server says so and can be closed", async () => {
  await takeEmulatedForCuda();
  await using server = await startServer({ engine: { device: "cuda", parallel: 2, maxQueue: 8 } });
  const body = { model: "golden", prompt: "hello", max_tokens: 5, ...NO_END };
  const before = await server.post("/v1/completions", body);
  assertEquals((await before.json()).usage.completion_tokens, 5);

  await withEnvironment(HANGING, async () => {
    // Some run, the others wait.
    const asked = Array.from({ length: 5 }, () => server.post("/v1/completions", body));
    for (const response of await Promise.all(asked)) {
      const error = await readError(response, 503);
      assertEquals(error.code, "device");
      assertMatch(error.message, REASON);
    }
  });
  const later = await readError(await server.post("/v1/completions", body), 503);
  assertMatch(later.message, REASON);
  for (const path of ["/health", "/ready"]) {
    const response = await fetch(server.url + path);
    assertEquals(response.status, 503);
    const { status, reason } = await response.json();
    assertEquals(status, "failed");
    assertMatch(reason, REASON);
  }
  const metrics = await (await fetch(server.url + "/metrics")).text();
  assertMatch(metrics, /^m40_device_failed\{.*\} 1$/m);
  await assertRejects(
    () => server.engine.evaluate([1, 2]).next(),
    Error,
    "the device hangs: it has not finished its earlier work",
  );
});
