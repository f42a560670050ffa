import { assertEquals } from "@std/assert";
import { PageManager } from "./page_manager.ts";
import { NO_PAGE } from "./page_layout.ts";
import { ROOT_PREFIX } from "./prefix_tree.ts";

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
function publish(pageManager: PageManager, tokens: readonly number[], count: number): number[] {
  const pages = pageManager.allocate(count)!;
  let prefix = ROOT_PREFIX;
  for (const [i, page] of pages.entries()) {
    prefix = pageManager.publish([page], prefix, tokens, i * PAGE_TOKENS, PAGE_TOKENS)!;
  }
  pageManager.release(pages);
  return pages;
}

Deno.test("who asks again and again for the pages of a prompt has each looked at once", () => {
  const pageManager = new PageManager(200, PAGE_TOKENS);
  const tokens = countedTokens(401);
  const pages = publish(pageManager, Array.from(tokens), 90);
  const known = pageManager.match(tokens);
  assertEquals(pageManager.pagesOf(known), [pages]);
  assertEquals(tokens.looked, 91);
  for (let i = 0; i < 50; i++) assertEquals(pageManager.match(tokens, known).length, 90);
  // One a time: the first that is not there.
  assertEquals(tokens.looked, 141);
});

Deno.test("pages that were evicted and filled with others are not found again, nor those behind them", () => {
  const pageManager = new PageManager(10, PAGE_TOKENS);
  const tokens = Array.from({ length: 41 }, (_, i) => i);
  const pages = publish(pageManager, tokens, 10);
  const known = pageManager.match(tokens);
  assertEquals(pageManager.pagesOf(known), [pages]);
  // The end goes first; the beginning is as it was.
  const others = pageManager.allocate(4)!;
  assertEquals(pageManager.pagesOf(pageManager.match(tokens, known)), [pages.slice(0, 6)]);
  pageManager.release(others);
  // The same pages, published under other tokens.
  publish(pageManager, tokens.map((token) => token + 100), 10);
  assertEquals(pageManager.pagesOf(pageManager.match(tokens, known)), [[]]);
});

Deno.test("a page of the same tokens that was computed in another way ends what is published", () => {
  const pageManager = new PageManager(10, PAGE_TOKENS);
  const tokens = Array.from({ length: 9 }, (_, i) => i);
  publish(pageManager, tokens, 1);
  const [page] = pageManager.allocate(1)!;
  assertEquals(pageManager.publish([page], ROOT_PREFIX, tokens, 0, 2), undefined);
  assertEquals(pageManager.isWritable(page), true);
  const like = (rows: number) => (_: number, promptRows: number) => promptRows === rows;
  assertEquals(pageManager.match(tokens, undefined, like(PAGE_TOKENS)).length, 1);
  assertEquals(pageManager.match(tokens, undefined, like(2)).length, 0);
});

Deno.test("pages given back are told of, and who shares pages leaves fewer free", () => {
  const pageManager = new PageManager(6, PAGE_TOKENS);
  let told = 0;
  pageManager.onRelease = () => told++;
  const pages = publish(pageManager, Array.from({ length: 9 }, (_, i) => i), 2);
  assertEquals(told, 1);
  assertEquals([pageManager.freePages, pageManager.freePagesBeside(pages)], [6, 4]);
  pageManager.share(pages);
  assertEquals([pageManager.freePages, pageManager.freePagesBeside(pages)], [4, 4]);
  pageManager.release([]);
  assertEquals(told, 1);
});

/** Groups that see everything, and two pages and a token of the third. */
const GROUPS = [{ window: 0, chunk: 0 }, { window: 2 * PAGE_TOKENS + 1, chunk: 0 }];

/** Publishes so many pages of tokens of both groups; returns them, [group][index]. */
function publishGroups(
  pageManager: PageManager,
  tokens: readonly number[],
  count: number,
): number[][] {
  const pages = [pageManager.allocate(count)!, pageManager.allocate(count)!];
  let prefix = ROOT_PREFIX;
  for (let i = 0; i < count; i++) {
    const full = pages.map((own) => own[i]);
    prefix = pageManager.publish(full, prefix, tokens, i * PAGE_TOKENS, PAGE_TOKENS)!;
  }
  return pages;
}

Deno.test("a beginning is found as far as each group has the pages that its windows show, and no others are taken", () => {
  const pageManager = new PageManager(20, PAGE_TOKENS, GROUPS);
  const tokens = Array.from({ length: 41 }, (_, i) => i);
  const [all, windowed] = publishGroups(pageManager, tokens, 8);
  // Behind the window first, as a sequence gives them back that goes on.
  pageManager.release(windowed.slice(0, 5));
  const match = () => {
    const found = pageManager.match(tokens);
    return { length: found.length, pages: pageManager.pagesOf(found) };
  };
  const absent = (count: number) => new Array<number>(count).fill(NO_PAGE);
  assertEquals(match(), { length: 8, pages: [all, [...absent(6), ...windowed.slice(6)]] });
  pageManager.release([...all, ...windowed.slice(5)]);
  // The oldest are evicted: it is of no matter, as the window has passed them.
  const others = pageManager.allocate(4 + 4)!;
  assertEquals(match(), { length: 8, pages: [all, [...absent(6), ...windowed.slice(6)]] });
  // Without its last page there is the window of the one before it, and then none.
  const more = pageManager.allocate(2)!;
  assertEquals(match().length, 7);
  more.push(...pageManager.allocate(1)!);
  assertEquals(match().length, 0);
  // The same tokens, computed again: the pages that are there stay, the others are added.
  pageManager.release([...others, ...more]);
  const again = publishGroups(pageManager, tokens, 5);
  assertEquals(match(), {
    length: 6,
    pages: [all.slice(0, 6), [...absent(4), again[1][4], windowed[5]]],
  });
});

Deno.test("where all layers have a window, a beginning is found by its end alone, and forgotten with it", () => {
  const pageManager = new PageManager(8, PAGE_TOKENS, GROUPS.slice(1));
  const tokens = Array.from({ length: 33 }, (_, i) => i);
  const pages = pageManager.allocate(8)!;
  let prefix = ROOT_PREFIX;
  for (const [i, page] of pages.entries()) {
    prefix = pageManager.publish([page], prefix, tokens, i * PAGE_TOKENS, PAGE_TOKENS)!;
  }
  pageManager.release(pages.slice(0, 6));
  pageManager.allocate(6);
  const known = pageManager.match(tokens);
  assertEquals([known.prefixes.length, known.length], [8, 8]);
  assertEquals(pageManager.pagesOf(known)[0].slice(6), pages.slice(6));
  pageManager.release(pages.slice(6));
  pageManager.allocate(2);
  assertEquals(pageManager.match(tokens, known), { prefixes: [], length: 0 });
  // What comes after a forgotten beginning could not be found.
  assertEquals(pageManager.publish([pages[0]], prefix, tokens, 0, PAGE_TOKENS), undefined);
});
