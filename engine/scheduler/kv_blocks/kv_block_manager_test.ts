import { assertEquals } from "@std/assert";
import { KvBlockManager } from "./kv_block_manager.ts";
import { NO_KV_BLOCK } from "./kv_block_layout.ts";
import { ROOT_PREFIX } from "./prefix_tree.ts";

const KV_BLOCK_TOKENS = 4;

/** Tokens that count how many KV blocks of them are looked at. */
class CountedTokens extends Array<number> {
  looked = 0;
  override slice(start?: number, end?: number): number[] {
    this.looked++;
    return Array.from(this).slice(start, end);
  }
}

function countedTokens(length: number): CountedTokens {
  const tokens = new CountedTokens();
  for (let i = 0; i < length; i++) tokens.push(i);
  return tokens;
}

/** Publishes that many KV blocks of tokens, and gives them up; returns the KV blocks. */
function publish(
  kvBlockManager: KvBlockManager,
  tokens: readonly number[],
  count: number,
): number[] {
  const kvBlocks = kvBlockManager.allocate(count)!;
  let prefix = ROOT_PREFIX;
  for (const [i, kvBlock] of kvBlocks.entries()) {
    prefix = kvBlockManager.publish(
      [kvBlock],
      prefix,
      tokens,
      i * KV_BLOCK_TOKENS,
      KV_BLOCK_TOKENS,
    )!;
  }
  kvBlockManager.release(kvBlocks);
  return kvBlocks;
}

Deno.test("repeated matches of a prompt look at each KV block once", () => {
  const kvBlockManager = new KvBlockManager(200, KV_BLOCK_TOKENS);
  const tokens = countedTokens(401);
  const kvBlocks = publish(kvBlockManager, Array.from(tokens), 90);
  const known = kvBlockManager.match(tokens);
  assertEquals(kvBlockManager.kvBlocksOf(known), [kvBlocks]);
  assertEquals(tokens.looked, 91);
  for (let i = 0; i < 50; i++) assertEquals(kvBlockManager.match(tokens, known).length, 90);
  // One a time: the first that is not there.
  assertEquals(tokens.looked, 141);
});

Deno.test("KV blocks that were evicted and filled with others are not found again, nor those behind them", () => {
  const kvBlockManager = new KvBlockManager(10, KV_BLOCK_TOKENS);
  const tokens = Array.from({ length: 41 }, (_, i) => i);
  const kvBlocks = publish(kvBlockManager, tokens, 10);
  const known = kvBlockManager.match(tokens);
  assertEquals(kvBlockManager.kvBlocksOf(known), [kvBlocks]);
  // The end is evicted first; the start remains.
  const others = kvBlockManager.allocate(4)!;
  assertEquals(kvBlockManager.kvBlocksOf(kvBlockManager.match(tokens, known)), [
    kvBlocks.slice(0, 6),
  ]);
  kvBlockManager.release(others);
  // The same KV blocks, published under other tokens.
  publish(kvBlockManager, tokens.map((token) => token + 100), 10);
  assertEquals(kvBlockManager.kvBlocksOf(kvBlockManager.match(tokens, known)), [[]]);
});

Deno.test("a KV block of the same tokens that was computed in another way ends what is published", () => {
  const kvBlockManager = new KvBlockManager(10, KV_BLOCK_TOKENS);
  const tokens = Array.from({ length: 9 }, (_, i) => i);
  publish(kvBlockManager, tokens, 1);
  const [kvBlock] = kvBlockManager.allocate(1)!;
  assertEquals(kvBlockManager.publish([kvBlock], ROOT_PREFIX, tokens, 0, 2), undefined);
  assertEquals(kvBlockManager.isWritable(kvBlock), true);
  const like = (rows: number) => (_: number, promptRows: number) => promptRows === rows;
  assertEquals(kvBlockManager.match(tokens, undefined, like(KV_BLOCK_TOKENS)).length, 1);
  assertEquals(kvBlockManager.match(tokens, undefined, like(2)).length, 0);
});

Deno.test("a release of KV blocks is reported, and sharing KV blocks leaves fewer free", () => {
  const kvBlockManager = new KvBlockManager(6, KV_BLOCK_TOKENS);
  let releases = 0;
  kvBlockManager.onRelease = () => releases++;
  const kvBlocks = publish(kvBlockManager, Array.from({ length: 9 }, (_, i) => i), 2);
  assertEquals(releases, 1);
  assertEquals([kvBlockManager.freeKvBlocks, kvBlockManager.freeKvBlocksExcept(kvBlocks)], [6, 4]);
  kvBlockManager.share(kvBlocks);
  assertEquals([kvBlockManager.freeKvBlocks, kvBlockManager.freeKvBlocksExcept(kvBlocks)], [4, 4]);
  kvBlockManager.release([]);
  assertEquals(releases, 1);
});

