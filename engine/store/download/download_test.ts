import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertMatch,
  assertRejects,
} from "@std/assert";
import { M40Error } from "../../errors.ts";
import { DownloadError } from "./errors.ts";
import type { DownloadOptions } from "./types.ts";
import { Folder, sha256, someBytes } from "../../../tests/fixtures/download_fixture.ts";
import {
  FaultServer,
  type Misdeed,
  type Received,
  served,
} from "../../../tests/fixtures/fault_server.ts";

const BYTES = someBytes(1_000_003);
const SHA = sha256(BYTES);
const FILE = served(BYTES);
/** Where nothing comes, and that is to be seen. */
const STALLING = { tuning: { stallMs: 300 } };

/** A server of one file that does this to its first requests, then all right. */
function failingAtFirst(misdeeds: Misdeed[], file = FILE): FaultServer {
  return new FaultServer(({ number }) => ({ ...misdeeds[number], file }));
}

/** Fetches a file from a server that fails at first, and sees that it arrives as it is. */
async function survives(
  misdeeds: Misdeed[],
  file = FILE,
  options: DownloadOptions = {},
): Promise<Received[]> {
  await using folder = await Folder.make();
  await using server = failingAtFirst(misdeeds, file);
  const got = await folder.get({ url: server.url("/f") }, options);
  assertEquals(got, { bytes: BYTES.length, sha256: SHA });
  assert(sha256(await folder.content()) === SHA);
  assertEquals(folder.partialFiles(), []);
  return server.requests;
}

/** Fetches a file that is not available; nothing may be at the target. */
async function refuses(
  handler: ConstructorParameters<typeof FaultServer>[0],
  message: RegExp,
  remote: { bytes?: number; sha256?: string; headers?: Record<string, string> } = {},
): Promise<{ error: DownloadError; requests: Received[]; partial: string[] }> {
  await using folder = await Folder.make();
  await using server = new FaultServer(handler);
  const error = await assertRejects(
    () => folder.get({ url: server.url("/f"), ...remote }),
    M40Error,
  ) as DownloadError;
  assertMatch(error.message, message);
  assertEquals(folder.files(), []);
  return { error, requests: server.requests, partial: folder.partialFiles() };
}

Deno.test("download: a file arrives whole, by several connections, its head looked at once and before", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => FILE);
  const head = new Uint8Array(100_000);
  let requestsForHead = 0;
  const got = await folder.get({ url: server.url("/f"), bytes: BYTES.length, sha256: SHA }, {
    async checkHead(source) {
      assertEquals(await source.read(10, head), head.length);
      assertEquals(source.bytes, BYTES.length);
      requestsForHead = server.requests.length;
    },
  });
  assertEquals(got, { bytes: BYTES.length, sha256: SHA });
  assertEquals(head, BYTES.slice(10, 100_010));
  assert(sha256(await folder.content()) === SHA);
  assertEquals(requestsForHead, 2, "pieces of 64 KiB");
  assertEquals(server.sentBytes, BYTES.length, "nothing is fetched twice");
  assertEquals(server.requests.length, 16);
  // The client may open one more while another becomes free.
  assertLess(server.connections, 8, "connections are used again");
  assertGreater(server.mostConnections, 2);
  assertEquals(folder.partialFiles(), []);
});

Deno.test("download: a head that ends the file is read to the end, and no further", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => FILE);
  await folder.get({ url: server.url("/f") }, {
    async checkHead(source) {
      const into = new Uint8Array(100);
      assertEquals(await source.read(BYTES.length - 60, into), 60);
      assertEquals(into.slice(0, 60), BYTES.slice(-60));
      assertEquals(await source.read(BYTES.length + 5, into), 0);
    },
  });
  assertEquals(server.sentBytes, BYTES.length);
});

Deno.test("download: a file whose head is refused leaves nothing", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => FILE);
  await assertRejects(
    () =>
      folder.get({ url: server.url("/f") }, {
        checkHead: () => Promise.reject(new Error("not for us")),
      }),
    Error,
    "not for us",
  );
  assertEquals([folder.files(), folder.partialFiles()], [[], []]);
  assertLess(server.sentBytes, 200_000);
});

