import { assertEquals } from "@std/assert";
import { M40Error } from "../errors.ts";
import { KvBlockManager } from "./kv_blocks/kv_block_manager.ts";
import { HostKvBlocks } from "./kv_blocks/host_kv_blocks.ts";
import { type Kept, KvBlockMoves } from "./kv_blocks/kv_block_moves.ts";
import { noCounts } from "./report.ts";
import { Roster } from "./sequences/roster.ts";
import type { Sequence } from "./sequences/sequence.ts";
import { sequence } from "../../tests/fixtures/timed_device.ts";

const KV_BLOCK_TOKENS = 4;
const KV_BLOCKS = 8;

const NAMES = { kvBlocks: "", slots: "slot " };

/** Moves KV blocks, or fails on command. */
class Mover {
  failing = new Set<string>();
  readonly done: string[] = [];
  readonly copyKvBlocks = (from: Uint32Array, to: Uint32Array) =>
    this.move(`copy ${from} to ${to}`);
  readonly save = (kept: Kept, which: Uint32Array) => this.move(`save ${NAMES[kept]}${which}`);
  readonly restore = (kept: Kept, which: Uint32Array) =>
    this.move(`restore ${NAMES[kept]}${which}`);

  private move(what: string): Promise<void> {
    const [kind] = what.split(" ");
    if (this.failing.has(kind)) return Promise.reject(new M40Error("internal", `no ${kind}`));
    this.done.push(what);
    return Promise.resolve();
  }
}

const sequenceOf = (length: number, first: number, leader?: Sequence) =>
  sequence(length, 10, first, leader && { prompt: leader.prompt, leader });

Deno.test("a sequence that shares KV blocks of a lost leader is recomputed, though it moved none", async () => {
  const kvBlockManager = new KvBlockManager(KV_BLOCKS, KV_BLOCK_TOKENS);
  const mover = new Mover();
  const moves = new KvBlockMoves(mover);
  const host = new HostKvBlocks(new Uint8Array(KV_BLOCKS), 1);
  const counts = noCounts();
  const roster = new Roster(kvBlockManager, moves, 4, KV_BLOCKS * KV_BLOCK_TOKENS, counts, host);
  const [older, leader] = [sequenceOf(4, 100), sequenceOf(6, 0)];
  const follower = sequenceOf(6, 0, leader);
  for (const sequence of [older, leader, follower]) roster.arrive(sequence, 0);
  // The leader computes its prompt, samples a token, and is preempted by an earlier sequence.
  for (const sequence of [older, leader]) {
    assertEquals(roster.admit(0), sequence);
    roster.reserve(sequence, sequence.prompt.length);
    roster.advance(sequence, sequence.prompt.length);
    sequence.append({ token: 7, logprob: 0, top: [] });
  }
  assertEquals(roster.reserve(older, KV_BLOCKS * KV_BLOCK_TOKENS - 4), true);
  assertEquals([leader.state, leader.saved?.count], ["preempted", 2]);
  assertEquals((await moves.run()).sequences.size, 0);
  roster.finish(older);
  // It comes back, and its follower takes over its KV blocks, before anything was moved.
  assertEquals([roster.admit(0), roster.admit(0)], [leader, follower]);
  assertEquals(follower.kvBlocks, leader.kvBlocks);
  mover.failing.add("restore");
  const lost = await moves.run();
  assertEquals([...lost.sequences], [leader]);
  roster.recover(lost);
  for (const sequence of [leader, follower]) {
    assertEquals([sequence.state, sequence.computed, sequence.kvBlocks], ["preempted", 0, []]);
  }
  assertEquals(follower.leader, undefined);
  // Of the KV block that the leader had published before, nothing was lost.
  assertEquals([kvBlockManager.freeKvBlocks, host.usage.saved], [KV_BLOCKS, 0]);
  assertEquals(counts.recomputations, 2);
});

Deno.test("copies are one call, but where one reads or writes what another writes", async () => {
  const mover = new Mover();
  const moves = new KvBlockMoves(mover);
  const [a, b, c] = [sequenceOf(1, 0), sequenceOf(1, 1), sequenceOf(1, 2)];
  moves.copy(a, [0], [1]);
  moves.copy(b, [0], [2]);
  moves.copy(c, [2], [3]);
  moves.save(a, [1], new Uint8Array(1));
  moves.copy(b, [4], [1]);
  assertEquals([...(await moves.run()).sequences], []);
  assertEquals(mover.done, ["copy 0,0 to 1,2", "copy 2 to 3", "save 1", "copy 4 to 1"]);
  assertEquals(moves.planned, []);
});

Deno.test("slots are moved among the KV blocks, in the order of what was decided; a state that did not come back is not saved", async () => {
  const mover = new Mover();
  const moves = new KvBlockMoves(mover);
  const [a, b] = [sequenceOf(1, 0), sequenceOf(1, 1)];
  moves.save(a, [3], new Uint8Array(1), "slots");
  moves.save(a, [3], new Uint8Array(1));
  moves.restore(b, [3], new Uint8Array(1), "slots");
  assertEquals([...(await moves.run()).sequences], []);
  assertEquals(mover.done.splice(0), ["save slot 3", "save 3", "restore slot 3"]);
  mover.failing.add("restore");
  moves.restore(b, [2], new Uint8Array(1), "slots");
  moves.copy(a, [2], [1]);
  moves.save(b, [2], new Uint8Array(1), "slots");
  const lost = await moves.run();
  assertEquals([[...lost.sequences], [...lost.kvBlocks]], [[b], []]);
  // KV block 2 is none of slot 2's concern.
  assertEquals(mover.done, ["copy 2 to 1"]);
});

Deno.test("what reads KV blocks that could not be written is lost too, until they are written again", async () => {
  const mover = new Mover();
  const moves = new KvBlockMoves(mover);
  const [a, b, c] = [sequenceOf(1, 0), sequenceOf(1, 1), sequenceOf(1, 2)];
  mover.failing.add("restore");
  moves.restore(a, [0, 1], new Uint8Array(2));
  moves.copy(b, [1], [2]);
  moves.copy(c, [3], [1]);
  const lost = await moves.run();
  assertEquals([...lost.sequences], [a, b]);
  assertEquals([...lost.kvBlocks], [0, 2]);
  assertEquals(mover.done, ["copy 3 to 1"]);
});
