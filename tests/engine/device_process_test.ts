import { assert, assertEquals, assertRejects } from "@std/assert";
import { openDevice, openDeviceProcess } from "../../engine/device/open.ts";
import { Engine, type EngineOptions, M40Error } from "../../engine/mod.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import {
  asking,
  cardOf,
  collect,
  loadEngine,
  promptOf,
  withEngine,
} from "../fixtures/engine_fixture.ts";
import { golden } from "../fixtures/goldens.ts";

// The device in a process of its own computes the same.

/** What differs most in what goes over: caches of windows, experts, a latent cache, tied embeddings, states. */
const MODELS = ["llama", "gpt-oss", "gemma3", "deepseek2", "mixtral-moe", "qwen35"];

/** Of an answer; a step of the emulation takes as long as hundreds on other devices. */
const MAX_TOKENS = BACKEND === "emulated" ? 8 : 24;

/** What an engine on a model answers, every bit of it. */
async function answers(path: string, options: EngineOptions): Promise<unknown[]> {
  const engine = await Engine.load(path, {
    device: BACKEND,
    threads: 1,
    logitsOutputs: 7,
    ...options,
  });
  const seen: unknown[] = [];
  try {
    for await (const { logits } of engine.evaluate(promptOf(20))) seen.push([...logits]);
    const sampling = { temperature: 0.8, seed: 7n, repetitionPenalty: 1.1 };
    for (const answers of [1, 3]) {
      const request = { prompt: promptOf(40, 1), maxTokens: MAX_TOKENS, topLogprobs: 2, sampling };
      const generations = engine.generateAll(new Array(answers).fill(request));
      for (const generation of generations) seen.push(await collect(generation));
    }
  } finally {
    await engine.close();
  }
  return seen;
}

for (const name of MODELS) {
  Deno.test(`${name} in a process of its own gives the bits that it gives without`, async () => {
    const path = golden(name);
    const expected = await answers(path, {});
    assertEquals(await answers(path, { deviceProcess: true }), expected);
    assert(JSON.stringify(expected).length > 1000);
  });
}

Deno.test("swapped KV blocks come back bit for bit through memory that both processes have", async () => {
  const small = { parallel: 4, kvBlocks: 6, contextTokens: 128 };
  const run = (options: EngineOptions) =>
    withEngine({ ...small, ...options }, async (engine) => {
      const requests = [0, 1, 2, 3].map((i) => asking(promptOf(30 + i, i), 60));
      const answered = await Promise.all(requests.map((one) => collect(engine.generate(one))));
      return { answered, preemptions: engine.status().preemptions };
    });
  const expected = await run({});
  const { answered, preemptions } = await run({ deviceProcess: true });
  assertEquals(answered, expected.answered);
  assert(preemptions > 0, "no sequence was preempted");
});

Deno.test("what the library refuses in its process is refused here, with its code and its words", async () => {
  const said = async (deviceProcess: boolean) => {
    const { library } = await (deviceProcess ? openDeviceProcess : openDevice)(BACKEND);
    const context = library.createContext({ threads: 1 });
    try {
      const arena = context.createArena(4096);
      const desc = { type: 0, n_experts: 1, rows: 64, columns: 64 };
      const failures = [
        () => library.createContext({ device: 7 }),
        () => library.device(7),
        () => context.createArena(2 ** 47),
        () => context.tensorBytes({ ...desc, type: 999 }),
        () => arena.upload(desc, new Uint8Array(64 * 64 * 4)),
        () => arena.upload(desc, new Uint8Array(5)),
        () => arena.uploadFile(desc, "/nowhere", 0),
        () => context.readTensor(3, 0, 1, 64),
        () => library.deviceState(7),
      ];
      const errors = [];
      for (const failure of failures) {
        const error = await assertRejects(async () => await failure(), M40Error);
        // How much memory is free is never the same.
        errors.push([error.code, error.message.replace(/of which \d+ /, "")]);
      }
      return errors;
    } finally {
      context.close();
      await library.close();
    }
  };
  const expected = await said(false);
  assertEquals(await said(true), expected);
  assertEquals(new Set(expected.map(([code]) => code)).size >= 3, true, JSON.stringify(expected));
});

Deno.test("a call between two steps that finds the process gone keeps no later one waiting, and the engine closes", async () => {
  await using engine = await loadEngine({ deviceProcess: true });
  const { kernels, program } = cardOf(engine);
  await collect(engine.generate(asking(promptOf(5), 2)));
  Deno.kill(kernels.processId!, "SIGKILL");
  for (let i = 0; i < 2; i++) {
    assertEquals((await assertRejects(() => program.executors(1), M40Error)).code, "device");
  }
  const { error } = await collect(engine.generate(asking(promptOf(5), 2)));
  assert(error instanceof M40Error && error.code === "device", `${error}`);
});
