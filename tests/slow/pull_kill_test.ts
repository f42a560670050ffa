// `m40 pull` killed at random moments, again and again: what is there is the new model, the old one, or none.
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path";
import { Home, m40, startM40 } from "../fixtures/cli_program.ts";
import { smallModel, smallParts } from "../fixtures/pull_fixture.ts";
import { type Content, content, PullServer, sha256Of } from "../fixtures/pull_server.ts";

const KILLS = Number(Deno.env.get("M40_PULL_KILLS") ?? 10);
/** Kills of one pull, at most; then it is left alone. */
const KILLS_OF_ONE = 4;

/** A file with something behind it that takes a while to come; each version another. */
function longer({ bytes }: Content, version: number): Content {
  const all = new Uint8Array(bytes.length + 400_000).fill(version, bytes.length);
  all.set(bytes);
  return content(all);
}

/** The models in the folder, each as the hashes of its files. */
async function stateOf(folder: string): Promise<Record<string, string>> {
  const state: Record<string, string> = {};
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile && name.endsWith(".gguf")) {
      state[name] = sha256Of(await Deno.readFile(join(folder, name)));
    }
  }
  return state;
}

for (const count of [1, 3]) {
  Deno.test(`m40 pull of ${count} file(s), killed ${KILLS} times: the old state or the right files`, async () => {
    await using home = await Home.make();
    await using server = new PullServer();
    server.bytesPerSecond = 2_000_000;
    const name = "hf.co/a/Tiny-GGUF:Q8_0";
    const plain: Record<string, Content> = count === 1
      ? { "Tiny-Q8_0.gguf": await smallModel() }
      : await smallParts("Tiny-Q8_0", count);
    const localName = (path: string) => path.replace("Tiny-Q8_0", "Tiny:Q8_0");
    let version = 0;
    let old: Record<string, string> = {};
    for (let kills = 0; kills < KILLS;) {
      version++;
      const files = Object.fromEntries(
        Object.entries(plain).map(([path, file]) => [path, longer(file, version)]),
      );
      server.repositories.set("a/Tiny-GGUF", {
        files,
        commit: version.toString(16).padStart(40, "0"),
      });
      const wanted = Object.fromEntries(
        Object.entries(files).map(([path, { sha256 }]) => [localName(path), sha256]),
      );
      for (let each = 0; each < KILLS_OF_ONE && kills < KILLS; each++, kills++) {
        const child = startM40(home, ["pull", name], server.env);
        const moment = 100 + Math.random() * 1500;
        const timer = setTimeout(() => {
          try {
            child.kill("SIGKILL");
          } catch {
            // It was done before.
          }
        }, moment);
        await Promise.all([child.stdin.close(), child.output()]);
        clearTimeout(timer);
        assertState(await stateOf(home.models), old, wanted, `${moment} ms`);
      }
      const done = await m40(home, ["pull", name], { env: server.env });
      assertEquals(done.code, 0, done.stderr);
      assertEquals(await stateOf(home.models), wanted);
      const again = await m40(home, ["pull", name], { env: server.env });
      assert(again.stdout.includes("is there already"), again.stdout + again.stderr);
      old = wanted;
    }
    // One that is killed as it gives up its lock leaves the lock's file, which blocks no process: the pulls above came
    // through.
    const left = [...Deno.readDirSync(join(home.models, ".partial"))].map(({ name }) => name)
      .filter((name) => !name.endsWith(".lock"));
    assertEquals(left, [], "something is left behind");
  });
}

/** Of several files the first makes the model: with it, all are of one version. */
function assertState(
  state: Record<string, string>,
  old: Record<string, string>,
  wanted: Record<string, string>,
  when: string,
): void {
  const [first] = Object.keys(wanted);
  if (state[first] === undefined) {
    // While it replaces another, which happens in parts.
    assert(Object.keys(wanted).length > 1 || Object.keys(old).length === 0, `nothing at ${when}`);
    return;
  }
  const expected = state[first] === wanted[first] ? wanted : old;
  assertEquals(state, expected, `killed after ${when}`);
}
