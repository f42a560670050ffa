import "../../tests/fixtures/own_environment.ts";
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { M40Error } from "../errors.ts";
import { demoModelFile, extract } from "./demo_model.ts";
import { cacheDirectory, modelsDirectory, stateDirectory } from "./folders.ts";
import { nearest } from "../nearest.ts";
import { listModels, resolveModel } from "./mod.ts";
import { History } from "../../cli/conversation/history.ts";
import { TemporaryEnvironment, TemporaryFolder } from "../../tests/fixtures/temporary.ts";

/** Runs a test with other environment variables and a temporary folder. */
async function within(
  env: (folder: string) => Record<string, string | undefined>,
  test: (folder: string) => Promise<void>,
): Promise<void> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  // What other programs have fetched on this machine is not looked at.
  const caches = { OLLAMA_MODELS: join(folder, "none"), HF_HUB_CACHE: join(folder, "none") };
  using _environment = new TemporaryEnvironment({ ...caches, ...env(folder) });

  await test(folder);
}

const models = (folder: string) => ({ M40_MODELS: folder });

Deno.test("store: names are the files NAME.gguf of the models directory, sorted; the rest is left out", () =>
  within(models, async (folder) => {
    await Deno.mkdir(join(folder, "folder.gguf"));
    for (
      const file of ["zeta.gguf", "alpha-7B.Q4_K.gguf", "notes.txt", ".hidden.gguf", "-x.gguf"]
    ) {
      await Deno.writeTextFile(join(folder, file), "12345");
    }
    await Deno.symlink(join(folder, "zeta.gguf"), join(folder, "linked.gguf"));
    await Deno.symlink(join(folder, "nowhere"), join(folder, "broken.gguf"));
    const named = (await listModels()).filter(({ builtIn }) => !builtIn);
    assertEquals(named.map(({ name }) => name), ["alpha-7B.Q4_K", "linked", "zeta"]);
    assertEquals(named.map(({ fileBytes }) => fileBytes), [5, 5, 5]);
    assertEquals((await resolveModel("zeta")).path, join(folder, "zeta.gguf"));
  }));

Deno.test("store: a mistyped name is answered with the nearest and with what there is", () =>
  within(models, async (folder) => {
    await Deno.writeTextFile(join(folder, "mistral.gguf"), "");
    await Deno.writeTextFile(join(folder, "llama.gguf"), "");
    const { message, code } = await assertRejects(() => resolveModel("mistrl"), M40Error);
    assertEquals(code, "model_not_found");
    assertMatch(message, /"mistrl"\. Did you mean "mistral"\?.*There is: .*llama, mistral/);
    const typed = await assertRejects(() => resolveModel("mistral.gguf"), M40Error);
    assertMatch(typed.message, /Did you mean "mistral"\?/);
  }));

Deno.test("store: no name leads out of the models directory", () =>
  within(models, async (folder) => {
    await Deno.writeTextFile(join(folder, "..gguf"), "");
    for (const name of ["", ".", "..", "a\0b", "-rf", "a b", "\n", "x".repeat(5000)]) {
      const error = await assertRejects(() => resolveModel(name), M40Error);
      assertEquals(error.code, "model_not_found", JSON.stringify(name));
    }
  }));

Deno.test("store: a path is a path; a folder or a missing file is said to be one", () =>
  within(models, async (folder) => {
    const path = join(folder, "some.gguf");
    await Deno.writeTextFile(path, "abc");
    const { record: _, recordProblem: __, ...found } = await resolveModel(path);
    const wanted = { name: "some", path, files: [path], fileBytes: 3, builtIn: false };
    assertEquals(found, { ...wanted, origin: "path" });
    await assertRejects(() => resolveModel(`${folder}/`), M40Error, "is not a file");
    await assertRejects(() => resolveModel(`${folder}/no.gguf`), M40Error, "There is no file");
    await assertRejects(() => resolveModel(`${folder}/a\0b.gguf`), M40Error, "There is no file");
  }));

Deno.test("store: without a models directory there is only what is built in", () =>
  within((folder) => ({ M40_MODELS: join(folder, "none") }), async () => {
    assertEquals((await listModels()).filter(({ builtIn }) => !builtIn), []);
  }));

Deno.test("store: folders follow the XDG base directories; relative ones are ignored", () =>
  within((folder) => ({
    HOME: folder,
    M40_MODELS: undefined,
    XDG_DATA_HOME: join(folder, "data"),
    XDG_CACHE_HOME: "relative",
    XDG_STATE_HOME: undefined,
  }), (folder) => {
    assertEquals(modelsDirectory(), join(folder, "data/m40/models"));
    assertEquals(cacheDirectory(), join(folder, ".cache/m40"));
    assertEquals(stateDirectory(), join(folder, ".local/state/m40"));
    return Promise.resolve();
  }));

