import { assert, assertEquals } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { asking, collect, loadEngine, promptOf, withEngine } from "../fixtures/engine_fixture.ts";
import { Random } from "../fixtures/random.ts";
import { writeWindowedModel } from "../fixtures/windowed_model.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

const KILLS = Number(Deno.env.get("M40_DISK_CACHE_KILLS") ?? 20);
const PROMPTS = 40;

Deno.test(`a process that writes pages is killed ${KILLS} times; what it has left gives the right answers or none`, async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const path = await writeWindowedModel(folder, "gemma3");
  const disk = join(folder, "disk");
  const alone: unknown[] = [];
  const ask = (i: number) => asking(promptOf(600, i), 4);
  await withEngine({ path }, async (engine) => {
    for (let i = 0; i < PROMPTS; i++) alone.push(await collect(engine.generate(ask(i))));
  });
  const random = new Random(12);
  let cached = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    await writeAndDie(path, disk, kill, random.below(150));
    await using engine = await loadEngine({ path, diskCache: { folder: disk, bytes: 2 ** 30 } });
    for (let i = kill; i < Math.min(kill + 8, PROMPTS); i++) {
      assertEquals(await collect(engine.generate(ask(i))), alone[i], `prompt ${i}`);
    }
    const status = engine.status();
    cached += status.cachedTokens;
    assertEquals([status.disk!.damagedKvBlocks, status.disk!.writes], [0, true]);
  }
  assert(cached > 0, "nothing was ever found");
});

/** Starts a process that answers prompts, from the one of a number on, and kills it so long after the first. */
async function writeAndDie(path: string, disk: string, first: number, milliseconds: number) {
  const script = fromFileUrl(new URL("../fixtures/disk_cache_writer.ts", import.meta.url));
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", script, path, disk, String(first)],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const reader = process.stdout.getReader();
  assert((await reader.read()).value !== undefined, "it has ended by itself");
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
  process.kill("SIGKILL");
  await reader.cancel();
  await process.status;
}
