import { assertEquals } from "@std/assert";
import { type PageName, prefixHash, prefixKey } from "./cache/page_name.ts";
import { PageStore } from "./cache/page_store.ts";
import { findOnDisk } from "./disk_beginning.ts";
import type { PageGroup } from "../pages/page_layout.ts";
import { PageManager } from "../pages/page_manager.ts";
import { PageSaves } from "../pages/page_saves.ts";
import { PrefixKeys } from "../pages/prefix_keys.ts";
import { ROOT_PREFIX } from "../pages/prefix_tree.ts";
import { FakeFiles } from "../../../tests/fixtures/fake_files.ts";

const PAGE_TOKENS = 4;
const IDENTITY = "ab".repeat(32);
const EVERYTHING: PageGroup = { window: 0, chunk: 0 };
const TOKENS = Array.from({ length: 25 }, (_, i) => i);

/** The names of the pages of a beginning whose pages were computed so; each once for each group. */
function namesOf(promptRows: readonly number[], groups = 1): PageName[][] {
  let key = IDENTITY;
  return promptRows.map((rows, i) => {
    const hash = prefixHash(key, TOKENS.slice(i * PAGE_TOKENS, (i + 1) * PAGE_TOKENS).join());
    key = prefixKey(hash, rows);
    return Array.from({ length: groups }, (_, group) => ({ hash, promptRows: rows, group }));
  });
}

async function storeWith(pages: readonly PageName[]) {
  const options = { folder: "/disk", identity: IDENTITY, pageBytes: 8, limitBytes: 2 ** 30 };
  const store = await PageStore.open({ ...options, files: new FakeFiles() });
  for (const page of pages) await store.write(page, 0, new Uint8Array(8));
  return { store, keys: new PrefixKeys(store.rootKey) };
}

Deno.test("of pages that were computed in different ways, who goes on gets those like its own, and what follows them", async () => {
  const computed = namesOf([4, 4, 4, 4]);
  const answered = namesOf([4, 2, 0]);
  const { store, keys } = await storeWith([...computed, ...answered].flat());
  const pageManager = new PageManager(20, PAGE_TOKENS);
  const find = (accepts?: (index: number, rows: number) => boolean) => {
    const options = { store, keys, pageManager };
    const { length, wanted } = findOnDisk(options, TOKENS, pageManager.match(TOKENS), accepts);
    return { length, names: wanted.map(({ name }) => name) };
  };
  assertEquals(find(), { length: 4, names: computed.flat() });
  const like = (rows: readonly number[]) => (i: number, promptRows: number) =>
    rows[i] === promptRows;
  assertEquals(find(like([4, 2, 0, 0])), { length: 3, names: answered.flat() });
  assertEquals(find(like([4, 2, 4])), { length: 2, names: answered.slice(0, 2).flat() });
  assertEquals(find(like([3])), { length: 0, names: [] });
});

Deno.test("what is in memory is not read, and fills the gaps of what is on disk", async () => {
  const groups = [EVERYTHING, { window: 6, chunk: 0 }];
  const all = namesOf([4, 4, 4, 4, 4], 2);
  // The third page of the layers that see everything is in memory alone, the last one of the others nowhere.
  const onDisk = all.flatMap((pages, i) =>
    pages.filter(({ group }) => i + group !== 2 && i + group < 5)
  );
  const { store, keys } = await storeWith(onDisk);
  const pageManager = new PageManager(20, PAGE_TOKENS, groups);
  let prefix = ROOT_PREFIX;
  const memory: number[][] = [];
  for (let i = 0; i < 3; i++) {
    const pages = pageManager.allocate(2)!;
    memory.push(pages);
    prefix = pageManager.publish(pages, prefix, TOKENS, i * PAGE_TOKENS, PAGE_TOKENS)!;
  }
  const match = pageManager.match(TOKENS);
  assertEquals(match.length, 3);
  const { length, wanted, held } = findOnDisk({ store, keys, pageManager }, TOKENS, match);
  // The next token sees of the others the last two pages.
  assertEquals(length, 4);
  assertEquals(wanted.map(({ name }) => name), all[3]);
  assertEquals(held, [memory[0][0], memory[1][0], memory[2][0], memory[2][1]]);
});

Deno.test("a page that is published while the last ones' saving ends is saved too, and flush waits for it", async () => {
  const [[first]] = namesOf([4]);
  for (let microtasks = 0; microtasks < 8; microtasks++) {
    const { store, keys } = await storeWith([]);
    const pageManager = new PageManager(4, PAGE_TOKENS);
    const move = () => Promise.resolve();
    const saves = new PageSaves({
      pageManager,
      mover: {
        copyPages: move,
        savePages: move,
        restorePages: move,
        saveSlots: move,
        restoreSlots: move,
      },
      store,
      keys,
      leastPages: 1,
      memory: new Uint8Array(4 * store.pageBytes),
      withDevice: (work) => work(),
      now: () => 0,
    });
    const publish = (tokens: readonly number[]) =>
      pageManager.publish(pageManager.allocate(1)!, ROOT_PREFIX, tokens, 0, PAGE_TOKENS)!;
    const written = Promise.withResolvers<void>();
    // Asked last when a page was written.
    saves.isBusy = () => {
      if (store.has(first)) written.resolve();
      return false;
    };
    publish(TOKENS);
    await written.promise;
    for (let i = 0; i < microtasks; i++) await undefined;
    publish(TOKENS.slice(PAGE_TOKENS));
    await saves.flush(60_000);
    assertEquals(store.status().pages, 2, `${microtasks} microtasks after the last was written`);
  }
});
