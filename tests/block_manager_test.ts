import { assertEquals } from "@std/assert";
import { BlockManager, ROOT_PREFIX } from "../engine/scheduler/block_manager.ts";

const PAGE_TOKENS = 4;

/** Tokens that count how many pages of them are looked at. */
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

/** Publishes that many pages of tokens, and gives them up; returns the pages. */
function publish(blocks: BlockManager, tokens: readonly number[], count: number): number[] {
  const pages = blocks.allocate(count)!;
  let prefix = ROOT_PREFIX;
  for (const [i, page] of pages.entries()) {
    prefix = blocks.publish(page, prefix, tokens, i * PAGE_TOKENS, PAGE_TOKENS)!;
  }
  blocks.release(pages);
  return pages;
}

Deno.test("who asks again and again for the pages of a prompt has each looked at once", () => {
  const blocks = new BlockManager(200, PAGE_TOKENS);
  const tokens = countedTokens(401);
  const pages = publish(blocks, Array.from(tokens), 90);
  const known = blocks.match(tokens);
  assertEquals(known.pages, pages);
  assertEquals(tokens.looked, 91);
  for (let i = 0; i < 50; i++) assertEquals(blocks.match(tokens, known).pages, pages);
  // One a time: the first that is not there.
  assertEquals(tokens.looked, 141);
});

Deno.test("pages that were evicted and filled with others are not found again, nor those behind them", () => {
  const blocks = new BlockManager(10, PAGE_TOKENS);
  const tokens = Array.from({ length: 41 }, (_, i) => i);
  const pages = publish(blocks, tokens, 10);
  const known = blocks.match(tokens);
  assertEquals(known.pages, pages);
  // The end goes first; the beginning is as it was.
  const others = blocks.allocate(4)!;
  assertEquals(blocks.match(tokens, known).pages, pages.slice(0, 6));
  blocks.release(others);
  // The same pages, published under other tokens.
  publish(blocks, tokens.map((token) => token + 100), 10);
  assertEquals(blocks.match(tokens, known).pages, []);
});

Deno.test("a page of the same tokens that was computed in another way ends what is published", () => {
  const blocks = new BlockManager(10, PAGE_TOKENS);
  const tokens = Array.from({ length: 9 }, (_, i) => i);
  publish(blocks, tokens, 1);
  const [page] = blocks.allocate(1)!;
  assertEquals(blocks.publish(page, ROOT_PREFIX, tokens, 0, 2), undefined);
  assertEquals(blocks.isWritable(page), true);
  const like = (rows: number) => (_: number, promptRows: number) => promptRows === rows;
  assertEquals(blocks.match(tokens, undefined, like(PAGE_TOKENS)).pages.length, 1);
  assertEquals(blocks.match(tokens, undefined, like(2)).pages.length, 0);
});

Deno.test("pages given back are told of, and who shares pages leaves fewer free", () => {
  const blocks = new BlockManager(6, PAGE_TOKENS);
  let told = 0;
  blocks.onRelease = () => told++;
  const pages = publish(blocks, Array.from({ length: 9 }, (_, i) => i), 2);
  assertEquals(told, 1);
  assertEquals([blocks.freePages, blocks.freePagesBeside(pages)], [6, 4]);
  blocks.share(pages);
  assertEquals([blocks.freePages, blocks.freePagesBeside(pages)], [4, 4]);
  blocks.release([]);
  assertEquals(told, 1);
});
