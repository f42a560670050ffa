import { assert, assertEquals, assertMatch } from "@std/assert";
import { encodeHeader, headerBytes, isUndamaged } from "./kv_block_file.ts";
import {
  fileName,
  isPartialName,
  type KvBlockName,
  kvBlockOf,
  partialName,
  STATE_GROUP,
} from "./kv_block_name.ts";
import { KvBlockStore } from "./kv_block_store.ts";
import { FakeFiles, systemError } from "../../../../tests/fixtures/fake_files.ts";

const KV_BLOCK_BYTES = 70_000;
const FILE_BYTES = headerBytes(KV_BLOCK_BYTES) + KV_BLOCK_BYTES;
const IDENTITY = "0123456789abcdef".repeat(4);
const OTHER = "fedcba9876543210".repeat(4);

function kvBlock(i: number): KvBlockName {
  return { hash: i.toString(16).padStart(64, "0"), promptRows: 32, group: i % 3 };
}

function contents(i: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: KV_BLOCK_BYTES }, (_, n) => (n * 31 + i * 7) >> 3);
}

async function open(
  files: FakeFiles,
  kvBlocks = 1000,
  identity = IDENTITY,
  problems: string[] = [],
  now?: () => number,
) {
  const limitBytes = kvBlocks * FILE_BYTES;
  const store = await KvBlockStore.open({
    folder: "/disk",
    identity,
    kvBlockBytes: KV_BLOCK_BYTES,
    limitBytes,
    files,
    onProblem: (problem) => problems.push(problem),
    now,
  });
  await store.settle();
  return store;
}

async function find(store: KvBlockStore, i: number): Promise<boolean> {
  const memory = new Uint8Array(KV_BLOCK_BYTES);
  if (!await store.read(kvBlock(i), 0, memory)) return false;
  assertEquals(memory, contents(i));
  return true;
}

Deno.test("any bit of a KV block's file that is flipped is noticed", async () => {
  const own = contents(1);
  const header = await encodeHeader(IDENTITY, kvBlock(1), own);
  assert(await isUndamaged(header, IDENTITY, kvBlock(1), own));
  for (const bytes of [header, own]) {
    for (let i = 0; i < bytes.length; i += bytes === header ? 1 : 101) {
      bytes[i] ^= 1 << i % 8;
      assert(!await isUndamaged(header, IDENTITY, kvBlock(1), own), `byte ${i}`);
      bytes[i] ^= 1 << i % 8;
    }
  }
  for (
    const other of [{ ...kvBlock(1), promptRows: 31 }, { ...kvBlock(1), group: 0 }, kvBlock(4)]
  ) {
    assert(!await isUndamaged(header, IDENTITY, other, own));
  }
  assert(!await isUndamaged(header, OTHER, kvBlock(1), own));
});

Deno.test("a KV block's file has a name that says which it is, and no other file is taken for one", () => {
  for (
    const one of [kvBlock(0), kvBlock(4095), { ...kvBlock(7), promptRows: 0, group: STATE_GROUP }]
  ) {
    assertEquals(kvBlockOf(fileName(one)), one);
    assertEquals(kvBlockOf(partialName(one)), undefined);
    assert(isPartialName(partialName(one)));
    assert(!isPartialName(fileName(one)));
  }
  assertEquals(kvBlockOf(fileName({ ...kvBlock(1), group: STATE_GROUP + 1 })), undefined);
  const name = fileName(kvBlock(1));
  for (const other of ["about.json", "../" + name, name.toUpperCase(), name.slice(1), name + "~"]) {
    assertEquals(kvBlockOf(other), undefined, other);
    assert(!isPartialName(other), other);
  }
});

Deno.test("what was written is found by the next process, and only by one whose bits depend on the same", async () => {
  const files = new FakeFiles();
  const store = await open(files);
  for (let i = 0; i < 5; i++) await store.write(kvBlock(i), i, contents(i));
  const next = await open(files);
  for (let i = 0; i < 6; i++) assertEquals(await find(next, i), i < 5);
  assertEquals(await find(await open(files, 1000, OTHER), 0), false);
  assertEquals(next.status().bytes, 5 * FILE_BYTES);
});