/** Groups that see everything, and two KV blocks and a token of the third. */
const GROUPS = [{ window: 0, chunk: 0 }, { window: 2 * KV_BLOCK_TOKENS + 1, chunk: 0 }];

/** Publishes so many KV blocks of tokens of both groups; returns them, [group][index]. */
function publishGroups(
  kvBlockManager: KvBlockManager,
  tokens: readonly number[],
  count: number,
): number[][] {
  const kvBlocks = [kvBlockManager.allocate(count)!, kvBlockManager.allocate(count)!];
  let prefix = ROOT_PREFIX;
  for (let i = 0; i < count; i++) {
    const full = kvBlocks.map((own) => own[i]);
    prefix = kvBlockManager.publish(full, prefix, tokens, i * KV_BLOCK_TOKENS, KV_BLOCK_TOKENS)!;
  }
  return kvBlocks;
}

Deno.test("a prefix is found as far as each group has the KV blocks that its windows show, and no others are taken", () => {
  const kvBlockManager = new KvBlockManager(20, KV_BLOCK_TOKENS, GROUPS);
  const tokens = Array.from({ length: 41 }, (_, i) => i);
  const [all, windowed] = publishGroups(kvBlockManager, tokens, 8);
  // Behind the window first, as a sequence gives them back that goes on.
  kvBlockManager.release(windowed.slice(0, 5));
  const match = () => {
    const found = kvBlockManager.match(tokens);
    return { length: found.length, kvBlocks: kvBlockManager.kvBlocksOf(found) };
  };
  const absent = (count: number) => new Array<number>(count).fill(NO_KV_BLOCK);
  assertEquals(match(), { length: 8, kvBlocks: [all, [...absent(6), ...windowed.slice(6)]] });
  kvBlockManager.release([...all, ...windowed.slice(5)]);
  // The oldest are evicted: it is of no matter, as the window has passed them.
  const others = kvBlockManager.allocate(4 + 4)!;
  assertEquals(match(), { length: 8, kvBlocks: [all, [...absent(6), ...windowed.slice(6)]] });
  // Without its last KV block there is the window of the one before it, and then none.
  const more = kvBlockManager.allocate(2)!;
  assertEquals(match().length, 7);
  more.push(...kvBlockManager.allocate(1)!);
  assertEquals(match().length, 0);
  // The same tokens, computed again: the existing KV blocks stay, the others are added.
  kvBlockManager.release([...others, ...more]);
  const again = publishGroups(kvBlockManager, tokens, 5);
  assertEquals(match(), {
    length: 6,
    kvBlocks: [all.slice(0, 6), [...absent(4), again[1][4], windowed[5]]],
  });
});

Deno.test("where all layers have a window, a prefix is found by its end alone, and forgotten with it", () => {
  const kvBlockManager = new KvBlockManager(8, KV_BLOCK_TOKENS, GROUPS.slice(1));
  const tokens = Array.from({ length: 33 }, (_, i) => i);
  const kvBlocks = kvBlockManager.allocate(8)!;
  let prefix = ROOT_PREFIX;
  for (const [i, kvBlock] of kvBlocks.entries()) {
    prefix = kvBlockManager.publish(
      [kvBlock],
      prefix,
      tokens,
      i * KV_BLOCK_TOKENS,
      KV_BLOCK_TOKENS,
    )!;
  }
  kvBlockManager.release(kvBlocks.slice(0, 6));
  kvBlockManager.allocate(6);
  const known = kvBlockManager.match(tokens);
  assertEquals([known.prefixes.length, known.length], [8, 8]);
  assertEquals(kvBlockManager.kvBlocksOf(known)[0].slice(6), kvBlocks.slice(6));
  kvBlockManager.release(kvBlocks.slice(6));
  kvBlockManager.allocate(2);
  assertEquals(kvBlockManager.match(tokens, known), { prefixes: [], length: 0 });
  // Blocks after a forgotten prefix could not be found.
  assertEquals(
    kvBlockManager.publish([kvBlocks[0]], prefix, tokens, 0, KV_BLOCK_TOKENS),
    undefined,
  );
});
