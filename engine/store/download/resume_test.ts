import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertMatch,
  assertRejects,
} from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../../errors.ts";
import { DownloadError } from "./errors.ts";
import type { DownloadOptions } from "./types.ts";
import { FileLock } from "./lock.ts";
import { Folder, sha256, someBytes } from "../../../tests/fixtures/download_fixture.ts";
import { FaultServer, served, type ServedFile } from "../../../tests/fixtures/fault_server.ts";

const BYTES = someBytes(2_000_003, 7);
const SHA = sha256(BYTES);
const FILE = served(BYTES);

/** The runtime leaves the body of an answer open that comes in the very moment in which it is aborted. */
function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name, fn, sanitizeResources: false });
}

/** A download stopped by its signal when about half of it is there. */
async function stopHalfway(
  folder: Folder,
  url: string,
  options: DownloadOptions & { sha256?: string } = {},
): Promise<void> {
  const stop = new AbortController();
  const error = await assertRejects(
    () =>
      folder.get({ url, sha256: options.sha256 }, {
        connections: 2,
        ...options,
        signal: stop.signal,
        onProgress: ({ doneBytes }) => doneBytes > BYTES.length / 2 && stop.abort(),
      }),
    M40Error,
    "was stopped",
  );
  assertEquals(error.code, "cancelled");
  assertEquals(folder.files(), []);
}

/** Stops one halfway, goes on; returns the bytes that the second one fetched. */
async function resumes(
  first: ServedFile,
  second: ServedFile,
  expected: Uint8Array,
  hash?: string,
): Promise<number> {
  await using folder = await Folder.make();
  let file = first;
  await using server = new FaultServer(() => file);
  await stopHalfway(folder, server.url("/f?signature=secret"), { sha256: hash });
  const sent = server.sentBytes;
  file = second;
  const heads: number[] = [];
  const got = await folder.get({ url: server.url("/f?signature=secret"), sha256: hash }, {
    async checkHead(head) {
      const into = new Uint8Array(10);
      await head.read(0, into);
      assertEquals(into, expected.slice(0, 10));
      heads.push(into[0]);
    },
  });
  assertEquals(got.sha256, sha256(expected));
  assert(sha256(await folder.content()) === got.sha256);
  assertEquals(folder.partialFiles(), []);
  assertGreater(heads.length, 0);
  return server.sentBytes - sent;
}

const MORE_THAN_HALF = BYTES.length * 0.6;

test("download: what was stopped goes on from where it was", async () => {
  assertLess(await resumes(FILE, FILE, BYTES), MORE_THAN_HALF);
  const dated = served(BYTES, { lastModified: "Mon, 01 Jun 2026 10:00:00 GMT" });
  assertLess(await resumes(dated, dated, BYTES), MORE_THAN_HALF);
});

test("download: a file that changed between two tries is started again", async () => {
  const other = someBytes(BYTES.length, 8);
  const longer = someBytes(BYTES.length + 1, 8);
  assertGreater(await resumes(FILE, served(other, { etag: '"v2"' }), other), other.length - 1);
  assertGreater(await resumes(FILE, served(longer, { etag: '"v1"' }), longer), longer.length - 1);
  const dates = ["Mon, 01 Jun 2026 10:00:00 GMT", "Mon, 01 Jun 2026 10:00:01 GMT"];
  const [before, after] = [
    served(BYTES, { lastModified: dates[0] }),
    served(other, { lastModified: dates[1] }),
  ];
  assertGreater(await resumes(before, after, other), other.length - 1);
});

test("download: a weak ETag, or none, is no reason to believe that two parts belong together", async () => {
  const other = someBytes(BYTES.length, 8);
  for (const options of [{}, { etag: 'W/"v1"' }]) {
    const [before, after] = [served(BYTES, options), served(other, options)];
    assertGreater(await resumes(before, after, other), other.length - 1);
  }
});

test("download: with a hash to come up to, machines that call the file differently do not matter", async () => {
  assertLess(await resumes(FILE, served(BYTES, { etag: '"other"' }), BYTES, SHA), MORE_THAN_HALF);
  assertLess(await resumes(served(BYTES, {}), served(BYTES, {}), BYTES, SHA), MORE_THAN_HALF);
});

test("download: another URL or hash is another file", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => FILE);
  await stopHalfway(folder, server.url("/a"));
  const sent = server.sentBytes;
  assertEquals((await folder.get({ url: server.url("/b") })).sha256, SHA);
  assertEquals(server.sentBytes - sent, BYTES.length);
});

test("download: a file that changes between two parts is started again, its head looked at again", async () => {
  await using folder = await Folder.make();
  const other = someBytes(1_500_000, 9);
  let heads = 0;
  await using server = new FaultServer(({ number }) =>
    number < 6 ? FILE : served(other, { etag: '"v2"' })
  );
  const got = await folder.get({ url: server.url("/f") }, {
    checkHead: () => (heads++, Promise.resolve()),
  });
  assertEquals([got.sha256, heads], [sha256(other), 2]);
});

