import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../../engine/errors.ts";
import { copyModel } from "../../engine/store/pull/copy.ts";
import { resolveModel } from "../../engine/store/mod.ts";
import { lockModel } from "../../engine/store/model_lock.ts";
import { readRecord, writeRecord } from "../../engine/store/record.ts";
import { removeModel } from "../../engine/store/remove.ts";
import { Home } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { splitModel } from "../fixtures/split_model.ts";
import { inStore, put, putBlob, putHubFile, putManifest } from "../fixtures/store_folder.ts";

// m40 rm and m40 cp.

const RECORD = { source: "hf.co/a/b:Q8_0", pulledAt: new Date(0), system: "Be brief." };

/** The names in a folder, those of what is not whole yet left out. */
async function names(folder: string): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name)
    .filter((name) => name !== ".partial").sort();
}

const refused = (work: Promise<unknown>) => assertRejects(() => work, M40Error);

Deno.test("rm: a model's file or parts and its record go, and nothing else", () =>
  inStore(async ({ models }) => {
    const others = ["mi.gguf", "mistral:7b.gguf", "mistral.gguf.bak", "mistral-00001-of-00002.txt"];
    for (const file of [...others, "mistral2.json", "x.json"]) await put(join(models, file), "1");
    await Deno.mkdir(join(models, "mistral-00001-of-00009.gguf"));
    const before = await names(models);
    await put(join(models, "mistral.gguf"), "12345");
    await writeRecord(models, "mistral", {
      ...RECORD,
      files: [{ name: "mistral.gguf", bytes: 5 }],
    });
    for (const part of [1, 3]) await put(join(models, `mistral-0000${part}-of-00003.gguf`), "123");
    const { name, files, freedBytes } = await removeModel("mistral");
    assertEquals([name, files.length, freedBytes > 11], ["mistral", 4, true]);
    assertEquals(await names(models), before);
    assertEquals((await refused(removeModel("mistral"))).code, "model_not_found");
  }));

Deno.test("rm: of links only the links go, of second names only those, and broken ones go as well", () =>
  inStore(async ({ models, home }) => {
    const file = await put(join(home, "elsewhere/file.gguf"), "12345");
    await Deno.symlink(file, join(models, "linked.gguf"));
    await Deno.link(file, join(models, "second.gguf"));
    await Deno.symlink(join(home, "nowhere"), join(models, "broken.gguf"));
    for (const name of ["linked", "second", "broken"]) {
      assertEquals((await removeModel(name)).freedBytes, 0, name);
    }
    assertEquals(await names(models), []);
    assertEquals(await Deno.readTextFile(file), "12345");
  }));

Deno.test("rm: a record that a removed file left behind goes; a name finds its tag latest", () =>
  inStore(async ({ models }) => {
    await writeRecord(models, "gone", { ...RECORD, files: [{ name: "gone.gguf", bytes: 5 }] });
    assertEquals((await removeModel("gone")).files, ["gone.json"]);
    const other = await put(join(models, "config.json"), '{"model_type": "llama"}');
    assertEquals((await refused(removeModel("config"))).code, "model_not_found");
    await Deno.remove(other);
    await put(join(models, "m:latest.gguf"), "1");
    assertEquals((await removeModel("m")).name, "m:latest");
    assertEquals(await names(models), []);
  }));

