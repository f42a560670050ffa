import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { openDevice } from "../../../engine/device/open.ts";
import { Engine, M40Error } from "../../../engine/mod.ts";
import { GOLDEN } from "../../fixtures/goldens.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";

// Two devices on one machine: which is taken, and that what happens to one is its own. Run by slow/emulated_test.ts.

const TWO = { M40_EMULATION_DEVICES: "2" };

async function tokensOf(engine: Engine): Promise<number[]> {
  const tokens: number[] = [];
  const request = { prompt: [3, 4, 5], maxTokens: 4, sampling: { temperature: 0 } };
  for await (const chunk of engine.generate(request)) {
    tokens.push(...chunk.tokens.map(({ token }) => token));
  }
  return tokens;
}

Deno.test("each device has memory of its own", async () => {
  const variables = { ...TWO, M40_EMULATION_MEMORY_BYTES: "1000000000,2000000000" };
  using _environment = new TemporaryEnvironment(variables);
  const { library, index } = openDevice("emulated:1");
  assertEquals(index, 1);
  const sizes = () => library.devices().map((one) => [one.memoryBytes, one.freeBytes]);
  assertEquals(sizes(), [[1e9, 1e9], [2e9, 2e9]]);
  const context = library.createContext({ device: 1 });
  context.createArena(1.5e9);
  assertEquals(sizes()[0], [1e9, 1e9]);
  const other = library.createContext({ device: 0 });
  const error = assertThrows(() => other.createArena(1.5e9), M40Error);
  assertEquals(error.code, "out_of_memory");
  other.close();
  context.close();
  assertEquals(sizes(), [[1e9, 1e9], [2e9, 2e9]]);
  await library.close();
  const missing = assertThrows(() => openDevice("emulated:2"), M40Error);
  const name = "(Emulated compute capability 5.2)";
  assertEquals(
    missing.message,
    `there is no device emulated:2; there is emulated:0 ${name}, emulated:1 ${name}`,
  );
});

const FAULTS: Record<string, string>[] = [
  { M40_EMULATION_FAIL_AFTER: "0,40" },
  { M40_EMULATION_HANG_IN: "1:norm" },
];
for (const fault of FAULTS) {
  Deno.test(`one of two devices fails, in a process of its own: ${JSON.stringify(fault)}`, async () => {
    using _environment = new TemporaryEnvironment({ ...TWO, ...fault });
    const load = (device: string) => Engine.load(GOLDEN, { device, deviceProcess: true });
    const [good, bad] = [await load("emulated:0"), await load("emulated:1")];
    try {
      const error = await assertRejects(() => tokensOf(bad), M40Error);
      assertEquals(error.code, "device");
      assertEquals((await tokensOf(good)).length, 4);
      assertEquals([typeof bad.status().failed, good.status().failed], ["string", undefined]);
    } finally {
      await Promise.all([good.close(), bad.close()]);
    }
  });
}
