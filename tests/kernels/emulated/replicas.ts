import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Engine, M40Error } from "../../../engine/mod.ts";
import { replicasOf } from "../../fixtures/card_replicas.ts";
import { Home, startServe, TINY } from "../../fixtures/cli_program.ts";
import {
  sanitizerEnvironment,
  takeEmulatedForCuda,
  withEnvironment,
} from "../../fixtures/emulated_environment.ts";
import { asking, collect, promptOf } from "../../fixtures/engine_fixture.ts";
import { freeBytes, takeTheRest } from "../../fixtures/full_device.ts";
import { GOLDEN } from "../../fixtures/goldens.ts";
import { childrenOf, endOf } from "../../fixtures/process_table.ts";
import { NO_END } from "../../fixtures/server_fixture.ts";
import { answersTo } from "../../fixtures/staged_engines.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";
import { until } from "../../fixtures/waiting.ts";

// What can go wrong on one of the cards that a model is there once on each of. Run by slow/emulated_test.ts: only
// emulated devices can be given little memory, or made to fail and hang.

const TWO = { M40_EMULATION_DEVICES: "2" };
const OPTIONS = { device: "emulated:0,1", replicas: true, contextTokens: 128, parallel: 2 };
const REQUESTS = [0, 1, 2, 3, 4].map((seed) => asking(promptOf(9 + 11 * seed, seed), 12));

/** What a card alone answers. */
async function alone() {
  await using engine = await Engine.load(GOLDEN, {
    ...OPTIONS,
    device: "emulated:0",
    replicas: false,
  });
  return await answersTo(engine, REQUESTS);
}

Deno.test("each card has all of the model, answers alike, and has all of its memory back", async () => {
  using _environment = new TemporaryEnvironment({
    ...TWO,
    M40_EMULATION_MEMORY_BYTES: "400000000,500000000",
  });
  const expected = await alone();
  const before = await freeBytes();
  const engine = await Engine.load(GOLDEN, { ...OPTIONS, kvBlocks: 12 });
  const taken = (await freeBytes()).map((bytes, card) => before[card] - bytes);
  assertEquals(taken, engine.cards.map(({ memory }) => memory.totalBytes));
  assertEquals(engine.plan.totalBytes, taken[0] + taken[1]);
  assertEquals(await answersTo(engine, REQUESTS), expected);
  assert(replicasOf(engine).every(({ scheduler }) => scheduler.counts.steps > 0));
  await engine.close();
  assertEquals(await freeBytes(), before);
});

Deno.test("a card with too little memory is named, and nothing is loaded on the other", async () => {
  using _environment = new TemporaryEnvironment({
    ...TWO,
    M40_EMULATION_MEMORY_BYTES: "900000000,268500000",
  });
  const before = await freeBytes();
  for (const deviceProcess of [false, true]) {
    const error = await assertRejects(
      () => Engine.load(GOLDEN, { ...OPTIONS, deviceProcess }),
      M40Error,
    );
    assertEquals(error.code, "out_of_memory");
    assertMatch(error.message, /^emulated:1: /);
    assertEquals([childrenOf(), await freeBytes()], [[], before]);
  }
});

Deno.test("a card that loses memory to another program after the plan fails the load with its name, and all is given back", async () => {
  using _environment = new TemporaryEnvironment({
    ...TWO,
    M40_EMULATION_MEMORY_BYTES: "400000000",
  });
  const { openDevice } = await import("../../../engine/device/open.ts");
  const { library } = openDevice("emulated");
  const before = await freeBytes();
  const others = library.createContext({ device: 1 });
  let full = false;
  const onProgress = () => {
    if (full) return;
    full = true;
    takeTheRest(library, others, 1);
  };
  const error = await assertRejects(
    () => Engine.load(GOLDEN, { ...OPTIONS, onProgress }),
    M40Error,
  );
  assertEquals(error.code, "out_of_memory");
  assertMatch(error.message, /^emulated:1: .*memory/);
  others.close();
  assertEquals(await freeBytes(), before);
  await library.close();
});

