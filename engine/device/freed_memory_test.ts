import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { FreedMemory } from "./freed_memory.ts";
import { collectGarbage } from "./garbage.ts";

const MIB = 2 ** 20;

Deno.test("memory of a burst is given back soon after it, however long the burst holds it", () => {
  const memory = new FreedMemory();
  assertEquals(memory.isWorthGiving(160 * MIB, 0), false);
  for (let now = 5000; now <= 60_000; now += 5000) {
    assertEquals(memory.isWorthGiving(500 * MIB, now), true);
    memory.given(500 * MIB, 500 * MIB);
    assertEquals(memory.isWorthGiving(500 * MIB, now + 2500), false);
  }
  // The burst is over: that shows only when its memory is given back.
  assertEquals(memory.isWorthGiving(500 * MIB, 65_000), true);
  memory.given(500 * MIB, 170 * MIB);
  assertEquals(memory.isWorthGiving(170 * MIB, 70_000), false);
});

Deno.test("what stays in use is looked for rarely, and often again once some of it is freed", () => {
  const memory = new FreedMemory();
  assertEquals(memory.isWorthGiving(100 * MIB, 0), false);
  let now = 5000;
  for (let i = 0; i < 24; i++, now += 5000) {
    assertEquals(memory.isWorthGiving(300 * MIB, now), true);
    memory.given(300 * MIB, 290 * MIB);
  }
  assertEquals(memory.isWorthGiving(300 * MIB, now), false);
  now += 55_000;
  assertEquals(memory.isWorthGiving(300 * MIB, now), true);
  memory.given(300 * MIB, 250 * MIB);
  assertEquals(memory.isWorthGiving(300 * MIB, now + 5000), true);
});

Deno.test("a little is given back once a minute, and at once after a burst", () => {
  const memory = new FreedMemory();
  assertEquals(memory.isWorthGiving(100 * MIB, 0), false);
  assertEquals(memory.isWorthGiving(116 * MIB, 500), false);
  assertEquals(memory.isWorthGiving(130 * MIB, 1000), true);
  memory.given(130 * MIB, 130 * MIB);
  assertEquals(memory.isWorthGiving(130 * MIB, 60_000), false);
  assertEquals(memory.isWorthGiving(130 * MIB, 61_000), true);
  memory.given(130 * MIB, 101 * MIB);
  assertEquals(memory.isWorthGiving(300 * MIB, 66_000), true);
  memory.given(300 * MIB, 130 * MIB);
  assertEquals(memory.isWorthGiving(130 * MIB, 71_000), true);
});

/** Makes buffers that nobody holds, in objects of the heap's old part as those of a burst are. */
async function leaveGarbage(): Promise<WeakRef<Uint8Array>[]> {
  const held = Array.from({ length: 1000 }, () => new Uint8Array(16 * 1024));
  const known = held.map((buffer) => new WeakRef(buffer));
  await collectGarbage();
  // They are held up to here.
  assertEquals(held.filter((buffer) => buffer.length > 0).length, 1000);
  return known;
}

Deno.test("garbage is collected though nothing more is allocated", async () => {
  // Otherwise nothing would keep the event loop going.
  const timer = setInterval(() => {}, 60_000);
  try {
    const known = await leaveGarbage();
    await collectGarbage();
    assertEquals(known.filter((buffer) => buffer.deref() !== undefined).length, 0);
  } finally {
    clearInterval(timer);
  }
});

Deno.test(
  "a process is as small after a burst as before",
  { ignore: Deno.build.os !== "linux" },
  async () => {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        fromFileUrl(new URL("../../tests/fixtures/memory_burst.ts", import.meta.url)),
      ],
    }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    const { first, held, again } = JSON.parse(new TextDecoder().decode(stdout));
    assert(held > first + 200 * MIB, `${held} bytes while the burst is held, ${first} before`);
    assert(again < first + 16 * MIB, `${again} bytes after the second burst, ${first} after one`);
  },
);
