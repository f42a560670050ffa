/**
 * How fast a file is fetched from this machine itself and hashed, compared with SHA-256 alone, and the memory that it
 * takes: `deno run -A bench/download.ts [FOLDER]`. FOLDER is where it is written.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "@std/path";
import { download } from "../engine/store/download/download.ts";

const BYTES = 4 * 2 ** 30;

function rate(bytes: number, ms: number): string {
  return `${(bytes / ms / 1e3).toFixed(0)} MB/s`;
}

/** What node:crypto hashes in memory. */
function hashAlone(): number {
  const block = new Uint8Array(2 ** 20);
  const hash = createHash("sha256");
  const started = performance.now();
  for (let i = 0; i < 1024; i++) hash.update(block);
  return 2 ** 30 / (performance.now() - started);
}

/** The memory of this process that is its own, in MiB: not what the system caches of files. */
function residentMiB(): number {
  const status = Deno.readTextFileSync("/proc/self/status");
  return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** The processor time that this process has taken so far, in seconds, all its threads together. */
function processorSeconds(): number {
  const stat = Deno.readTextFileSync("/proc/self/stat");
  const [user, system] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number);
  return (user + system) / 100;
}

/** A server in a process of its own, so that its memory and its turns are not counted as ours. */
async function startServer() {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.filename!, "--serve"],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  return {
    url: new TextDecoder().decode(value).trim(),
    async [Symbol.asyncDispose]() {
      child.kill();
      await reader.cancel();
      await child.status;
    },
  };
}

if (Deno.args[0] === "--serve") {
  const { FaultServer } = await import("../tests/fixtures/fault_server.ts");
  const { repeated } = await import("./repeated_file.ts");
  const file = repeated(BYTES);
  const server = new FaultServer(() => file);
  console.log(server.url("/f"));
} else {
  const folder = await Deno.makeTempDir({ dir: Deno.args[0], prefix: "m40-bench-" });
  try {
    console.log(`SHA-256 alone, one thread: ${rate(hashAlone(), 1)}`);
    await using server = await startServer();
    for (const connections of [1, 2, 4]) {
      const target = join(folder, "file");
      let most = 0;
      const before = residentMiB();
      const usedBefore = processorSeconds();
      const started = performance.now();
      let fetchedMs = 0;
      await download({ url: server.url, bytes: BYTES }, target, {
        connections,
        onProgress({ note }) {
          most = Math.max(most, residentMiB());
          if (note === "checking") fetchedMs = performance.now() - started;
        },
      });
      const ms = performance.now() - started;
      const used = (processorSeconds() - usedBefore) / (BYTES / 1e9);
      console.log(
        `${connections} connections: ${rate(BYTES, fetchedMs)} fetched, ${
          rate(BYTES, ms)
        } with hash, flushed and in ` +
          `its place; ${used.toFixed(2)} s of processor time a GB; ` +
          `memory ${before.toFixed(0)} MiB before, ${most.toFixed(0)} MiB at most`,
      );
      await Deno.remove(target);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
