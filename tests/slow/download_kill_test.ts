// kill -9 at random moments, then once more: the right file or the old state, and what was fetched is kept.
import { assert, assertEquals } from "@std/assert";
import { fromFileUrl } from "@std/path";
import { Folder, sha256, someBytes } from "../fixtures/download_fixture.ts";
import { FaultServer, served } from "../fixtures/fault_server.ts";

const CHILD = fromFileUrl(new URL("../fixtures/download_child.ts", import.meta.url));
const KILLS = Number(Deno.env.get("M40_KILLS") ?? 60);
/** A machine that is busy starts a process slowly, and none of these takes long. */
const LIMIT_MS = 60_000;

/** Starts a download; kills it after that many milliseconds. @returns Whether it came to its end before. */
async function run(
  url: string,
  target: string,
  hash: string,
  killAfterMs: number,
): Promise<boolean> {
  await using child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--quiet", CHILD, url, target, hash],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  const timer = setTimeout(() => {
    try {
      child.kill("SIGKILL");
    } catch {
      // It has just ended without the kill.
    }
  }, killAfterMs);
  const { success, signal } = await child.status;
  clearTimeout(timer);
  await reader.cancel();
  assert(success || signal === "SIGKILL", "it fails by being killed alone");
  return success;
}

Deno.test(`download: killed ${KILLS} times at random moments, it leaves the right file or what was there`, async () => {
  const bytes = someBytes(12 * 2 ** 20, 11);
  const hash = sha256(bytes);
  const old = new TextEncoder().encode("what was there");
  await using server = new FaultServer(() => ({
    file: served(bytes),
    trickle: { bytes: 2 ** 16, everyMs: 3 },
  }));
  let [kills, files, resumed] = [0, 0, 0];
  while (kills < KILLS) {
    await using folder = await Folder.make();
    const hashed = files % 2 === 0;
    const before = files % 3 === 0 ? old : undefined;
    if (before) await Deno.writeFile(folder.target, before);
    const download = async (killAfterMs: number) => {
      const journal = folder.partialFiles().includes("model.gguf.journal");
      const sent = server.sentBytes;
      const done = await run(server.url("/f"), folder.target, hashed ? hash : "", killAfterMs);
      if (done && journal && server.sentBytes - sent < bytes.length) resumed++;
      return done;
    };
    let done = false;
    while (!done && kills < KILLS) {
      // Some at the very start, some when it is all there and only has to be moved into place.
      const killAfterMs = Math.random() < 0.3 ? Math.random() * 30 : Math.random() * 400;
      done = await download(killAfterMs);
      if (!done) kills++;
      const there = await folder.content().catch(() => undefined);
      const right = there !== undefined && sha256(there) === hash;
      if (done) assert(right, "complete, and not right");
      else if (!right) assertEquals(there, before, "neither the right file nor the old state");
      assertEquals(folder.files().length, there ? 1 : 0, "nothing else in sight");
      // Killed between the last two steps, it is already moved into place.
      if (right) break;
    }
    // On a machine that is busy no other one may live for long enough to go on with something.
    assert(await download(LIMIT_MS));
    assertEquals(sha256(await folder.content()), hash);
    assertEquals(folder.partialFiles(), []);
    files++;
  }
  console.log(`${kills} kills, ${files} files, ${resumed} of them gone on with`);
  assert(resumed > 0, "nothing was ever gone on with");
});
