/**
 * Writes prompts to a disk cache until it is killed: `disk_cache_writer.ts MODEL FOLDER FIRST`. It says
 * "writing" when the first answer is there.
 *
 * @module
 */
import { Engine } from "../engine/mod.ts";
import { BACKEND } from "./device_harness.ts";
import { asking, collect, promptOf } from "./engine_fixture.ts";

const [path, folder, first] = Deno.args;
const engine = await Engine.load(path, {
  device: BACKEND,
  threads: 1,
  diskCache: { folder, bytes: 2 ** 30 },
});
for (let i = Number(first);; i++) {
  const { error } = await collect(engine.generate(asking(promptOf(600, i), 4)));
  if (error !== undefined) throw error;
  if (i === Number(first)) console.log("writing");
}
