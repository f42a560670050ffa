import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { basename, join } from "@std/path";
import { M40Error } from "../../engine/errors.ts";
import type { MetadataEntry } from "../../engine/gguf/metadata.ts";
import { readGguf } from "../../engine/gguf/reader.ts";
import { withEngine } from "../fixtures/engine_fixture.ts";
import { GOLDEN, golden, GOLDEN_NAMES } from "../fixtures/goldens.ts";
import { type Cut, splitModel } from "../fixtures/split_model.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

// Models in several files.

/** With M40_SPLIT_ALL=1 each golden is cut and computed; else some of different kinds. */
const MODELS = Deno.env.get("M40_SPLIT_ALL") === "1"
  ? GOLDEN_NAMES
  : ["llama", "gpt-oss-mxfp4", "gemma4-e2b", "deepseek2-lite"];

async function inFolder(test: (folder: string) => Promise<void>): Promise<void> {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  await test(folder);
}

/** The bits of the logits at every position of a short text. */
async function logits(path: string): Promise<Uint32Array[]> {
  return await withEngine({ path }, async (engine) => {
    const rows: Uint32Array[] = [];
    for await (const { logits } of engine.evaluate([10, 17, 24, 31, 38, 45, 52])) {
      rows.push(new Uint32Array(Float32Array.from(logits).buffer));
    }
    return rows;
  });
}

for (const model of MODELS) {
  Deno.test(`parts: ${model} gives the bits of the whole file, whichever part is named`, () =>
    inFolder(async (folder) => {
      const whole = golden(model);
      const wanted = await logits(whole);
      assertEquals(wanted.length, 7);
      const paths = await splitModel(whole, folder, "cut", { parts: 3 });
      for (const path of [paths[0], paths[2]]) assertEquals(await logits(path), wanted, path);
    }));
}

Deno.test("parts: the header read is the whole model's, with each tensor in its file", () =>
  inFolder(async (folder) => {
    const whole = await readGguf(GOLDEN);
    for (const cut of [{ parts: 2 }, { parts: 7, emptyFirst: true }] satisfies Cut[]) {
      const paths = await splitModel(GOLDEN, folder, `cut${cut.parts}`, cut);
      const gguf = await readGguf(paths[1]);
      assertEquals(gguf.path, paths[0]);
      assertEquals(gguf.files.map(({ path }) => path), paths);
      const sizes = await Promise.all(paths.map(async (path) => (await Deno.stat(path)).size));
      assertEquals(gguf.files.map(({ bytes }) => bytes), sizes);
      assertEquals(gguf.fileBytes, sizes.reduce((a, b) => a + b));
      assertEquals([...gguf.tensors.keys()], [...whole.tensors.keys()]);
      assertEquals(gguf.metadata.get("general.name"), whole.metadata.get("general.name"));
      const bytes = await Deno.readFile(GOLDEN);
      for (const { name, file, offset, bytes: length } of gguf.tensors.values()) {
        const part = await Deno.readFile(paths[file]);
        const { offset: from } = whole.tensors.get(name)!;
        assertEquals(part.subarray(offset, offset + length), bytes.subarray(from, from + length));
      }
    }
  }));

Deno.test("parts: links to parts are read under the links' names", () =>
  inFolder(async (folder) => {
    const blobs = join(folder, "blobs");
    await Deno.mkdir(blobs);
    const paths = await splitModel(GOLDEN, blobs, "cut", { parts: 2 });
    for (const [i, path] of paths.entries()) {
      await Deno.rename(path, join(blobs, `blob${i}`));
      await Deno.symlink(join("blobs", `blob${i}`), join(folder, basename(path)));
    }
    assertEquals((await readGguf(join(folder, basename(paths[1])))).tensors.size, 30);
  }));

/** Cuts a model, spoils it, and says what reading each part fails with. */
async function spoiled(
  cut: Cut,
  spoil: (paths: string[], folder: string) => Promise<void> | void,
): Promise<string[]> {
  const messages: string[] = [];
  await inFolder(async (folder) => {
    const paths = await splitModel(GOLDEN, folder, "cut", cut);
    await spoil(paths, folder);
    for (const path of paths) {
      const error = await assertRejects(() => readGguf(path), M40Error);
      messages.push(error.message.replaceAll(folder, "F"));
    }
  });
  return messages;
}

Deno.test("parts: missing ones are named, all of them", async () => {
  const [first] = await spoiled({ parts: 4 }, async (paths) => {
    await Deno.remove(paths[1]);
    await Deno.remove(paths[3]);
    await Deno.symlink("nowhere", paths[3]);
  });
  assertMatch(
    first,
    /^F\/cut-00001-of-00004.gguf: the model is in 4 files, and 2 of them are missing from F: cut-00002-of-00004.gguf, cut-00004-of-00004.gguf; /,
  );
});

