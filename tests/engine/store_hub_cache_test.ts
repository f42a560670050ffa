// Models that Hugging Face's programs have fetched.
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { dirname, join } from "@std/path";
import { M40Error } from "../../engine/errors.ts";
import { readGguf } from "../../engine/gguf/reader.ts";
import { listModels, resolveModel } from "../../engine/store/mod.ts";
import { companionFile, COMPANIONS } from "../fixtures/companion_files.ts";
import { GOLDEN } from "../fixtures/goldens.ts";
import { splitModel } from "../fixtures/split_model.ts";
import { inStore, put, putHubFile } from "../fixtures/store_folder.ts";

/** What list shows in addition to the built-in model. */
async function listed(): Promise<[name: string, origin: string][]> {
  return (await listModels()).filter(({ builtIn }) => !builtIn)
    .map(({ name, origin }) => [name, origin]);
}

const refused = (name: string) => assertRejects(() => resolveModel(name), M40Error);

Deno.test("Hugging Face's cache: files are found by name, by repository and quantisation, and in parts", () =>
  inStore(async ({ hub, home }) => {
    const one = await putHubFile(hub, "Qwen/Qwen3-8B-GGUF", "Qwen3-8B-Q4_K_M.gguf", "q4");
    await putHubFile(hub, "Qwen/Qwen3-8B-GGUF", "mmproj-F16.gguf", companionFile("projector"));
    await putHubFile(hub, "Qwen/Qwen3-8B-GGUF", "README.md", "text");
    assertEquals((await resolveModel("hf.co/Qwen/Qwen3-8B-GGUF")).path, one);
    const two = await putHubFile(hub, "Qwen/Qwen3-8B-GGUF", "Qwen3-8B-Q8_0.gguf", "q8");
    const same = await putHubFile(hub, "other/copy", "Qwen3-8B-Q8_0.gguf", "another");
    const [first] = await splitModel(
      GOLDEN,
      await Deno.makeTempDir({ dir: home }),
      "big-UD-Q2_K_XL",
      {
        parts: 2,
      },
    );
    const parts: string[] = [];
    for await (const { name } of Deno.readDir(dirname(first))) {
      const bytes = await Deno.readFile(join(dirname(first), name));
      parts.push(await putHubFile(hub, "un/big", `UD-Q2_K_XL/${name}`, bytes));
    }
    // The second of these has not come yet.
    await putHubFile(hub, "un/half", "half-00001-of-00002.gguf", "half");
    assertEquals(await listed(), [
      ["Qwen3-8B-Q4_K_M", "hugging-face"],
      ["Qwen3-8B-Q8_0", "hugging-face"],
      ["hf.co/other/copy:Q8_0", "hugging-face"],
      ["big-UD-Q2_K_XL", "hugging-face"],
    ]);
    const found: [string, string][] = [
      ["Qwen3-8B-Q8_0", two],
      ["hf.co/Qwen/Qwen3-8B-GGUF:Q4_K_M", one],
      ["hf.co/qwen/qwen3-8b-gguf:q4_k_m", one],
      ["https://huggingface.co/Qwen/Qwen3-8B-GGUF:Q8_0", two],
      ["hf.co/Qwen/Qwen3-8B-GGUF/Qwen3-8B-Q8_0.gguf", two],
      ["hf.co/other/copy", same],
      ["hf.co/un/big:UD-Q2_K_XL", parts.sort()[0]],
    ];
    for (const [name, path] of found) assertEquals((await resolveModel(name)).path, path, name);
    const big = await resolveModel("big-UD-Q2_K_XL");
    assertEquals(big.files, parts);
    assertEquals((await readGguf(big.path)).tensors.size, 30);
    assertEquals(big.record?.source, "hf.co/un/big:UD-Q2_K_XL");
    assertMatch(
      (await refused("hf.co/Qwen/Qwen3-8B-GGUF")).message,
      /several models here: hf.co\/Qwen\/Qwen3-8B-GGUF:Q4_K_M, .*:Q8_0\. Say which\./,
    );
    for (const name of ["mmproj-F16", "hf.co/Qwen/Qwen3-8B-GGUF:F16"]) {
      assertMatch(
        (await refused(name)).message,
        /mmproj-F16\.gguf: this is no model but a projector/,
      );
    }
    for (const name of ["half", "hf.co/Qwen/Qwen3-8B-GGUF:Q2_K", "hf.co/un/half"]) {
      assertEquals((await refused(name)).code, "model_not_found", name);
    }
  }));