Deno.test("rm: what is not of the models directory is refused, with what to do, and stays", () =>
  inStore(async ({ models, ollama, hub, home }) => {
    await putManifest(ollama, "registry.ollama.ai/library/mistral/latest", [
      await putBlob(ollama, "model", "weights"),
    ]);
    const hubFile = await putHubFile(hub, "Qwen/Q-GGUF", "Q-Q4_0.gguf", "weights");
    const file = await put(join(home, "file.gguf"), "weights");
    await put(join(models, "demo.gguf"), "mine");
    const cases: [string, RegExp][] = [
      ["demo", /comes with the program/],
      ["mistral", /in Ollama's cache: `ollama rm mistral:latest` removes it/],
      ["Q-Q4_0", /in Hugging Face's cache: `hf cache rm model\/Qwen\/Q-GGUF` removes/],
      ["hf.co/Qwen/Q-GGUF:Q4_0", /in Hugging Face's cache/],
      [file, /is a path; only models of the models directory are removed/],
      [join(models, "demo.gguf"), /is a path/],
    ];
    for (const [name, expected] of cases) {
      const { code, message } = await refused(removeModel(name));
      assertEquals(code, "invalid_request", name);
      assertMatch(message, expected);
    }
    for (const name of ["../file", "..", "", "a\0b", "nothing", `${home}/no.gguf`]) {
      assertEquals((await refused(removeModel(name))).code, "model_not_found", name);
    }
    for (const path of [file, hubFile, join(models, "demo.gguf")]) await Deno.stat(path);
    assertEquals((await resolveModel("mistral")).fileBytes, 7);
  }));

Deno.test("rm, cp: a model that is being fetched is refused, with by whom", () =>
  inStore(async ({ models }) => {
    await put(join(models, "x.gguf"), await Deno.readFile(GOLDEN));
    {
      using _lock = await lockModel(models, "x");
      const wanted = new RegExp(
        `The model x is being fetched, copied or removed already by process ${Deno.pid}`,
      );
      assertMatch((await refused(removeModel("x"))).message, wanted);
      assertMatch((await refused(copyModel("demo", "x", { force: true }))).message, wanted);
      assertMatch((await refused(copyModel("x", "y"))).message, wanted);
    }
    await removeModel("x");
    assertEquals(await names(models), []);
    assertEquals(await names(join(models, ".partial")), [], "no lock is left");
  }));

Deno.test("cp: a model has a second name, either of which can be removed without the other", () =>
  inStore(async ({ models, ollama, home }) => {
    const parts = await splitModel(GOLDEN, models, "big", { parts: 2 });
    const files = await Promise.all(parts.map(async (path, i) => ({
      name: `big-0000${i + 1}-of-00002.gguf`,
      bytes: (await Deno.stat(path)).size,
      sha256: `${i}`.repeat(64),
    })));
    await writeRecord(models, "big", { ...RECORD, files });
    assertEquals((await copyModel("big", "other:2")).linked, true);
    const copy = await resolveModel("other:2");
    assertEquals(copy.record, {
      ...(await resolveModel("big")).record!,
      files: files.map((file, i) => ({ ...file, name: `other:2-0000${i + 1}-of-00002.gguf` })),
    });
    assertEquals((await removeModel("big")).freedBytes < 2000, true, "the bytes have another name");
    assertEquals((await resolveModel("other:2")).fileBytes, copy.fileBytes);
    // From other folders: a file may be written to, and is copied; a blob of Ollama's never is.
    const path = await put(join(home, "some.gguf"), await Deno.readFile(GOLDEN));
    assertEquals((await copyModel(path, "mine")).linked, false);
    assertEquals((await resolveModel("mine")).record?.source, path);
    await putManifest(ollama, "registry.ollama.ai/library/o/latest", [
      await putBlob(ollama, "model", await Deno.readFile(GOLDEN)),
      await putBlob(ollama, "system", "Be brief."),
    ]);
    assertEquals((await copyModel("o", "taken")).linked, true);
    assertEquals((await resolveModel("taken")).record?.system, "Be brief.");
    await removeModel("taken");
    assertEquals((await resolveModel("o")).origin, "ollama");
    assertEquals((await copyModel("demo", "demo2")).linked, false);
    // A link is followed once, not pointed to.
    await Deno.symlink(path, join(models, "link.gguf"));
    await copyModel("link", "unlinked");
    assertEquals((await Deno.lstat(join(models, "unlinked.gguf"))).isSymlink, false);
  }));

Deno.test("cp: a name that is taken stays what it is, unless it is to be replaced", () =>
  inStore(async ({ models }) => {
    await splitModel(GOLDEN, models, "parts", { parts: 2 });
    await put(join(models, "old.gguf"), "old");
    await writeRecord(models, "old", { ...RECORD, files: [{ name: "old.gguf", bytes: 3 }] });
    await put(join(models, "half-00001-of-00002.gguf"), "half");
    for (const name of ["old", "half"]) {
      const { message } = await refused(copyModel("parts", name));
      assertMatch(message, /There is a model ".*" already; --force replaces it/);
    }
    assertEquals(await Deno.readTextFile(join(models, "old.gguf")), "old");
    await copyModel("parts", "old", { force: true });
    assertEquals((await names(models)).filter((name) => name.startsWith("old")), [
      "old-00001-of-00002.gguf",
      "old-00002-of-00002.gguf",
    ]);
    assertEquals(await readRecord(models, "old"), {}, "what came with the old one is gone");
    await copyModel("parts", "old", { force: true });
    assertEquals((await resolveModel("old")).files.length, 2);
    assertEquals(await names(join(models, ".partial")), []);
  }));

Deno.test("cp: what a copy that was killed has left is removed by the next, but not one that goes on", () =>
  inStore(async ({ models }) => {
    const left = (name: string) => join(models, ".partial", name, "x.gguf");
    for (const name of ["dead.copy", "alive.copy", "y.copy", ".copy", "other"]) {
      await put(left(name), "left");
    }
    {
      using _lock = await lockModel(models, "alive");
      await copyModel("demo", "y");
    }
    const there = await Array.fromAsync(Deno.readDir(join(models, ".partial")));
    assertEquals(there.map(({ name }) => name).sort(), [".copy", "alive.copy", "other"]);
    assertEquals((await resolveModel("y")).files, [join(models, "y.gguf")]);
  }));

Deno.test("cp: what cannot be copied leaves all as it was", () =>
  inStore(async ({ models }) => {
    const [, second] = await splitModel(GOLDEN, models, "parts", { parts: 2 });
    await put(join(models, "broken.gguf"), "no model");
    await put(join(models, "old.gguf"), "old");
    await Deno.remove(second);
    const before = await names(models);
    const cases: [string, string, string, RegExp][] = [
      ["nothing", "x", "model_not_found", /There is no model "nothing"/],
      ["parts", "old", "invalid_model", /parts-00002-of-00002\.gguf/],
      ["broken", "old", "invalid_model", /not a GGUF file/],
      ["demo", "demo", "invalid_request", /the built-in model/],
      ["demo", "../x", "invalid_request", /cannot be the name of a model/],
      ["demo", "/etc/x", "invalid_request", /it is an absolute path/],
      ["broken", "broken", "invalid_request", /"broken" is "broken" already/],
      [join(models, "broken.gguf"), "broken", "invalid_request", /already/],
    ];
    for (const [from, to, code, expected] of cases) {
      const error = await refused(copyModel(from, to, { force: true }));
      assertEquals(error.code, code, `${from} ${to}`);
      assertMatch(error.message, expected);
    }
    // Where the new files are to be put together is something else.
    await put(join(models, ".partial"), "a file");
    assertEquals((await refused(copyModel("demo", "old", { force: true }))).code, "io");
    assertEquals(await names(models), before);
    assertEquals(await Deno.readTextFile(join(models, "old.gguf")), "old");
  }));

Deno.test("m40 cp, m40 rm: what they did is said, on a screen and as JSON", async () => {
  await using home = await Home.make();
  const copied = await m40(home, ["cp", GOLDEN, "one"]);
  assertEquals([copied.code, copied.stderr], [0, ""]);
  assertMatch(copied.stdout, /^one is llama: 547\.\d KiB copied\n$/);
  assertEquals(JSON.parse((await m40(home, ["cp", "one", "two", "--json"])).stdout).linked, true);
  assertEquals((await m40(home, ["cp", "one", "two"])).code, 2);
  const removed = await m40(home, ["rm", "one", "two", "one"]);
  assertMatch(
    removed.stdout,
    /^removed one: .*one\.gguf; .*\nremoved two: .*two\.gguf; 547\.\d KiB/,
  );
  const missing = await m40(home, ["rm", "one", "--json"]);
  assertEquals([missing.code, missing.stdout], [1, ""]);
  assertMatch(missing.stderr, /There is no model "one"/);
});
