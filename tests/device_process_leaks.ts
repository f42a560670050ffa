import { assertEquals, assertLess } from "@std/assert";
import { Engine } from "../engine/mod.ts";
import { BACKEND } from "./device_harness.ts";
import { asking, collect, GOLDEN, promptOf } from "./engine_fixture.ts";
import { childrenOf, openDescriptors } from "./process_table.ts";

// What a device's process takes of the process that has it is given back: counted, so in a process of its own
// (process_leaks_test.ts, slow/emulated_test.ts).

const OPTIONS = { device: BACKEND, threads: 1, deviceProcess: true };

Deno.test("loading and closing leave no descriptor, process or memory behind", async () => {
  const children = childrenOf();
  const cycle = async () => {
    const engine = await Engine.load(GOLDEN, OPTIONS);
    await collect(engine.generate(asking(promptOf(4), 2)));
    await engine.close();
  };
  const mappings = () => Deno.readTextFileSync("/proc/self/maps").match(/memfd:m40/g)?.length ?? 0;
  for (let i = 0; i < 3; i++) await cycle();
  const descriptors = openDescriptors();
  const { rss } = Deno.memoryUsage();
  for (let i = 0; i < 20; i++) await cycle();
  assertEquals([openDescriptors(), childrenOf(), mappings()], [descriptors, children, 0]);
  // The address sanitizer keeps what was freed, up to 256 MiB.
  const kept = /asan/.test(Deno.env.get("LD_PRELOAD") ?? "") ? 256 : 0;
  assertLess(Deno.memoryUsage().rss - rss, (60 + kept) * 2 ** 20);
});
