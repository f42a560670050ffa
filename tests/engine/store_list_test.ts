import { assert, assertAlmostEquals, assertEquals, assertLess, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { lookAt } from "../../cli/show/overview.ts";
import { Estimator } from "../../engine/memory/estimate.ts";
import { FitDevice } from "../../engine/memory/fit.ts";
import { TESLA_M40 } from "../../engine/store/pull/mod.ts";
import { listModels } from "../../engine/store/mod.ts";
import { GOLDEN, Home } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { headerOf } from "../fixtures/model_header.ts";
import { splitModel } from "../fixtures/split_model.ts";
import { inStore } from "../fixtures/store_folder.ts";

// What m40 list says of models.

const TINY = join(GOLDEN, "llama.gguf");

const look = async () => (await lookAt(await listModels())).models;

Deno.test("estimates: a dense model reads all of its weights a token, one of experts those that it chooses", () => {
  using device = FitDevice.open("cpu");
  const fit = (shape: string, type: string) =>
    device.fit(headerOf(shape, type), { card: TESLA_M40 });
  const bytes = (shape: string, type: string) =>
    [...headerOf(shape, type).tensors.values()].reduce((sum, { bytes }) => sum + bytes, 0);
  const dense = fit("llama-3.1-8b", "Q4_K");
  // All but the embeddings, of which a token reads one row; and 1024 tokens of K and V.
  const embeddings = headerOf("llama-3.1-8b", "Q4_K").tensors.get("token_embd.weight")!.bytes;
  const cache = 1024 * 32 * 2 * 1024 * 2;
  const wanted = bytes("llama-3.1-8b", "Q4_K") - embeddings + cache;
  assertAlmostEquals(dense.readBytes / wanted, 1, 1e-4);
  assert(dense.contextTokens > 32_768 && dense.plan !== undefined);
  const experts = fit("qwen3-30b-a3b", "Q4_K");
  assertLess(experts.readBytes, bytes("qwen3-30b-a3b", "Q4_K") / 5);
  // 16 GB fit a card of 22.4 GiB, 32 do not.
  assertEquals(fit("llama-3.1-8b", "F32").contextTokens, 0);
});

Deno.test("estimates: without a GPU they are for a Tesla M40 of 24 GB, and say so", () => {
  using estimator = Estimator.open();
  // This machine may have a GPU.
  if (!estimator.card.assumed) return;
  assertEquals(estimator.card.name, "Tesla M40 24GB");
  const { fits, contextTokens, trainedTokens, tokensPerSecond } = estimator.of(
    headerOf("mistral-7b", "Q8_0"),
  );
  assertEquals([fits, contextTokens, trainedTokens], [true, 32768, 32768]);
  // 288.4 GB/s over 7.7 GB.
  assertAlmostEquals(tokensPerSecond!, 37.5, 1);
});

Deno.test("list: a model in parts is one; one of which a part is missing is listed with what is wrong", () =>
  inStore(async ({ models }) => {
    const paths = await splitModel(TINY, models, "big:7b", { parts: 3 });
    const sizes = await Promise.all(paths.map(async (path) => (await Deno.stat(path)).size));
    const [, big] = await look();
    assertEquals(big.model.files, paths);
    assertEquals(big.model.fileBytes, sizes.reduce((a, b) => a + b));
    assertEquals(big.overview?.parameters, 137664);
    await Deno.remove(paths[0]);
    const [, half] = await look();
    assertEquals(half.model.name, "big:7b");
    assertMatch(half.problem ?? "", /1 of them is missing from .*: big:7b-00001-of-00003\.gguf/);
  }));

Deno.test("list: of several files of a name the whole one counts, then the parts that are all there", () =>
  inStore(async ({ models }) => {
    const two = await splitModel(TINY, models, "x", { parts: 2 });
    const three = await splitModel(TINY, models, "x", { parts: 3 });
    assertEquals((await look())[1].model.files, two);
    await Deno.remove(two[1]);
    assertEquals((await look())[1].model.files, three);
    await Deno.copyFile(TINY, join(models, "x.gguf"));
    const listed = await look();
    assertEquals(listed.length, 2);
    assertEquals(listed[1].model.files, [join(models, "x.gguf")]);
  }));

Deno.test("list: what was found out is kept, and found out again when a file or the record of it changes", () =>
  inStore(async ({ models, home }) => {
    const path = join(models, "x.gguf");
    const cache = join(home, "cache/m40/models.json");
    await Deno.copyFile(TINY, path);
    const fresh = await look();
    // Whether what is kept is used shows when it is made to say something else.
    const text = await Deno.readTextFile(cache);
    assertMatch(text, /llama golden/);
    await Deno.writeTextFile(cache, text.replace("llama golden", "from the cache"));
    assertEquals((await look())[1].overview?.title, "from the cache");
    await Deno.utime(path, 1, 1);
    assertEquals(await look(), fresh);
    const good = JSON.parse(await Deno.readTextFile(cache));
    const entry = good.models[path];
    const spoil = (change: Record<string, unknown>, whole: Record<string, unknown> = {}) =>
      JSON.stringify({ ...good, models: { [path]: { ...entry, ...change } }, ...whole });
    const damaged = [
      "",
      "null",
      "[]",
      text.slice(0, -10),
      "[".repeat(100_000),
      spoil({ overview: { ...entry.overview, title: "old" } }, { format: 2 }),
      spoil({ overview: { ...entry.overview, title: "old" } }, { signature: "another card" }),
      JSON.stringify({ ...good, models: null }),
      JSON.stringify({ ...good, models: { [path]: null } }),
      spoil({ overview: null }),
      spoil({ overview: { ...entry.overview, title: 7 } }),
      spoil({ overview: { ...entry.overview, parameters: "many" } }),
      spoil({ overview: { ...entry.overview, estimate: { fits: true, tokensPerSecond: "7" } } }),
      spoil({ stamp: 7 }),
    ];
    for (const content of damaged) {
      await Deno.writeTextFile(cache, content);
      assertEquals(await look(), fresh, content.slice(0, 200));
    }
    // A folder instead of a file: nothing is kept, nothing fails.
    await Deno.remove(cache);
    await Deno.mkdir(cache);
    assertEquals(await look(), fresh);
  }));

Deno.test("list: that a model cannot run is kept as well, until m40 knows more architectures", () =>
  inStore(async ({ models, home }) => {
    const bytes = await Deno.readFile(TINY);
    const text = new TextDecoder("latin1").decode(bytes);
    // The architecture's name and not the keys that begin with it.
    const at = text.indexOf("llama", text.indexOf("general.architecture"));
    bytes.set(new TextEncoder().encode("lemma"), at);
    await Deno.writeFile(join(models, "x.gguf"), bytes);
    const fresh = await look();
    assertMatch(fresh[1].overview?.obstacle ?? "", /architecture "lemma" is not known/);
    const cache = join(home, "cache/m40/models.json");
    const kept = await Deno.readTextFile(cache);
    await Deno.writeTextFile(cache, kept.replace("is not known", "is still not known"));
    assertMatch((await look())[1].overview?.obstacle ?? "", /is still not known/);
    const { signature } = JSON.parse(kept);
    const older = kept.replace("is not known", "was not known")
      .replace(signature.slice(0, 40), signature.slice(0, 20));
    await Deno.writeTextFile(cache, older);
    assertEquals(await look(), fresh);
  }));

Deno.test("list: a tokenizer that is not known keeps a model from running, and is the reason", () =>
  inStore(async ({ models }) => {
    const bytes = await Deno.readFile(TINY);
    const text = new TextDecoder("latin1").decode(bytes);
    const at = text.indexOf("llama", text.indexOf("tokenizer.ggml.model"));
    bytes.set(new TextEncoder().encode("lemma"), at);
    await Deno.writeFile(join(models, "x.gguf"), bytes);
    const [, { overview }] = await look();
    assertMatch(
      overview?.obstacle ?? "",
      /^The tokenizer "lemma" \(tokenizer\.ggml\.model\) is not/,
    );
    assertEquals(overview?.estimate, undefined);
  }));

Deno.test("list: of four hundred models none is read again, once they were looked at", () =>
  inStore(async ({ models, home }) => {
    // The folder of temporary files may be of another file system than the checkout: no link reaches across.
    const first = join(models, "m0.gguf");
    await Deno.copyFile(TINY, first);
    for (let i = 1; i < 400; i++) await Deno.link(first, join(models, `m${i}.gguf`));
    assertEquals((await look()).length, 401);
    const cache = join(home, "cache/m40/models.json");
    const text = await Deno.readTextFile(cache);
    await Deno.writeTextFile(cache, text.replaceAll("llama golden", "from the cache"));
    const titles = (await look()).map(({ overview }) => overview?.title);
    assertEquals(titles.filter((title) => title === "from the cache").length, 400);
  }));

Deno.test("m40 list: a model in parts, on a screen and as JSON", async () => {
  await using home = await Home.make();
  await splitModel(TINY, home.models, "big", { parts: 2 });
  const { code, stdout, stderr } = await m40(home, ["list"]);
  assertEquals(code, 0);
  assertMatch(stdout, /\nbig +\d.*\/big-00001-of-00002\.gguf and 1 more\n/);
  assertMatch(stderr, /estimates for/);
  const json = JSON.parse((await m40(home, ["list", "--json"])).stdout);
  assertEquals(json[1].files.length, 2);
  assertEquals(json[1].origin, "store");
});
