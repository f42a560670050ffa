import { assertEquals } from "@std/assert";
import { KvBlockManager } from "./kv_block_manager.ts";
import { ROOT_PREFIX } from "./prefix_tree.ts";
import { SlotManager } from "./slot_manager.ts";

const KV_BLOCK_TOKENS = 4;
const TOKENS = Array.from({ length: 41 }, (_, i) => i);

/** Keeps a state without references, and notes when it is evicted. */
function keep(slots: SlotManager, gone: number[], passing = false): number {
  const slot = slots.allocate()!;
  assertEquals(slots.keep(slot, { passing, onForget: () => gone.push(slot) }), true);
  slots.release([slot]);
  return slot;
}

Deno.test("a state that others go on from, or that is kept, is not written", () => {
  const slots = new SlotManager(2);
  const slot = slots.allocate()!;
  assertEquals(slots.isWritable(slot), true);
  slots.share([slot]);
  assertEquals([slots.isWritable(slot), slots.makeWritable(slot)], [false, false]);
  slots.release([slot]);
  const gone: number[] = [];
  assertEquals(slots.keep(slot, { passing: false, onForget: () => gone.push(slot) }), true);
  assertEquals(slots.isWritable(slot), false);
  // Its one holder may do without.
  assertEquals([slots.makeWritable(slot), gone], [true, [slot]]);
  slots.release([slot]);
  assertEquals([slots.free, slots.idleSlots], [2, 0]);
});

Deno.test("kept states go when their slots are needed: inside prompts first, then least recently used", () => {
  const slots = new SlotManager(4);
  const gone: number[] = [];
  const first = keep(slots, gone);
  const second = keep(slots, gone);
  const passing = keep(slots, gone, true);
  // A sequence starts from the first, and is done.
  slots.share([first]);
  slots.release([first]);
  const taken = [slots.allocate(), slots.allocate()];
  assertEquals(gone, [passing]);
  taken.push(slots.allocate());
  assertEquals(gone, [passing, second]);
  slots.share([first]);
  assertEquals(slots.allocate(), undefined);
  slots.release([first]);
  taken.push(slots.allocate());
  assertEquals(gone, [passing, second, first]);
  assertEquals(slots.free, 0);
  for (const slot of taken) slots.release([slot!]);
  assertEquals(slots.free, 4);
});

Deno.test("a state inside a prompt is not kept where one at a prompt's end would be evicted for it", () => {
  const slots = new SlotManager(3);
  const gone: number[] = [];
  const own = slots.allocate()!;
  keep(slots, gone);
  const state = { passing: true, onForget: () => gone.push(own) };
  const other = slots.allocate()!;
  assertEquals(slots.keep(own, state), false);
  slots.release([other]);
  assertEquals(slots.keep(own, state), true);
  assertEquals(gone, []);
});

Deno.test("a referenced state that is let go stays kept", () => {
  const slots = new SlotManager(1);
  const gone: number[] = [];
  const slot = keep(slots, gone);
  slots.share([slot]);
  slots.letGo(slot);
  assertEquals(gone, []);
  slots.release([slot]);
  slots.letGo(slot);
  assertEquals([gone, slots.free, slots.idleSlots], [[slot], 1, 0]);
});

Deno.test("a prompt takes over KV blocks up to the last one after which there is a state", () => {
  const slots = new SlotManager(3);
  const kvBlockManager = new KvBlockManager(10, KV_BLOCK_TOKENS, undefined, slots);
  const kvBlocks = kvBlockManager.allocate(10)!;
  let prefix = ROOT_PREFIX;
  const prefixes = kvBlocks.map((kvBlock, i) =>
    prefix = kvBlockManager.publish(
      [kvBlock],
      prefix,
      TOKENS,
      i * KV_BLOCK_TOKENS,
      KV_BLOCK_TOKENS,
    )!
  );
  kvBlockManager.release(kvBlocks);
  assertEquals(kvBlockManager.match(TOKENS).length, 0);
  for (const length of [3, 7]) {
    const slot = slots.allocate()!;
    assertEquals(kvBlockManager.keepState(prefixes[length - 1], slot, false), true);
    assertEquals(kvBlockManager.keepState(prefixes[length - 1], slot, false), false);
    slots.release([slot]);
  }
  assertEquals(kvBlockManager.match(TOKENS).length, 7);
  assertEquals(kvBlockManager.match(TOKENS.slice(0, 28)).length, 3);
  // The state of the shorter one was used longer ago.
  const taken = [slots.allocate(), slots.allocate()];
  assertEquals(kvBlockManager.match(TOKENS.slice(0, 28)).length, 0);
  assertEquals(kvBlockManager.match(TOKENS).length, 7);
  // A prefix is known as long as its state is kept, also when its KV blocks are gone.
  kvBlockManager.release(kvBlockManager.allocate(10)!);
  assertEquals(kvBlockManager.match(TOKENS).length, 0);
  assertEquals(prefixes[6].slot !== undefined, true);
  slots.allocate();
  assertEquals(prefixes[6].slot, undefined);
  assertEquals(taken.includes(undefined), false);
});
