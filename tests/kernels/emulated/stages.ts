import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { Engine, M40Error } from "../../../engine/mod.ts";
import { withEnvironment } from "../../fixtures/emulated_environment.ts";
import { asking, collect, promptOf } from "../../fixtures/engine_fixture.ts";
import { freeBytes, takeTheRest } from "../../fixtures/full_device.ts";
import { GOLDEN, golden } from "../../fixtures/goldens.ts";
import { childrenOf, openDescriptors } from "../../fixtures/process_table.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// What can go wrong on one of several devices that a model's layers are on. Run by slow/emulated_test.ts: only emulated
// devices can be given little memory, be made to fail and hang, and count their allocations.

const TWO = { M40_EMULATION_DEVICES: "2" };
const DEVICE = "emulated:0,1";
const OPTIONS = { device: DEVICE, contextTokens: 128, parallel: 2 };

Deno.test("weights, cache and buffers of a part are on its card alone; unloading and loading again leaves nothing", async () => {
  const variables = { ...TWO, M40_EMULATION_MEMORY_BYTES: "400000000,500000000" };
  using _environment = new TemporaryEnvironment(variables);
  const before = await freeBytes();
  assertEquals(before, [4e8, 5e8]);
  for (let i = 0; i < 3; i++) {
    const engine = await Engine.load(golden("gpt-oss"), { ...OPTIONS, kvBlocks: 40 });
    const taken = (await freeBytes()).map((bytes, card) => before[card] - bytes);
    const planned = engine.cards.map(({ memory }) => memory.totalBytes);
    assertEquals(taken, planned);
    assertEquals(
      engine.cards.map(({ memory: { totalBytes, leftBytes } }) => totalBytes + leftBytes),
      before,
    );
    const { tokens, error } = await collect(engine.generate(asking(promptOf(40), 10)));
    assertEquals([tokens.length, error], [10, undefined]);
    await engine.close();
    assertEquals(await freeBytes(), before);
  }
});

Deno.test("loaded again and again in processes of its own, a model leaves no process and no descriptor", async () => {
  using _environment = new TemporaryEnvironment(TWO);
  const descriptors: number[] = [];
  for (let i = 0; i < 4; i++) {
    const engine = await Engine.load(GOLDEN, { ...OPTIONS, deviceProcess: true });
    assertEquals(childrenOf().length, 2);
    const { error } = await collect(engine.generate(asking(promptOf(9), 4)));
    assertEquals(error, undefined);
    await engine.close();
    assertEquals(childrenOf(), []);
    descriptors.push(openDescriptors());
  }
  // The first time the runtime opens some of its own.
  assertEquals(descriptors.slice(2), [descriptors[1], descriptors[1]]);
});

Deno.test("a card with too little memory is named; only naming the devices leaves it out", async () => {
  using _environment = new TemporaryEnvironment({
    ...TWO,
    M40_EMULATION_MEMORY_BYTES: "900000000,268500000",
  });
  for (const deviceProcess of [false, true]) {
    const error = await assertRejects(
      () => Engine.load(GOLDEN, { ...OPTIONS, deviceProcess }),
      M40Error,
    );
    assertEquals(error.code, "out_of_memory");
    assertMatch(error.message, /emulated:1 has 0\.00 GiB free, room for none of them; each card/);
    assertEquals(childrenOf(), []);
  }
  const alone = await Engine.load(GOLDEN, { ...OPTIONS, device: "emulated:0" });
  await alone.close();
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
  const late = await assertRejects(
    () =>
      Engine.load(GOLDEN, {
        ...OPTIONS,
        // Called when the first tensor is there: the cache comes after all of them.
        onProgress: () => {
          if (full) return;
          full = true;
          takeTheRest(library, others, 1);
        },
      }),
    M40Error,
  );
  assertEquals(late.code, "out_of_memory");
  assertMatch(late.message, /^emulated:1: .*memory/);
  others.close();
  assertEquals(await freeBytes(), before);
  await library.close();
});

const FAULTS: [title: string, variables: Record<string, string>, reason: RegExp][] = [
  ["is lost", { M40_EMULATION_FAIL_AFTER: "0,200" }, /^emulated:1: .*cudaErrorLaunchFailure/],
  ["hangs", { M40_EMULATION_HANG_IN: "1:norm" }, /^emulated:1: .*the device hangs/],
];
for (const [title, variables, reason] of FAULTS) {
  Deno.test(`the second card ${title} during steps: all requests fail, and the next engine works`, async () => {
    const options = { ...OPTIONS, deviceProcess: true };
    await withEnvironment({ ...TWO, ...variables }, async () => {
      const engine = await Engine.load(GOLDEN, options);
      const answers = [0, 1, 2].map((i) => collect(engine.generate(asking(promptOf(9, i), 90))));
      for (const { error } of await Promise.all(answers)) {
        assert(error instanceof M40Error, String(error));
        assertEquals(error.code, "device");
        assertMatch(error.message, reason);
      }
      assertMatch(engine.status().failed!, reason);
      await engine.idle();
      assertEquals(engine.status().usedKvBlocks, 0);
      await engine.close();
    });
    assertEquals(childrenOf(), []);
    await withEnvironment(TWO, async () => {
      const engine = await Engine.load(GOLDEN, options);
      const { tokens, error } = await collect(engine.generate(asking(promptOf(4), 8)));
      assertEquals([tokens.length, error], [8, undefined]);
      await engine.close();
    });
    assertEquals(childrenOf(), []);
  });
}

Deno.test("a device that is not there is named, and the one that is opened is closed", async () => {
  using _environment = new TemporaryEnvironment(TWO);
  for (const deviceProcess of [false, true]) {
    const error = await assertRejects(
      () => Engine.load(GOLDEN, { ...OPTIONS, device: "emulated:0,5", deviceProcess }),
      M40Error,
    );
    assertMatch(error.message, /there is no device emulated:5; there is emulated:0/);
    assertEquals(childrenOf(), []);
  }
});