Deno.test("store: the built-in model's copy is made once, and made again when it is not the same", () =>
  within(() => ({}), async (folder) => {
    const source = join(folder, "embedded");
    const target = join(folder, "cache/deep/demo.gguf");
    await Deno.writeFile(source, new Uint8Array([1, 2, 3, 4]));
    assertEquals(await extract(source, target), target);
    assertEquals(await Deno.readFile(target), new Uint8Array([1, 2, 3, 4]));
    const { ino } = await Deno.stat(target);
    await extract(source, target);
    assertEquals((await Deno.stat(target)).ino, ino, "an equal copy is left alone");
    for (const other of [[1, 2, 3], [1, 2, 3, 5], []]) {
      await Deno.writeFile(target, new Uint8Array(other));
      await extract(source, target);
      assertEquals(await Deno.readFile(target), new Uint8Array([1, 2, 3, 4]));
    }
    const left = Array.from(Deno.readDirSync(join(folder, "cache/deep")), ({ name }) => name);
    assertEquals(left, ["demo.gguf"], "no temporary files stay");
  }));

Deno.test("store: a cache that cannot be written is an error that says what to set", () =>
  within(() => ({}), async (folder) => {
    await Deno.writeTextFile(join(folder, "file"), "x");
    const target = join(folder, "file/demo.gguf");
    const { code } = await assertRejects(
      () => extract(join(folder, "file"), target),
      M40Error,
      "XDG_CACHE_HOME",
    );
    assertEquals(code, "io");
  }));

Deno.test("store: without a home the built-in model's copy lasts as long as the program", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const module = new URL("./demo_model.ts", import.meta.url);
  const code = `import { demoModelPath } from "${module}";
      const path = await demoModelPath(true);
      console.log(path, (await Deno.stat(path)).size);
      Deno.exit(0);`;
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-check", code],
    cwd: fromFileUrl(new URL("../..", import.meta.url)),
    env: {
      HOME: "",
      XDG_CACHE_HOME: "",
      TMPDIR: folder,
      DENO_DIR: Deno.env.get("DENO_DIR") ?? join(Deno.env.get("HOME") ?? "/root", ".cache/deno"),
    },
  }).output();
  const [path, size] = new TextDecoder().decode(stdout).trim().split(" ");
  assertEquals(path.startsWith(`${folder}/m40-`), true, new TextDecoder().decode(stderr));
  assertEquals(Number(size), (await Deno.stat(demoModelFile)).size);
  assertEquals(Array.from(Deno.readDirSync(folder)), [], "nothing is left of it");
});

Deno.test("store: without a home there are no folders, and what is built in", () =>
  within(() => ({
    ...{ HOME: undefined, M40_MODELS: undefined },
    ...{ XDG_DATA_HOME: undefined, XDG_CACHE_HOME: "relative", XDG_STATE_HOME: undefined },
  }), async () => {
    assertEquals([modelsDirectory(), cacheDirectory(), stateDirectory()], [
      undefined,
      undefined,
      undefined,
    ]);
    assertEquals((await listModels()).map(({ name }) => name), ["demo"]);
    const history = await History.open();
    await history.add("a line");
    assertEquals(history.lines, ["a line"]);
  }));

Deno.test("nearest: finds slips of the fingers and prefixes, and nothing far away", () => {
  const names = ["serve", "run", "list", "show", "tokenize"];
  assertEquals(nearest("srve", names), "serve");
  assertEquals(nearest("LIST", names), "list");
  assertEquals(nearest("lsit", names), "list");
  assertEquals(nearest("toke", names), "tokenize");
  for (const word of ["", "x", "quantise", "z".repeat(1000)]) {
    assertEquals(nearest(word, names), undefined, word);
  }
});

Deno.test("history: only its owner can read it, it is bounded, and lines stay lines", () =>
  within(() => ({}), async (folder) => {
    const path = join(folder, "deep/history");
    const history = await History.open(path);
    await history.add("one\nline");
    await history.add("one line");
    await history.add("   ");
    await history.add("x".repeat(20_000));
    assertEquals((await Deno.readTextFile(path)).split("\n"), ["one line", ""]);
    assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);

    await Deno.chmod(path, 0o644);
    await history.add("two");
    assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600, "an open file is closed to others");

    await Deno.writeTextFile(path, Array.from({ length: 3000 }, (_, i) => `line ${i}\n`).join(""));
    const reopened = await History.open(path);
    assertEquals([reopened.lines.length, reopened.lines.at(-1)], [1000, "line 2999"]);
    assertEquals((await Deno.readTextFile(path)).split("\n").length, 1001);
    assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
  }));
