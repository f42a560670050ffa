import { assertEquals } from "@std/assert";
import { Waiting } from "../parallel/replicas/waiting.ts";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { KvBlockMoves } from "./kv_blocks/kv_block_moves.ts";
import { noCounts } from "./report.ts";
import { Roster } from "./sequences/roster.ts";
import type { Sequence } from "./sequences/sequence.ts";
import { NothingMoves, sequence } from "../../tests/fixtures/timed_device.ts";
import { SlotManager } from "./kv_blocks/slot_manager.ts";
import { States } from "./kv_blocks/states.ts";

// What a sequence keeps for others with the same prompt, of a model that keeps states.

const KV_BLOCK_TOKENS = 4;
const KV_BLOCKS = 8;
/** No KV block ends there: what is kept before its last token is kept for its followers alone. */
const PROMPT = [1, 2, 3, 4, 5, 6, 7];

const sequenceOf = (leader?: Sequence) => sequence(0, 10, 0, { prompt: PROMPT, leader });

/** An admitted leader, and its waiting followers. */
function begin(followers: number) {
  const slots = new SlotManager(4);
  const kvBlockManager = new KvBlockManager(KV_BLOCKS, KV_BLOCK_TOKENS, undefined, slots);
  const moves = new KvBlockMoves(new NothingMoves());
  const states = new States(kvBlockManager, slots, moves);
  const roster = new Roster(
    ...[kvBlockManager, moves, 4, KV_BLOCKS * KV_BLOCK_TOKENS, noCounts()] as const,
    ...[undefined, undefined, states] as const,
  );
  const leader = sequenceOf();
  const others = Array.from({ length: followers }, () => sequenceOf(leader));
  for (const sequence of [leader, ...others]) roster.arrive(sequence, 0);
  assertEquals([roster.admit(0), roster.admit(0)], [leader, undefined]);
  /** Computes the leader's prompt; where its steps end. */
  const compute = () => {
    const ends: number[] = [];
    while (leader.computed < PROMPT.length) {
      const count = states.cut(leader, PROMPT.length - leader.computed);
      roster.reserve(leader, count);
      roster.advance(leader, count);
      ends.push(leader.computed);
    }
    return ends;
  };
  return { roster, slots, leader, others, compute };
}

Deno.test("a leader keeps the state before its last token while a follower waits for it, and none when the last one has gone", () => {
  const { roster, slots, leader, others: [first, second], compute } = begin(2);
  roster.finish(first);
  assertEquals([compute(), leader.startSlot !== undefined], [[4, 6, 7], true]);
  const before = slots.free;
  roster.finish(second);
  assertEquals([leader.startSlot, slots.free], [undefined, before + 1]);
});

Deno.test("a leader whose followers have all gone before it came to its last token keeps no state and has no step end for them", () => {
  const { roster, slots, leader, others, compute } = begin(2);
  const alone = begin(0);
  assertEquals(alone.compute(), [4, 7]);
  for (const follower of others) roster.finish(follower);
  assertEquals(compute(), [4, 7]);
  assertEquals([leader.startSlot, slots.free], [undefined, alone.slots.free]);
});

Deno.test("a leader whose followers have gone while all waited for a replica has no followers there", () => {
  const leader = sequenceOf();
  const [first, second] = [sequenceOf(leader), sequenceOf(leader)];
  const waiting = new Waiting([leader, first, second]);
  waiting.drop(second);
  assertEquals(leader.leads, true);
  waiting.drop(first);
  assertEquals([leader.leads, waiting.sequences], [false, [leader]]);
});