const FAULTS: [title: string, variables: Record<string, string>, reason: RegExp][] = [
  ["is lost", { M40_EMULATION_FAIL_AFTER: "0,200" }, /emulated:1: .*cudaErrorLaunchFailure/],
  ["hangs", { M40_EMULATION_HANG_IN: "1:norm" }, /emulated:1: .*the device hangs/],
];
for (const [title, variables, reason] of FAULTS) {
  Deno.test(`the second card ${title} whenever it computes: the other answers all, and it is left alone for a while`, async () => {
    let expected: unknown;
    await withEnvironment(TWO, async () => void (expected = await alone()));
    await withEnvironment({ ...TWO, ...variables }, async () => {
      const said: string[] = [];
      const onReplica = (text: string) => said.push(text);
      const engine = await Engine.load(GOLDEN, { ...OPTIONS, deviceProcess: true, onReplica });
      const losses = () => engine.replicas![1].losses;
      // It comes back in between, and may be given more before all are answered.
      while (losses() < 3) {
        await until("it is ready again", () => replicasOf(engine).length === 2);
        const before = losses();
        assertEquals(await answersTo(engine, REQUESTS), expected);
        assert(losses() > before);
        assert(said.some((text) => reason.test(text)), said.join("\n"));
      }
      assertEquals([engine.replicas![1].state, engine.status().failed], ["lost", undefined]);
      assertEquals(engine.status().lostReplicas, ["emulated:1"]);
      assertEquals(await answersTo(engine, REQUESTS), expected);
      assertEquals(losses(), 3);
      // It does not wait for the minute.
      await engine.close();
    });
    assertEquals(childrenOf(), []);
  });
}

Deno.test("a card that has no memory any more when it is to come back stays away, and the others continue", async () => {
  using _environment = new TemporaryEnvironment({
    ...TWO,
    M40_EMULATION_MEMORY_BYTES: "400000000,400000000",
  });
  const said: string[] = [];
  const onReplica = (text: string) => said.push(text);
  const engine = await Engine.load(GOLDEN, { ...OPTIONS, deviceProcess: true, onReplica });
  const [, process] = replicasOf(engine).map(({ placed }) => placed.cards[0].kernels.processId!);
  await withEnvironment({ M40_EMULATION_MEMORY_BYTES: "400000000,268500000" }, async () => {
    Deno.kill(process, "SIGKILL");
    await until("its loss is noticed", () => engine.status().lostReplicas!.length > 0);
    await until("it cannot be loaded", () => said.length > 1);
    assertMatch(said[1], /^The replica on emulated:1 cannot be loaded again.*GiB/);
    assertMatch(engine.replicas![1].reason!, /GiB/);
    const { tokens, error } = await collect(engine.generate(asking(promptOf(9), 8)));
    assertEquals([tokens.length, error], [8, undefined]);
  });
  await until("there is memory again", () => replicasOf(engine).length === 2);
  await engine.close();
  assertEquals(childrenOf(), []);
});

// The last: it puts the emulated library in the GPU's library's place.
Deno.test("m40 serve --replicas says what is on each card, when one is lost, and when it is ready again", async () => {
  await takeEmulatedForCuda();
  await using home = await Home.make();
  const env = {
    ...sanitizerEnvironment(),
    M40_EMULATION_DEVICES: "2",
    M40_KERNELS: Deno.env.get("M40_KERNELS")!,
  };
  const server = await startServe(
    home,
    ["--model", TINY, "--device", "cuda:0,1", "--replicas", "--port", "0", "--ctx", "128"],
    env,
  );
  const { child, output, before, errors } = server;
  const card = (name: string) =>
    `Device +${name}, Emulated .*: a replica, .*weights 921\\.3 KiB.*\\n`;
  assertMatch(before, new RegExp(card("cuda:0") + card("cuda:1") + "Memory +.*weights 1\\.8 MiB"));
  const body = { model: "llama", prompt: "hello", max_tokens: 5, ...NO_END };
  const ask = async () => {
    const response = await server.post("/v1/completions", body);
    assertEquals([response.status, (await response.json()).usage.completion_tokens], [200, 5]);
  };
  await ask();
  const [process] = childrenOf(child.pid);
  Deno.kill(process, "SIGKILL");
  await endOf(process);
  await ask();
  let lost: number | undefined = 1;
  const start = performance.now();
  while (lost !== undefined) {
    assert(performance.now() - start < 60_000, "it is not there again");
    ({ lost_replicas: lost } = await (await fetch(`${server.url}/ready`)).json());
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.kill("SIGTERM");
  assertMatch(await output.rest(), /Closed\.\n$/);
  assertEquals((await child.status).code, 0);
  assertMatch(
    await errors,
    /^A replica was lost, (cuda:\d): .*signal 9.* 1 of 2 go on; it is loaded again\.\nThe replica on \1 is ready again\.\n$/,
  );
});