for (const kind of Object.keys(COMPANIONS)) {
  Deno.test(`Hugging Face's cache: next to a ${kind} a repository and its quantisation are the model`, () =>
    inStore(async ({ hub }) => {
      const id = "unsloth/gemma-GGUF";
      await putHubFile(hub, id, "mtp-gemma-Q8_0.gguf", companionFile(kind));
      await putHubFile(hub, id, "MTP/gemma-Q8_0.gguf", companionFile(kind, 1));
      const weights = await Deno.readFile(GOLDEN);
      const model = await putHubFile(hub, id, "gemma-Q8_0.gguf", weights);
      for (const suffix of ["", ":Q8_0", ":q8_0", "/gemma-Q8_0.gguf"]) {
        assertEquals((await resolveModel(`hf.co/${id}${suffix}`)).path, model, suffix);
      }
      assertEquals(await listed(), [["gemma-Q8_0", "hugging-face"]]);
      const { message } = await refused("mtp-gemma-Q8_0");
      assertMatch(message, /mtp-gemma-Q8_0\.gguf: this is no model but an? /);
      // Two that are models have names of their own.
      const other = await putHubFile(hub, id, "other/gemma-Q8_0.gguf", weights);
      for (const suffix of ["", ":Q8_0"]) {
        assertMatch(
          (await refused(`hf.co/${id}${suffix}`)).message,
          /has several models here: (\S+)\/gemma-Q8_0\.gguf, \1\/other\/gemma-Q8_0\.gguf\. Say which\./,
        );
      }
      assertEquals((await resolveModel(`hf.co/${id}/other/gemma-Q8_0.gguf`)).path, other);
      const names = (await listed()).map(([name]) => name);
      assertEquals(names, ["gemma-Q8_0", `hf.co/${id}/other/gemma-Q8_0.gguf`]);
      for (const name of names) assertEquals((await resolveModel(name)).name, name);
    }));
}

Deno.test("Hugging Face's cache: a file that changes is looked at again", () =>
  inStore(async ({ hub }) => {
    const path = await putHubFile(hub, "a/b", "x-Q8_0.gguf", companionFile("drafter"));
    assertEquals(await listed(), []);
    await Deno.writeFile(await Deno.realPath(path), await Deno.readFile(GOLDEN));
    assertEquals(await listed(), [["x-Q8_0", "hugging-face"]]);
  }));

Deno.test("Hugging Face's cache: of several revisions the current one counts, then what only others have", () =>
  inStore(async ({ hub }) => {
    await putHubFile(hub, "a/b", "x-Q4_0.gguf", "old", "aaaa");
    await putHubFile(hub, "a/b", "gone-Q4_0.gguf", "old", "aaaa");
    const now = await putHubFile(hub, "a/b", "x-Q4_0.gguf", "new one", "bbbb");
    await put(join(hub, "models--a--b/refs/main"), "bbbb\n");
    // Of the new revision of these parts one has come.
    const parts = [1, 2].map((n) => `big-Q2_K-0000${n}-of-00002.gguf`);
    const old: string[] = [];
    for (const part of parts) old.push(await putHubFile(hub, "a/b", part, "old", "aaaa"));
    await putHubFile(hub, "a/b", parts[0], "new", "bbbb");
    assertEquals((await resolveModel("big-Q2_K")).files, old);
    assertEquals((await resolveModel("x-Q4_0")).path, now);
    assertEquals((await listed()).map(([name]) => name), ["x-Q4_0", "gone-Q4_0", "big-Q2_K"]);
  }));

Deno.test("Hugging Face's cache: links that lead out of a repository are not followed", () =>
  inStore(async ({ hub, home }) => {
    const secret = await put(join(home, "secret.gguf"), "secret");
    await putHubFile(hub, "a/good", "good.gguf", "weights");
    const snapshot = join(hub, "models--a--good/snapshots/main0");
    await Deno.symlink(secret, join(snapshot, "out.gguf"));
    await Deno.symlink("../../../models--a--other/blobs/x", join(snapshot, "other.gguf"));
    await put(join(hub, "models--a--other/blobs/x"), "other's");
    await Deno.symlink("loop.gguf", join(snapshot, "loop.gguf"));
    await Deno.symlink("../../blobs/nothing", join(snapshot, "nothing.gguf"));
    await Deno.symlink(home, join(snapshot, "folder"));
    await Deno.mkdir(join(snapshot, "folder.gguf"));
    await Deno.mkdir(join(hub, "models--evil--links/snapshots"), { recursive: true });
    await Deno.symlink(home, join(hub, "models--evil--links/snapshots/main0"));
    await Deno.symlink(join(hub, "models--a--good"), join(hub, "models--a--linked"));
    await put(join(hub, "models--..--x/snapshots/main0/y.gguf"), "y");
    assertEquals(await listed(), [["good", "hugging-face"]]);
    for (const name of ["out", "other", "loop", "nothing", "y", "secret"]) {
      assertEquals((await refused(name)).code, "model_not_found", name);
    }
  }));
