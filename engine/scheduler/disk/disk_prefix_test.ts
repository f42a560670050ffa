import { assertEquals } from "@std/assert";
import { type KvBlockName, prefixHash, prefixKey } from "./cache/kv_block_name.ts";
import { KvBlockStore } from "./cache/kv_block_store.ts";
import { findOnDisk } from "./disk_prefix.ts";
import type { KvBlockGroup } from "../kv_blocks/kv_block_layout.ts";
import { KvBlockManager } from "../kv_blocks/kv_block_manager.ts";
import { KvBlockSaves } from "../kv_blocks/kv_block_saves.ts";
import { PrefixKeys } from "../kv_blocks/prefix_keys.ts";
import { ROOT_PREFIX } from "../kv_blocks/prefix_tree.ts";
import { FakeFiles } from "../../../tests/fixtures/fake_files.ts";

const KV_BLOCK_TOKENS = 4;
const IDENTITY = "ab".repeat(32);
const EVERYTHING: KvBlockGroup = { window: 0, chunk: 0 };
const TOKENS = Array.from({ length: 25 }, (_, i) => i);

/** The names of the KV blocks of a prefix with these prompt rows, one for each group. */
function namesOf(promptRows: readonly number[], groups = 1): KvBlockName[][] {
  let key = IDENTITY;
  return promptRows.map((rows, i) => {
    const hash = prefixHash(
      key,
      TOKENS.slice(i * KV_BLOCK_TOKENS, (i + 1) * KV_BLOCK_TOKENS).join(),
    );
    key = prefixKey(hash, rows);
    return Array.from({ length: groups }, (_, group) => ({ hash, promptRows: rows, group }));
  });
}

async function storeWith(kvBlocks: readonly KvBlockName[]) {
  const options = { folder: "/disk", identity: IDENTITY, kvBlockBytes: 8, limitBytes: 2 ** 30 };
  const store = await KvBlockStore.open({ ...options, files: new FakeFiles() });
  for (const kvBlock of kvBlocks) await store.write(kvBlock, 0, new Uint8Array(8));
  return { store, keys: new PrefixKeys(store.rootKey) };
}

Deno.test("of KV blocks that were computed in different ways, a preempted sequence gets those like its own, and their successors", async () => {
  const computed = namesOf([4, 4, 4, 4]);
  const answered = namesOf([4, 2, 0]);
  const { store, keys } = await storeWith([...computed, ...answered].flat());
  const kvBlockManager = new KvBlockManager(20, KV_BLOCK_TOKENS);
  const find = (accepts?: (index: number, rows: number) => boolean) => {
    const options = { store, keys, kvBlockManager };
    const { length, wanted } = findOnDisk(options, TOKENS, kvBlockManager.match(TOKENS), accepts);
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
  // The third KV block of the layers that see everything is in memory alone, the last one of the others nowhere.
  const onDisk = all.flatMap((kvBlocks, i) =>
    kvBlocks.filter(({ group }) => i + group !== 2 && i + group < 5)
  );
  const { store, keys } = await storeWith(onDisk);
  const kvBlockManager = new KvBlockManager(20, KV_BLOCK_TOKENS, groups);
  let prefix = ROOT_PREFIX;
  const memory: number[][] = [];
  for (let i = 0; i < 3; i++) {
    const kvBlocks = kvBlockManager.allocate(2)!;
    memory.push(kvBlocks);
    prefix = kvBlockManager.publish(
      kvBlocks,
      prefix,
      TOKENS,
      i * KV_BLOCK_TOKENS,
      KV_BLOCK_TOKENS,
    )!;
  }
  const match = kvBlockManager.match(TOKENS);
  assertEquals(match.length, 3);
  const { length, wanted, held } = findOnDisk({ store, keys, kvBlockManager }, TOKENS, match);
  // The next token sees of the others the last two KV blocks.
  assertEquals(length, 4);
  assertEquals(wanted.map(({ name }) => name), all[3]);
  assertEquals(held, [memory[0][0], memory[1][0], memory[2][0], memory[2][1]]);
});

Deno.test("a KV block that is published while the last ones' saving ends is saved too, and flush waits for it", async () => {
  const [[first]] = namesOf([4]);
  for (let microtasks = 0; microtasks < 8; microtasks++) {
    const { store, keys } = await storeWith([]);
    const kvBlockManager = new KvBlockManager(4, KV_BLOCK_TOKENS);
    const move = () => Promise.resolve();
    const saves = new KvBlockSaves({
      kvBlockManager,
      mover: { copyKvBlocks: move, save: move, restore: move },
      store,
      keys,
      leastKvBlocks: 1,
      memory: new Uint8Array(4 * store.kvBlockBytes),
      withDevice: (work) => work(),
      now: () => 0,
    });
    const publish = (tokens: readonly number[]) =>
      kvBlockManager.publish(kvBlockManager.allocate(1)!, ROOT_PREFIX, tokens, 0, KV_BLOCK_TOKENS)!;
    const written = Promise.withResolvers<void>();
    // Asked last when a KV block was written.
    saves.isBusy = () => {
      if (store.has(first)) written.resolve();
      return false;
    };
    publish(TOKENS);
    await written.promise;
    for (let i = 0; i < microtasks; i++) await undefined;
    publish(TOKENS.slice(KV_BLOCK_TOKENS));
    await saves.flush(60_000);
    assertEquals(store.status().kvBlocks, 2, `${microtasks} microtasks after the last was written`);
  }
});