Deno.test("download: an empty file is one", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => served(new Uint8Array(0)));
  assertEquals((await folder.get({ url: server.url("/f") })).bytes, 0);
  assertEquals((await folder.content()).length, 0);
});

Deno.test("download: servers without ranges, without lengths, without either", async () => {
  await survives([], { ...FILE, ranges: false });
  await survives([{ headers: { "Content-Length": null } }], { ...FILE, ranges: false });
  await survives([], served(BYTES, { ranges: false }));
});

Deno.test("download: connections that are cut, stall, or were never there", async () => {
  await survives([{ cutAfter: -1 }, { cutAfter: 0 }, { cutAfter: 1 }, { cutAfter: 30_000 }]);
  await survives([{ stallAfter: 0 }, { stallAfter: 1000 }], FILE, STALLING);
  await survives([{ cutAfter: 300_000 }, { cutAfter: 999_999 }], { ...FILE, ranges: false });
  await survives([{ cutAfter: 300_000 }, { cutAfter: 0 }], served(BYTES, { ranges: false }));
});

Deno.test("download: a connection on which next to nothing comes is given up", async () => {
  const requests = await survives([{ trickle: { bytes: 3, everyMs: 10 } }], FILE, STALLING);
  assertEquals(requests[1].range?.start !== 0, true, "what came is kept");
});

Deno.test("download: answers that make no sense are asked for again", async () => {
  const bytes = `bytes 5-${64 * 1024 + 4}/${BYTES.length}`;
  await survives([{ headers: { "Content-Range": bytes } }]);
  await survives([{ headers: { "Content-Range": null } }, {
    headers: { "Content-Range": "bytes 9-3/*" },
  }]);
  await survives([{ headers: { "Content-Range": `bytes 0-65535/${BYTES.length - 1}` } }], {
    ...FILE,
  });
  await survives([{ headers: { "Content-Length": "70000" } }]);
  await survives([{ headers: { "Content-Length": "70" } }]);
  await survives([{ status: 204 }, { status: 500 }, { status: 502 }, { status: 408 }]);
});

Deno.test("download: a server whose ranges are always wrong is asked for the whole file", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(({ range }) =>
    range ? { file: FILE, headers: { "Content-Range": "bytes 1-2/3" } } : FILE
  );
  assertEquals((await folder.get({ url: server.url("/f") })).sha256, SHA);
  assertEquals(server.requests.length, 4);
});

Deno.test("download: 429 and 503 are waited for as long as they say, up to a limit", async () => {
  for (
    const [header, waited] of [
      ["1", "0.3"], // One second, capped at the 300 ms of the tests.
      [new Date(Date.now() + 3600_000).toUTCString(), "0.3"],
      [new Date(Date.now() - 3600_000).toUTCString(), "0.0"],
      ["soon", "0.0"],
    ] as const
  ) {
    const started = performance.now();
    const notes: string[] = [];
    const onProgress = ({ note = "" }) => void notes.push(note);
    await survives([{ status: 503, headers: { "Retry-After": header } }], FILE, {
      onProgress,
    });
    assertGreater(performance.now() - started, Number(waited) * 1000 - 10, header);
    assertMatch(notes.join("\n"), new RegExp(`; next try in ${waited} s$`, "m"), header);
  }
});

Deno.test("download: a server that wants one connection gets one", async () => {
  await using folder = await Folder.make();
  let open = 0;
  await using server = new FaultServer(({ number }) =>
    number > 0 && ++open % 4 !== 0 ? { status: 429, file: FILE } : FILE
  );
  assertEquals((await folder.get({ url: server.url("/f") })).sha256, SHA);
});