Deno.test("where there is too much, what was not used for longest goes, of any model, and the end of a prefix before its start", async () => {
  const files = new FakeFiles();
  const foreign = await open(files, 1000, OTHER);
  for (let i = 0; i < 10; i++) await foreign.write(kvBlock(i), i, contents(i));
  const age = (milliseconds: number) => {
    for (const file of files.files.values()) file.modified -= milliseconds;
  };
  age(3600_000);
  const store = await open(files, 20);
  for (let i = 0; i < 10; i++) await store.write(kvBlock(i), i, contents(i));
  age(3600_000);
  // Two of the other model's are used again.
  const user = await open(files, 1000, OTHER);
  assert(await find(user, 8) && await find(user, 3));
  for (let i = 10; i < 14; i++) {
    await store.write(kvBlock(i), i, contents(i));
    await store.settle();
    assert(store.status().bytes <= 20 * FILE_BYTES);
  }
  assert(store.status().removedKvBlocks > 0);
  const left = await open(files, 1000, OTHER);
  const found = [];
  for (let i = 0; i < 10; i++) if (await find(left, i)) found.push(i);
  // Of the unused ones, the first are left.
  assertEquals(found.slice(-2), [3, 8]);
  assertEquals(found.slice(0, -2), found.slice(0, -2).map((_, i) => i));
  for (let i = 0; i < 14; i++) assert(await find(store, i), `${i} was younger, and is gone`);
});

Deno.test("foreign files are left alone, and what was half written long ago is removed", async () => {
  const files = new FakeFiles();
  const store = await open(files);
  await store.write(kvBlock(1), 0, contents(1));
  const [own] = files.files.keys();
  const folder = own.slice(0, own.lastIndexOf("/"));
  const bytes = new Uint8Array(10 * FILE_BYTES);
  const strange = [
    "/disk/photo.jpg",
    `${folder}/notes.txt`,
    "/disk/photos/cat.kv",
    `${folder}/x.part`,
  ];
  await files.makeFolder("/disk/photos");
  for (const path of strange) files.files.set(path, { bytes, modified: 0 });
  const abandoned = `${folder}/${partialName(kvBlock(2))}`;
  const fresh = `${folder}/${partialName(kvBlock(3))}`;
  files.files.set(abandoned, { bytes, modified: Date.now() - 3600_000 });
  files.files.set(fresh, { bytes, modified: Date.now() });
  const next = await open(files, 1);
  assertEquals(next.status().bytes, FILE_BYTES);
  for (const path of [...strange, own, fresh]) assert(files.files.has(path), path);
  assert(!files.files.has(abandoned));
});

Deno.test("a full disk ends writing for a while with one notice; stored blocks are read, and the oldest removed", async () => {
  const files = new FakeFiles();
  const problems: string[] = [];
  let now = 1000;
  const store = await open(files, 1000, IDENTITY, problems, () => now);
  for (let i = 0; i < 20; i++) await store.write(kvBlock(i), i, contents(i));
  let tried = 0;
  let full = true;
  files.fault = (operation) => {
    if (operation === "write") tried++;
    return full && operation === "write" ? "error" : undefined;
  };
  for (let i = 20; i < 25; i++) await store.write(kvBlock(i), i, contents(i));
  await store.settle();
  assert(!store.isWritable);
  assertEquals([problems.length, tried], [1, 1]);
  assertMatch(problems[0], /the disk is full.*tried again in 30 s/);
  assert(await find(store, 0));
  // Of a prefix the end is given up first.
  assertEquals([await find(store, 15), await find(store, 16)], [true, false]);
  assertEquals(store.status().removedKvBlocks, 4);
  assertEquals([...files.files.keys()].filter((path) => path.endsWith(".part")), []);
  // Once in a while one KV block is tried, less and less often.
  for (const [wait, tries] of [[29_999, 1], [1, 2], [59_999, 2], [1, 3]] as const) {
    now += wait;
    for (let i = 20; i < 25; i++) await store.write(kvBlock(i), i, contents(i));
    assertEquals(tried, tries);
    await store.settle();
  }
  full = false;
  now += 120_000;
  for (let i = 20; i < 25; i++) await store.write(kvBlock(i), i, contents(i));
  assert(store.isWritable && await find(store, 24));
  assertEquals(problems.length, 2);
  assertMatch(problems[1], /written to again/);
});

