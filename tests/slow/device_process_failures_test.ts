import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import type { KernelLibrary } from "../../engine/device/library.ts";
import { Engine, M40Error } from "../../engine/mod.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { asking, cardOf, collect, promptOf } from "../fixtures/engine_fixture.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { awaitsSignal, childrenOf, endOf, lives } from "../fixtures/process_table.ts";
import { until } from "../fixtures/waiting.ts";

// The device's process is ended, stopped or asked to end at every moment: what was asked of it fails with the
// reason, and nothing of it is left.

const OPTIONS = { device: BACKEND, threads: 1, deviceProcess: true };

const KILLED = /the device's process was ended by signal 9 \(SIGKILL, which the system sends/;

/** An engine whose device is in a process, and that process. */
async function load(): Promise<{ engine: Engine; kernels: KernelLibrary; process: number }> {
  const engine = await Engine.load(GOLDEN, OPTIONS);
  const { kernels } = cardOf(engine);
  return { engine, kernels, process: kernels.processId! };
}

function assertLost(error: unknown, reason: RegExp): void {
  assert(error instanceof M40Error, String(error));
  assertEquals(error.code, "device");
  assertMatch(error.message, reason);
}

/** Closes an engine whose process is gone, and looks at what is left of it. */
async function assertClosed(engine: Engine, process: number): Promise<void> {
  await engine.close();
  assertEquals(childrenOf().includes(process), false, "a zombie is left");
}

Deno.test("a process that is killed while nothing is asked of it is known to be gone at once", async () => {
  const { engine, process } = await load();
  assertEquals(engine.status().failed, undefined);
  Deno.kill(process, "SIGKILL");
  await endOf(process);
  // The thread that waits for it has a little to do still.
  await until("its end is known", () => engine.status().failed !== undefined);
  assertMatch(engine.status().failed!, KILLED);
  const { error } = await collect(engine.generate(asking(promptOf(4), 4)));
  assertLost(error, KILLED);
  assertLost(await assertRejects(() => engine.deviceState()), KILLED);
  assertLost(await assertRejects(() => engine.evaluate([1, 2]).next()), KILLED);
  await assertClosed(engine, process);
});

