import { assert, assertEquals, assertRejects } from "@std/assert";
import { isDeviceLoss } from "../../../engine/errors.ts";
import { Engine, type EngineOptions } from "../../../engine/mod.ts";
import { asking, collect, promptOf } from "../../fixtures/engine_fixture.ts";
import { freeBytes } from "../../fixtures/full_device.ts";
import { writeLargeProductsModel } from "../../fixtures/large_products_model.ts";
import { childrenOf, openDescriptors } from "../../fixtures/process_table.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// Two emulated cards with rows of one model each. Where one fails or hangs during a step, the other does not wait for
// it, and requests end with the name of the failed one. And what is left when the model is unloaded. Run by
// slow/emulated_test.ts.

const folder = await Deno.makeTempDir();
const MODEL = await writeLargeProductsModel(folder);
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const TWO = { M40_EMULATION_DEVICES: "2" };
const OPTIONS: EngineOptions = {
  ...{ device: "emulated:0,1", contextTokens: 128, parallel: 2, kvBlocks: 16 },
  split: "rows",
};

for (
  const [what, card, variables] of [
    ["fails", 1, { M40_EMULATION_FAIL_AFTER: "0,60" }],
    ["fails", 0, { M40_EMULATION_FAIL_AFTER: "60,0" }],
    // Some are done when the model is loaded.
    ["hangs in an exchange", 1, {
      ...{ M40_EMULATION_HANG_IN: "1:exchange_packets", M40_EMULATION_HANG_FROM: "20" },
    }],
    ["hangs in a product", 0, { M40_EMULATION_HANG_IN: "0:matmul" }],
  ] as const
) {
  Deno.test(`card ${card} of two ${what}: that is the model's loss, with its name, and the other one waits for nobody`, async () => {
    using _environment = new TemporaryEnvironment({ ...TWO, ...variables });
    const engine = await Engine.load(MODEL, { ...OPTIONS, deviceProcess: true });
    try {
      const begun = performance.now();
      for (let i = 0; i < 2; i++) {
        let failure: unknown;
        try {
          failure = (await collect(engine.generate(asking(promptOf(9), 20)))).error;
        } catch (error) {
          failure = error;
        }
        assert(isDeviceLoss(failure), String(failure));
        assertEquals(failure.message.split(": ")[0], `emulated:${card}`, failure.message);
      }
      // By itself it would wait for 20 seconds.
      assert(performance.now() - begun < 15_000);
    } finally {
      await engine.close();
    }
    assertEquals(childrenOf(), []);
  });
}

Deno.test("a card that hangs in the exchange that is tried at load: loading fails, with its name, and leaves no process", async () => {
  const variables = { ...TWO, M40_EMULATION_HANG_IN: "1:exchange_packets" };
  using _environment = new TemporaryEnvironment(variables);
  const failure = await assertRejects(() =>
    Engine.load(MODEL, { ...OPTIONS, deviceProcess: true })
  );
  assert(isDeviceLoss(failure), String(failure));
  assertEquals(failure.message.split(": ")[0], "emulated:1", failure.message);
  assertEquals(childrenOf(), []);
});

Deno.test("loaded again and again, a model with split rows takes of each card what is planned, and leaves nothing", async () => {
  using _environment = new TemporaryEnvironment({
    ...TWO,
    M40_EMULATION_MEMORY_BYTES: "400000000,500000000",
  });
  const before = await freeBytes();
  const descriptors: number[] = [];
  for (let i = 0; i < 3; i++) {
    const engine = await Engine.load(MODEL, OPTIONS);
    const taken = (await freeBytes()).map((bytes, card) => before[card] - bytes);
    assertEquals(taken, engine.cards.map(({ memory }) => memory.totalBytes));
    const { tokens, error } = await collect(engine.generate(asking(promptOf(40), 10)));
    assertEquals([tokens.length, error], [10, undefined]);
    await engine.close();
    assertEquals(await freeBytes(), before);
    descriptors.push(openDescriptors());
  }
  assertEquals(descriptors[2], descriptors[1]);
});