Deno.test("download: a refusal is reported at once, with what to do", async () => {
  for (
    const [status, message] of [
      [401, /answers 401.*set HF_TOKEN/],
      [403, /answers 403 Forbidden.*accept its terms.*HF_TOKEN/],
      [404, /answers 404 Not Found.*There is no such file/],
    ] as const
  ) {
    const { error, requests, partial } = await refuses(() => ({ status }), message);
    assertEquals([error.status, requests.length, partial], [status, 1, []]);
  }
  const { error } = await refuses(
    () => ({ status: 403, headers: { "X-Error-Message": "gated\x9b2J repo" } }),
    /\(gated\\x9b2J repo\)/,
  );
  assertEquals(error.code, "io");
});

Deno.test("download: a server that only fails is given up, and says how it failed", async () => {
  const { requests } = await refuses(() => ({ status: 500 }), /answers 500.*\(8 tries\)/);
  assertEquals(requests.length, 8);
  await refuses(() => ({ cutAfter: -1 }), /cannot be reached.*\(3 tries\)/);
  await refuses(({ number }) => number === 0 ? FILE : { status: 500 }, /answers 500.*\(8 tries\)/);
});

Deno.test("download: a server without ranges that always cuts at the same byte is given up", async () => {
  const { requests } = await refuses(
    () => ({ file: { ...FILE, ranges: false }, cutAfter: 300_000 }),
    /connection was cut.*\(8 tries\)/,
  );
  assertEquals(requests.length, 8);
});

Deno.test("download: another length or hash than wanted is no file", async () => {
  await refuses(() => FILE, /has 1000003 bytes; wanted 1000002/, { bytes: BYTES.length - 1 });
  const { partial } = await refuses(() => FILE, /SHA-256.*thrown away/, {
    sha256: sha256(new Uint8Array(1)),
  });
  assertEquals(partial, []);
  const plain = { ...FILE, ranges: false };
  await refuses(
    () => ({ file: plain, headers: { "Content-Length": null } }),
    /longer than 1000 bytes/,
    {
      bytes: 1000,
    },
  );
});

Deno.test("download: a body without end is cut off where the file should have ended", async () => {
  await refuses(
    () => ({ file: { ...FILE, ranges: false }, endless: true }),
    /longer than 1000003 bytes/,
    {
      bytes: BYTES.length,
    },
  );
  await using folder = await Folder.make();
  await using server = new FaultServer(() => ({ file: FILE, endless: true }));
  assertEquals((await folder.get({ url: server.url("/f"), sha256: SHA })).sha256, SHA);
});

Deno.test("download: a bad file never replaces a good one", async () => {
  await using folder = await Folder.make();
  await Deno.writeTextFile(folder.target, "good");
  await using server = new FaultServer(() => FILE);
  await assertRejects(
    () => folder.get({ url: server.url("/f"), sha256: "0".repeat(64) }),
    DownloadError,
  );
  assertEquals(await Deno.readTextFile(folder.target), "good");
  await folder.get({ url: server.url("/f") });
  assert(sha256(await folder.content()) === SHA);
});

Deno.test("download: a file that is there with the right hash is not fetched again", async () => {
  await using folder = await Folder.make();
  await using server = new FaultServer(() => FILE);
  await Deno.writeFile(folder.target, BYTES);
  assertEquals(await folder.get({ url: server.url("/f"), sha256: SHA }), {
    bytes: BYTES.length,
    sha256: SHA,
  });
  assertEquals(server.requests.length, 0);
});

Deno.test("download: what cannot be fetched is refused by name", async () => {
  await using folder = await Folder.make();
  for (const url of ["", "nonsense", "file:///etc/passwd", "ftp://host/f"]) {
    const { code } = await assertRejects(() => folder.get({ url }), M40Error, "is no URL to fetch");
    assertEquals(code, "invalid_request");
  }
  const damaged = "http://me:100%@localhost/m.gguf";
  await assertRejects(() => folder.get({ url: damaged }), M40Error, "write %25");
  await assertRejects(
    () => folder.get({ url: "http://x/", sha256: "abc" }),
    M40Error,
    "wanted 64 hexadecimal",
  );
  await assertRejects(() => folder.get({ url: "http://x/", bytes: -1 }), M40Error, "-1 bytes");
  await Deno.mkdir(folder.target);
  await assertRejects(() => folder.get({ url: "http://x/" }), M40Error, "is a directory");
});