const SIGNALS: [Deno.Signal, RegExp][] = [
  ["SIGKILL", /^a (step|run): the device's process was ended by signal 9 \(SIGKILL/],
  ["SIGSEGV", /^a (step|run): the device's process was ended by signal 11 \(SIGSEGV\)$/],
  ["SIGABRT", /^a (step|run): the device's process was ended by signal 6 \(SIGABRT\)$/],
];
for (const [signal, reason] of SIGNALS) {
  Deno.test(`${signal} in the middle of a step fails its requests, and later ones`, async () => {
    const { engine, process } = await load();
    const before = await collect(engine.generate(asking(promptOf(4), 4)));
    assertEquals(before.tokens.length, 4);
    // The first that no memory access has caused is taken by the runtime's own handler.
    if (signal === "SIGSEGV") {
      Deno.kill(process, signal);
      await until("the first is taken", () => !awaitsSignal(process));
    }
    // What is asked of it now is under way until it is ended.
    Deno.kill(process, "SIGSTOP");
    const running = [0, 1, 2].map((i) => collect(engine.generate(asking(promptOf(9, i), 20))));
    await new Promise((resolve) => setTimeout(resolve, 50));
    Deno.kill(process, signal);
    // A process that is stopped ends by this one all the same, and may be gone.
    if (signal !== "SIGKILL") Deno.kill(process, "SIGCONT");
    for (const { error } of await Promise.all(running)) assertLost(error, reason);
    assertLost(assertThrows(() => engine.generate(asking([1], 1))), reason);
    await assertClosed(engine, process);
  });
}

Deno.test("SIGKILL during a run fails it, and what it sampled before is kept", async () => {
  const request = asking(promptOf(4), 400);
  for (let i = 0; i < 20; i++) {
    const { engine, process } = await load();
    const expected = (await collect(engine.generate(request))).tokens;
    const { runs } = engine.status();
    const got: number[] = [];
    let killed = false;
    const error = await (async () => {
      for await (const { tokens } of engine.generate(request)) {
        got.push(...tokens.map(({ token }) => token));
        // The first was a prompt's. Tokens that came before the end are still delivered after it.
        if (killed || engine.status().runs === runs || got.length < 2) continue;
        killed = true;
        Deno.kill(process, "SIGKILL");
      }
    })().catch((error) => error);
    // Where this thread had to wait for a processor, all may have been sampled.
    const hit = error !== undefined && got.length < expected.length;
    if (hit) {
      assertLost(error, /^a run: the device's process was ended by signal 9/);
      assertEquals(got, expected.slice(0, got.length));
      assert(got.length > 1);
    }
    await assertClosed(engine, process);
    if (hit) return;
  }
  throw new Error("no run was under way when its process was killed");
});

Deno.test("pages that are on their way when the process is killed fail, and host memory can be read still", async () => {
  const { engine, process } = await load();
  const { context, cache } = cardOf(engine);
  const { kvBlockBytes: pageBytes } = context.cacheBytes(cache.desc);
  const memory = context.hostMemory(2 * pageBytes);
  memory.fill(7);
  await cache.restore("kvBlocks", Uint32Array.of(0, 1), memory);
  memory.fill(0);
  await cache.save("kvBlocks", Uint32Array.of(1, 0), memory);
  assertEquals(memory.every((byte) => byte === 7), true);
  Deno.kill(process, "SIGSTOP");
  const saving = cache.save("kvBlocks", Uint32Array.of(0, 1), memory);
  await new Promise((resolve) => setTimeout(resolve, 20));
  Deno.kill(process, "SIGKILL");
  assertLost(
    await assertRejects(() => saving),
    /^KV blocks of the KV cache: the device's process was/,
  );
  assertEquals(memory[pageBytes], 7);
  await assertClosed(engine, process);
});

Deno.test("a call that waits in this thread returns when the process is killed", async () => {
  const { engine, process } = await load();
  Deno.kill(process, "SIGSTOP");
  const killer = new Deno.Command("sh", { args: ["-c", `sleep 0.3; kill -9 ${process}`] }).spawn();
  const error = await assertRejects(async () => {
    await Promise.resolve();
    cardOf(engine).context.tensorBytes({ type: 0, n_experts: 1, rows: 2, columns: 64 });
  });
  assertLost(error, /^a tensor: the device's process was ended by signal 9/);
  await killer.status;
  await assertClosed(engine, process);
});

Deno.test("a process that is killed while it loads a model fails the load", async () => {
  const children = childrenOf();
  const error = await assertRejects(() =>
    Engine.load(GOLDEN, {
      ...OPTIONS,
      onProgress: () => {
        const [process] = childrenOf().filter((one) => !children.includes(one));
        if (process !== undefined) Deno.kill(process, "SIGKILL");
      },
    })
  );
  assertLost(error, KILLED);
  assertEquals(childrenOf(), children);
});

Deno.test("what a terminal and a service manager send to all processes leaves the device's alone", async () => {
  const { engine, process } = await load();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const) {
    Deno.kill(process, signal);
  }
  const { tokens, error } = await collect(engine.generate(asking(promptOf(4), 8)));
  assertEquals([tokens.length, error], [8, undefined]);
  await assertClosed(engine, process);
  assertEquals(lives(process), false);
});

Deno.test("a process that does not end when asked to is ended by force", async () => {
  const { engine, process } = await load();
  Deno.kill(process, "SIGSTOP");
  await assertClosed(engine, process);
});

Deno.test("a program that is killed takes the device's process with it", async () => {
  const script = `
    const { Engine } = await import(${JSON.stringify(import.meta.resolve("../../engine/mod.ts"))});
    const options = { device: ${JSON.stringify(BACKEND)}, threads: 1, deviceProcess: true };
    const engine = await Engine.load(${JSON.stringify(GOLDEN)}, options);
    const sampling = { temperature: 0, logitBias: new Map([[2, -100]]) };
    for (;;) {
      for await (const _ of engine.generate({ prompt: [1, 2], maxTokens: 100, sampling })) {
        console.log(engine.idlest.placed.cards[0].kernels.processId);
      }
    }`;
  const config = new URL("../../deno.json", import.meta.url).pathname;
  const program = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", config, "--ext=ts", "-"],
    stdin: "piped",
    stdout: "piped",
    env: { NO_COLOR: "1" },
  }).spawn();
  const writer = program.stdin.getWriter();
  await writer.write(new TextEncoder().encode(script));
  await writer.close();
  const reader = program.stdout.getReader();
  const { value } = await reader.read();
  const process = parseInt(new TextDecoder().decode(value));
  assert(lives(process));
  program.kill("SIGKILL");
  await endOf(process);
  await reader.cancel();
  await program.status;
});