test("download: a file that never stays what it is is given up", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(({ number }) => served(BYTES, { etag: `"${number}"` }));
  await assertRejects(() => folder.get({ url: server.url("/f") }), DownloadError, "keeps changing");
  assertEquals(folder.files(), []);
});

test("download: a journal that was damaged or lies is no journal", async () => {
  const lies: ((journal: Record<string, unknown>) => unknown)[] = [
    () => "{",
    () => "",
    () => null,
    () => [],
    (journal) => ({ ...journal, version: 2 }),
    (journal) => ({ ...journal, ranges: [[0, 2 ** 40]] }),
    (journal) => ({ ...journal, ranges: [[5, 3]] }),
    (journal) => ({ ...journal, ranges: [[-1, 3]] }),
    (journal) => ({ ...journal, ranges: [["0", 3]] }),
    (journal) => ({ ...journal, ranges: 7 }),
    (journal) => ({ ...journal, bytes: "many" }),
    (journal) => ({ ...journal, etag: 5 }),
  ];
  await using server = new FaultServer(() => FILE);
  for (const lie of lies) {
    await using folder = await Folder.make();
    await stopHalfway(folder, server.url("/f"));
    const path = join(folder.path, ".partial/model.gguf.journal");
    const lied = lie(JSON.parse(await Deno.readTextFile(path)));
    await Deno.writeTextFile(path, typeof lied === "string" ? lied : JSON.stringify(lied));
    assertEquals((await folder.get({ url: server.url("/f") })).sha256, SHA, String(lie));
  }
});

test("download: data that is shorter than its journal says is fetched again", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => FILE);
  await stopHalfway(folder, server.url("/f"));
  await Deno.truncate(join(folder.path, ".partial/model.gguf.part"), 1000);
  assertEquals((await folder.get({ url: server.url("/f") })).sha256, SHA);
});

test("download: damaged data of another try is noticed by its hash, thrown away, and right the next time", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => FILE);
  await stopHalfway(folder, server.url("/f"), { sha256: SHA });
  using part = await Deno.open(join(folder.path, ".partial/model.gguf.part"), { write: true });
  await part.write(new Uint8Array([1, 2, 3]));
  await assertRejects(
    () => folder.get({ url: server.url("/f"), sha256: SHA }),
    DownloadError,
    "was thrown away",
  );
  assertEquals(folder.partialFiles(), []);
  assertEquals((await folder.get({ url: server.url("/f"), sha256: SHA })).sha256, SHA);
});

test("download: what died after the last byte asks the server for no more than a byte", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => FILE);
  const die = new AbortController();
  await assertRejects(
    () =>
      folder.get({ url: server.url("/f") }, {
        signal: die.signal,
        onProgress: ({ note }) => note === "checking" && die.abort(),
      }),
    M40Error,
    "was stopped",
  );
  const sent = server.sentBytes;
  assertEquals((await folder.get({ url: server.url("/f") })).sha256, SHA);
  assertEquals(server.sentBytes - sent, 1);
});

test("download: a second one of the same file is refused, and the error names the first", async () => {
  await using folder = await Folder.make();
  const { promise: started, resolve } = Promise.withResolvers<void>();
  await using server = new FaultServer((
    { number },
  ) => (resolve(), { file: FILE, delayMs: number ? 0 : 200 }));
  const first = folder.get({ url: server.url("/f") });
  await started;
  const { message } = await assertRejects(() => folder.get({ url: server.url("/f") }), M40Error);
  assertMatch(
    message,
    new RegExp(`model.gguf is being fetched already by process ${Deno.pid} \\(since 20`),
  );
  assertEquals((await first).sha256, SHA);
});

test("download: a lock's file that a dead process left locks nothing", async () => {
  await using folder = await Folder.make();
  const path = join(folder.path, "a.lock");
  await Deno.writeTextFile(path, '{"process":1,"since":"yesterday"}');
  using lock = await FileLock.take(path, "a is being fetched");
  const { message } = await assertRejects(
    () => FileLock.take(path, "a is being fetched"),
    M40Error,
  );
  assertMatch(message, /a is being fetched already by process/);
  lock[Symbol.dispose] satisfies () => void;
});

test("download: many processes that want the same lock get it one after the other, though its file comes and goes", async () => {
  await using folder = await Folder.make();
  const path = join(folder.path, "a.lock");
  let [holders, most, taken] = [0, 0, 0];
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let i = 0; i < 20;) {
      try {
        using _lock = await FileLock.take(path, "a is being fetched");
        most = Math.max(most, ++holders);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
        holders--;
        taken++;
        i++;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
  }));
  assertEquals([most, taken], [1, 160]);
});