Deno.test("parts: one that is a copy of another, or renamed, is named", async () => {
  const copied = await spoiled({ parts: 3 }, (paths) => Deno.copyFile(paths[0], paths[2]));
  assertMatch(
    copied[0],
    /^F\/cut-00003-of-00003.gguf: named as part 3 of 3, but its header says part 1 of 3/,
  );
  const swapped = await spoiled({ parts: 3 }, async ([a, b]) => {
    await Deno.rename(a, `${a}.x`);
    await Deno.rename(b, a);
    await Deno.rename(`${a}.x`, b);
  });
  assertMatch(swapped[2], /^F\/cut-00001-of-00003.gguf: named as part 1 of 3, but .* part 2 of 3/);
});

Deno.test("parts: those of another model are reported, by what differs", async () => {
  const set = (key: string, entry: MetadataEntry): Cut => ({
    parts: 2,
    change: (part, metadata) => part === 2 && metadata.set(key, entry),
  });
  const cases: [Cut, RegExp][] = [
    [set("split.count", { type: "uint16", value: 3 }), /named as part 2 of 2, but .* part 2 of 3/],
    [
      set("split.tensors.count", { type: "int32", value: 31 }),
      /31 tensors, .* says 30 tensors: they are of different/,
    ],
    [
      set("general.architecture", { type: "string", value: "qwen3" }),
      /"general.architecture" is "qwen3", in cut-00001-of-00002.gguf it is "llama"/,
    ],
    [set("split.no", { type: "uint16", value: 2 }), /"split.no"/],
    [set("split.count", { type: "string", value: "2" }), /"split.count"/],
    [
      {
        parts: 2,
        change: (_, metadata) => metadata.set("split.tensors.count", { type: "int32", value: 40 }),
      },
      /promises 40 tensors in 2 parts, but they have 30/,
    ],
    [
      {
        parts: 2,
        change: (_, metadata) => metadata.set("split.tensors.count", { type: "int32", value: -1 }),
      },
      /"split.tensors.count"/,
    ],
  ];
  for (const [cut, expected] of cases) {
    for (const message of await spoiled(cut, () => {})) assertMatch(message, expected);
  }
  const twice = await spoiled({ parts: 2 }, async ([, second], folder) => {
    // The second of a cut that begins earlier.
    const [, other] = await splitModel(GOLDEN, join(folder), "other", {
      parts: 2,
      emptyFirst: true,
    });
    await Deno.rename(other, second);
  });
  assertMatch(
    twice[0],
    /tensor ".*" is in cut-00001-of-00002.gguf too: they are parts of different/,
  );
});

Deno.test("parts: a damaged part is named, not the first", async () => {
  const [first] = await spoiled({ parts: 3 }, async (paths) => {
    await Deno.truncate(paths[1], (await Deno.stat(paths[1])).size - 100);
  });
  assertMatch(first, /^F\/cut-00002-of-00003.gguf: the data of tensor/);
});

Deno.test("parts: names and headers that disagree about parts say what to do", () =>
  inFolder(async (folder) => {
    const [one] = await splitModel(GOLDEN, folder, "cut", { parts: 2 });
    const renamed = join(folder, "renamed.gguf");
    await Deno.rename(one, renamed);
    const error = await assertRejects(() => readGguf(renamed), M40Error);
    assertMatch(error.message, /part 1 of 2, .* wanted one such as NAME-00001-of-00002.gguf$/);
    const other = join(folder, "cut-00002-of-00002.gguf");
    const joined = join(folder, "joined.gguf");
    await Deno.writeFile(joined, await Deno.readFile(renamed));
    await Deno.writeFile(joined, await Deno.readFile(other), { append: true });
    const { size } = await Deno.stat(other);
    const message = (await assertRejects(() => readGguf(joined), M40Error)).message;
    assertMatch(
      message,
      /wanted one such as NAME-00001-of-00002.gguf\. There are \d+ bytes behind/,
    );
    assert(Math.abs(Number(/(\d+) bytes/.exec(message)![1]) - size) < 32, message);
    assertMatch(message, /by cat.*--merge$/);
    const whole = join(folder, "whole-00001-of-00002.gguf");
    await Deno.copyFile(GOLDEN, whole);
    await assertRejects(() => readGguf(whole), M40Error, "knows of no parts");
    // One of one is a whole model, whatever its header says.
    const single = join(folder, "single-00001-of-00001.gguf");
    await Deno.copyFile(GOLDEN, single);
    assertEquals((await readGguf(single)).tensors.size, 30);
  }));
