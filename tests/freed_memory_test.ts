import { assertEquals } from "@std/assert";
import { FreedMemory } from "../engine/device/freed_memory.ts";

const MIB = 2 ** 20;
/** The memory of a process: what is resident, and what of it JavaScript holds. */
const usage = (rss: number, heapTotal: number, external: number) => ({
  rss: rss * MIB,
  heapTotal: heapTotal * MIB,
  external: external * MIB,
});

Deno.test("memory that is freed and still resident is given back, memory in use is not", () => {
  const memory = new FreedMemory();
  assertEquals(memory.isWorthGiving(usage(160, 40, 30)), false);
  // A burst of bodies, while they are held.
  assertEquals(memory.isWorthGiving(usage(500, 60, 330)), false);
  // They are gone, and the process is as large as before.
  assertEquals(memory.isWorthGiving(usage(480, 40, 30)), true);
  memory.given(usage(170, 40, 30));
  assertEquals(memory.isWorthGiving(usage(170, 40, 30)), false);
  assertEquals(memory.isWorthGiving(usage(300, 40, 30)), true);
});

Deno.test("what could not be given back is in use: it is not tried again and again", () => {
  const memory = new FreedMemory();
  assertEquals(memory.isWorthGiving(usage(100, 20, 10)), false);
  assertEquals(memory.isWorthGiving(usage(400, 20, 10)), true);
  memory.given(usage(400, 20, 10));
  assertEquals(memory.isWorthGiving(usage(430, 20, 10)), false);
});