Deno.test("a disk that fails again and again is asked no more; one that fails once is", async () => {
  const files = new FakeFiles();
  const problems: string[] = [];
  const store = await open(files, 1000, IDENTITY, problems);
  for (let i = 0; i < 40; i++) await store.write(kvBlock(i), i, contents(i));
  let asked = 0;
  let failing = true;
  files.fault = (operation) => {
    if (operation === "read") asked++;
    return failing ? "error" : undefined;
  };
  for (let i = 0; i < 10; i++) assertEquals(await find(store, i), false);
  failing = false;
  assert(await find(store, 10));
  failing = true;
  for (let i = 11; i < 40; i++) assertEquals(await find(store, i), false);
  assertEquals(asked, 11 + 16);
  assertEquals(problems.length, 1);
  assertMatch(problems[0], /input\/output/);
});

Deno.test("a removed folder is made again", async () => {
  const files = new FakeFiles();
  const problems: string[] = [];
  const store = await open(files, 1000, IDENTITY, problems);
  const { write } = FakeFiles.prototype;
  files.write = (path, ...rest) => {
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!files.folders.has(folder)) return Promise.reject(new Deno.errors.NotFound(folder));
    return write.call(files, path, ...rest);
  };
  files.folders.clear();
  await store.write(kvBlock(0), 0, contents(0));
  await store.write(kvBlock(1), 1, contents(1));
  assertEquals([await find(store, 0), await find(store, 1)], [false, true]);
  files.folders.clear();
  files.makeFolder = () => Promise.reject(systemError("EROFS"));
  await store.write(kvBlock(2), 2, contents(2));
  assertEquals(problems.length, 1);
});

Deno.test("a KV block that was lost while files were looked at is written again", async () => {
  const files = new FakeFiles();
  const first = await open(files);
  for (let i = 0; i < 5; i++) await first.write(kvBlock(i), i, contents(i));
  // It is found to be damaged just after it was looked at.
  let looked = 0;
  const last = fileName(kvBlock(4));
  const { stat } = FakeFiles.prototype;
  files.stat = async (path) => {
    const state = await stat.call(files, path);
    if (!path.endsWith(last) || looked++ > 0) return state;
    files.fault = (_, path) => path.endsWith(last) ? "flipped" : undefined;
    assertEquals(await find(await opening, 4), false);
    files.fault = () => undefined;
    return state;
  };
  const opening = KvBlockStore.open({
    folder: "/disk",
    identity: IDENTITY,
    kvBlockBytes: KV_BLOCK_BYTES,
    limitBytes: 1000 * FILE_BYTES,
    files,
  });
  const store = await opening;
  await store.settle();
  assertEquals(looked, 1);
  await store.write(kvBlock(4), 4, contents(4));
  assert(await find(await open(files), 4));
});

Deno.test("what another process writes and removes is known when files were looked at again", async () => {
  const files = new FakeFiles();
  const [own, other] = [await open(files, 40), await open(files, 40)];
  await own.write(kvBlock(0), 0, contents(0));
  await other.write(kvBlock(1), 1, contents(1));
  assertEquals([own.has(kvBlock(1)), other.has(kvBlock(0))], [false, false]);
  for (const path of files.files.keys()) {
    if (path.endsWith(fileName(kvBlock(0)))) files.files.delete(path);
  }
  assert(own.has(kvBlock(0)));
  for (let i = 2; i < 5; i++) await own.write(kvBlock(i), i, contents(i));
  await own.settle();
  assertEquals([0, 1, 2, 3, 4].map((i) => own.has(kvBlock(i))), [false, true, true, true, true]);
});
