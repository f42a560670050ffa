import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../../errors.ts";
import { download } from "./download.ts";
import { QUICK, sha256, someBytes } from "../../../tests/fixtures/download_fixture.ts";
import { FaultServer, served } from "../../../tests/fixtures/fault_server.ts";

const BYTES = someBytes(6 * 2 ** 20, 5);
const SHA = sha256(BYTES);

/** A small file system of its own. */
class SmallDisk implements AsyncDisposable {
  private constructor(readonly path: string) {}

  /** @returns undefined where this process may mount nothing. */
  static async make(mebibytes: number): Promise<SmallDisk | undefined> {
    const path = await Deno.makeTempDir({ prefix: "m40-disk-" });
    try {
      const { success } = await new Deno.Command("mount", {
        args: ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "none", path],
        stderr: "null",
      }).output();
      if (success) return new SmallDisk(path);
    } catch {
      // There is no mount.
    }
    await Deno.remove(path);
    return undefined;
  }

  get target(): string {
    return join(this.path, "model.gguf");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await new Deno.Command("umount", { args: [this.path] }).output();
    await Deno.remove(this.path);
  }
}

const canMount = await (async () => {
  const disk = await SmallDisk.make(1);
  await disk?.[Symbol.asyncDispose]();
  return disk !== undefined;
})();
if (!canMount) {
  console.error("skipped: tests of a full disk, as this user may not mount a small one");
}

Deno.test(
  "disk: a file that does not fit is refused before it is fetched",
  { ignore: !canMount },
  async () => {
    await using disk = (await SmallDisk.make(5))!;
    await using server = new FaultServer(() => served(BYTES));
    const { message } = await assertRejects(
      () => download({ url: server.url("/f") }, disk.target, { tuning: QUICK }),
      M40Error,
    );
    assertMatch(message, /has .* MiB free; wanted 5\.9 MiB .*M40_MODELS/);
    assert(server.sentBytes < BYTES.length / 10);
  },
);

Deno.test("disk: a reserve stays free", { ignore: !canMount }, async () => {
  await using disk = (await SmallDisk.make(7))!;
  await using server = new FaultServer(() => served(BYTES));
  const tuning = { ...QUICK, reserveBytes: 2 ** 40 };
  assertEquals((await download({ url: server.url("/f") }, disk.target, { tuning })).sha256, SHA);
  const small = someBytes(700_000);
  await using other = new FaultServer(() => served(small));
  const target = join(disk.path, "small");
  await assertRejects(
    () => download({ url: other.url("/f") }, target, { tuning }),
    M40Error,
    "stay free",
  );
  await download({ url: other.url("/f") }, target, { tuning: QUICK });
});

Deno.test("disk: one that fills up in the middle is named, and what was fetched is gone on with", {
  ignore: !canMount,
}, async () => {
  for (const connections of [1, 4]) {
    await using disk = (await SmallDisk.make(8))!;
    // Slow enough for the disk to fill up meanwhile.
    await using server = new FaultServer(() => ({
      file: served(BYTES),
      trickle: { bytes: 65536, everyMs: 5 },
    }));
    const hog = join(disk.path, "hog");
    let full = false;
    const error = await assertRejects(
      () =>
        download({ url: server.url("/f") }, disk.target, {
          connections,
          tuning: { ...QUICK, pieceBytes: 2 ** 20 },
          onProgress({ doneBytes }) {
            if (full || doneBytes < BYTES.length / 2) return;
            full = true;
            try {
              Deno.writeFileSync(hog, new Uint8Array(8 * 2 ** 20));
            } catch {
              // Now it is full.
            }
          },
        }),
      M40Error,
    );
    assertMatch(error.message, /the disk is full.*is kept|MiB free/s);
    const sent = server.sentBytes;
    await Deno.remove(hog);
    const got = await download({ url: server.url("/f") }, disk.target, { tuning: QUICK });
    assertEquals(got.sha256, SHA);
    assert(
      server.sentBytes - sent < BYTES.length,
      `${server.sentBytes - sent} bytes were fetched again`,
    );
  }
});

Deno.test("disk: a body without length or end stops when the disk is full, and leaves nothing", {
  ignore: !canMount,
}, async () => {
  await using disk = (await SmallDisk.make(4))!;
  await using server = new FaultServer(() => ({ body: new Uint8Array(0), endless: true }));
  await assertRejects(
    () => download({ url: server.url("/f") }, disk.target, { tuning: QUICK }),
    M40Error,
  );
  assertEquals([...Deno.readDirSync(join(disk.path, ".partial"))], []);
});

Deno.test("disk: a folder that cannot be written is named", async () => {
  const path = await Deno.makeTempFile();
  await assertRejects(
    () => download({ url: "http://127.0.0.1:1/" }, join(path, "model.gguf")),
    M40Error,
    "cannot be made: a part of the path is not a directory",
  );
  await Deno.remove(path);
});
