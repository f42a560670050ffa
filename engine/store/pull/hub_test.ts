// Pulls from the Hugging Face Hub, over real sockets.
import { assertEquals, assertLess, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../../errors.ts";
import { readGguf } from "../../gguf/reader.ts";
import { pull, type PullStart } from "./mod.ts";
import { removeModel } from "../mod.ts";
import { readRecord } from "../record.ts";
import { companionFile } from "../../../tests/fixtures/companion_files.ts";
import { smallModel, smallParts, withPulls } from "../../../tests/fixtures/pull_fixture.ts";
import { type Content, content, largeModel } from "../../../tests/fixtures/pull_server.ts";

Deno.test("pull: a quantisation of a repository comes whole, with a record that says where from", () =>
  withPulls(async ({ server, models, list }) => {
    const model = await smallModel();
    server.repositories.set("someone/Tiny-GGUF", {
      files: {
        "README.md": content("read me"),
        "Tiny-Q4_K_M.gguf": model,
        "Tiny-Q8_0.gguf": await smallModel(1),
        "mmproj-Tiny-Q4_K_M.gguf": content(companionFile("projector")),
      },
      commit: "a".repeat(40),
    });
    const progress: number[] = [];
    const starts: PullStart[] = [];
    const pulled = await pull("hf.co/someone/Tiny-GGUF:q4_k_m", {
      onProgress: ({ doneBytes }) => progress.push(doneBytes),
      onStart: (start) => starts.push(start),
    });
    assertEquals(pulled, {
      name: "Tiny:Q4_K_M",
      source: "hf.co/someone/Tiny-GGUF:Q4_K_M",
      outcome: "fetched",
      files: [{ name: "Tiny:Q4_K_M.gguf", bytes: model.size, sha256: model.sha256 }],
    });
    assertEquals(list(), ["Tiny:Q4_K_M.gguf", "Tiny:Q4_K_M.json"]);
    assertEquals(await Deno.readFile(join(models, "Tiny:Q4_K_M.gguf")), model.bytes);
    assertEquals((await readRecord(models, pulled.name)).record?.source, pulled.source);
    assertEquals(starts[0].bytes, model.size);
    assertEquals(progress.at(-1), model.size);
    const resolved = server.asksFor(/resolve/);
    assertEquals(resolved.every(({ path }) => path.includes(`/${"a".repeat(40)}/`)), true);
  }));

Deno.test("pull: what is there and unchanged is not fetched again; what changed is, under its name", () =>
  withPulls(async ({ server, models }) => {
    const repository = {
      files: { "Tiny-Q8_0.gguf": await smallModel() },
      commit: "a".repeat(40),
    };
    server.repositories.set("someone/Tiny-GGUF", repository);
    await pull("hf.co/someone/Tiny-GGUF");
    server.asked.length = 0;
    for (const name of ["hf.co/someone/Tiny-GGUF", "hf.co/someone/Tiny-GGUF:Q8_0"]) {
      assertEquals((await pull(name)).outcome, "present");
    }
    assertEquals(server.asksFor(/resolve|cdn/), [], "it was fetched again");
    assertEquals(server.asked.filter(({ host }) => host === "cdn"), []);

    const changed = await smallModel(3);
    Object.assign(repository, { files: { "Tiny-Q8_0.gguf": changed }, commit: "b".repeat(40) });
    assertEquals((await pull("hf.co/someone/Tiny-GGUF")).outcome, "fetched");
    assertEquals(await Deno.readFile(join(models, "Tiny:Q8_0.gguf")), changed.bytes);
  }));

Deno.test("pull: a file whose record is lost is taken for what it is by its hash", () =>
  withPulls(async ({ server, models }) => {
    const model = await smallModel();
    server.repositories.set("someone/Tiny-GGUF", { files: { "Tiny-Q8_0.gguf": model } });
    await pull("hf.co/someone/Tiny-GGUF");
    await Deno.remove(join(models, "Tiny:Q8_0.json"));
    server.asked.length = 0;
    const { outcome } = await pull("hf.co/someone/Tiny-GGUF");
    assertEquals(outcome, "present");
    assertEquals(server.asked.filter(({ host }) => host === "cdn"), []);
    assertEquals((await readRecord(models, "Tiny:Q8_0")).record?.files[0].sha256, model.sha256);
  }));

Deno.test("pull: parts come as one model; a listing of many pages is read to its end", () =>
  withPulls(async ({ server, models, list }) => {
    const files = await smallParts("Q4_K_M/Tiny-Q4_K_M", 3);
    const filler = Object.fromEntries(
      Array.from({ length: 30 }, (_, i) => [`notes-${i}.txt`, content(`${i}`)]),
    );
    server.repositories.set("someone/Tiny-GGUF", { files: { ...filler, ...files }, pageSize: 7 });
    const { name, files: got } = await pull("hf.co/someone/Tiny-GGUF:Q4_K_M");
    assertEquals(got.map(({ sha256 }) => sha256), Object.values(files).map(({ sha256 }) => sha256));
    assertEquals(list(), [...got.map(({ name }) => name), `${name}.json`]);
    const gguf = await readGguf(join(models, got[0].name));
    assertEquals(gguf.files.length, 3);
    assertEquals((await pull("hf.co/someone/Tiny-GGUF:Q4_K_M")).outcome, "present");
    const left = [...Deno.readDirSync(join(models, ".partial"))].filter(({ name }) =>
      name.includes("gguf")
    );
    assertEquals(left.map(({ name }) => name), [], "something is left behind");
  }));

Deno.test("pull: parts that are not all there, or of two models, are refused and none is listed", () =>
  withPulls(async ({ server, list, models }) => {
    await Deno.mkdir(models);
    const files = await smallParts("Tiny-Q4_K_M", 3);
    const [first, , third] = Object.keys(files);
    const { [third]: _left, ...some } = files;
    server.repositories.set("a/missing-GGUF", { files: some });
    const missing = await assertRejects(() => pull("hf.co/a/missing-GGUF:Q4_K_M"), M40Error);
    assertMatch(missing.message, /of its 3 files number 3 is missing/);
    await assertRejects(() => pull("hf.co/a/missing-GGUF"), M40Error, "number 3 is missing");

    server.repositories.set("a/mixed-GGUF", { files: { ...files, [third]: files[first] } });
    const mixed = await assertRejects(() => pull("hf.co/a/mixed-GGUF:Q4_K_M"), M40Error);
    assertEquals(mixed.code, "invalid_model");
    assertEquals(list(), []);
  }));

Deno.test("pull: a file that changes in the middle of a pull is never placed next to the old ones", () =>
  withPulls(async ({ server, list, models }) => {
    await Deno.mkdir(models);
    const files = await smallParts("Tiny-Q4_K_M", 3);
    const names = Object.keys(files);
    const repository = { files, commit: "a".repeat(40) };
    server.repositories.set("someone/Tiny-GGUF", repository);
    // A push when the second part's bytes are asked for: the pinned commit is gone, as after a rewrite.
    let parts = 0;
    server.intercept = (_request, url) => {
      if (url.pathname.endsWith(names[2]) && parts++ === 1) repository.commit = "b".repeat(40);
      return undefined;
    };
    await assertRejects(() => pull("hf.co/someone/Tiny-GGUF:Q4_K_M"), M40Error);
    assertEquals(list(), []);
    server.intercept = undefined;
    assertEquals((await pull("hf.co/someone/Tiny-GGUF:Q4_K_M")).outcome, "fetched");
    assertEquals(list().length, 4);
  }));

Deno.test("pull: the token goes to the Hub and never to where it redirects", () =>
  withPulls(async ({ server, folder }) => {
    const files = { "Tiny-Q8_0.gguf": await smallModel() };
    server.repositories.set("meta/Gated-GGUF", { files, token: "hf_right", gated: true });
    const name = "hf.co/meta/Gated-GGUF";
    const without = await assertRejects(() => pull(name), M40Error);
    assertMatch(
      without.message,
      /without a token \(401\).*huggingface.co\/meta\/Gated-GGUF.*HF_TOKEN/,
    );
    // As the Hub has it: everybody sees the list, and the files are refused.
    server.repositories.get("meta/Gated-GGUF")!.listed = true;
    const listed = await assertRejects(() => pull(name), M40Error);
    assertMatch(
      listed.message,
      /without a token \(401\).*accept its terms on https.*meta\/Gated-GGUF/,
    );
    Deno.env.set("HF_TOKEN", "hf_other");
    await assertRejects(() => pull(name), M40Error, "has no access (403): accept its terms");
    server.repositories.get("meta/Gated-GGUF")!.listed = false;
    Deno.env.set("HF_TOKEN", "hf_wrong");
    const wrong = await assertRejects(() => pull(name), M40Error);
    assertMatch(wrong.message, /gated.*has no access.*accept its terms/);
    assertEquals(wrong.message.includes("hf_wrong"), false);
    Deno.env.set("HF_TOKEN", "hf_line\nfeed");
    await assertRejects(() => pull(name), M40Error, "has no token in it");
    Deno.env.delete("HF_TOKEN");
    await Deno.mkdir(join(folder, ".cache/huggingface"), { recursive: true });
    await Deno.writeTextFile(join(folder, ".cache/huggingface/token"), "hf_right\n");
    server.asked.length = 0;
    await pull(name);
    const tokens = (host: string) =>
      new Set(server.asked.filter((each) => each.host === host).map((each) => each.authorization));
    assertEquals(tokens("hub"), new Set(["Bearer hf_right"]));
    assertEquals(tokens("cdn"), new Set([undefined]));
    const files2 = await readRecord(Deno.env.get("M40_MODELS")!, "Gated:Q8_0");
    assertEquals(JSON.stringify(files2.record).includes("hf_right"), false, "the token is kept");
  }));

Deno.test("pull: what a repository has not is answered with what it has", () =>
  withPulls(async ({ server }) => {
    server.repositories.set("someone/Tiny-GGUF", {
      files: {
        "Tiny-Q8_0.gguf": await smallModel(),
        "Tiny-Q4_K_M.gguf": await smallModel(1),
        "other-Q4_K_M.gguf": await smallModel(2),
      },
    });
    server.repositories.set("someone/Tiny", { files: { "model.safetensors": content("x") } });
    const message = async (name: string, quantisation?: string) =>
      (await assertRejects(() => pull(name, { quantisation }), M40Error, undefined, name)).message;
    const repository = "hf.co/someone/Tiny-GGUF";
    assertMatch(await message(`${repository}:Q2_K`), /has no Q2_K\. It has Q4_K_M, Q8_0\./);
    assertMatch(await message(repository, "Q2_K"), /has no Q2_K\. It has/);
    assertMatch(await message(`${repository}:Q8_0`, "Q2_K"), /said twice/);
    assertMatch(
      await message(`${repository}:Q4_K_M`),
      /2 models in Q4_K_M; name one: .*other-Q4_K_M/,
    );
    assertMatch(await message(`${repository}/x.gguf`), /has no file "x.gguf"/);
    assertMatch(await message(`${repository}@v9`), /has no revision "v9"/);
    assertMatch(await message("hf.co/someone/Tiny"), /has no GGUF file/);
    assertMatch(await message("hf.co/no/body"), /no repository hf.co\/no\/body/);
    const { name, source } = await pull(`${repository}/other-Q4_K_M.gguf`);
    assertEquals([name, source], ["other-Q4_K_M", `${repository}/other-Q4_K_M.gguf`]);
  }));

Deno.test("pull: of a repository the quantisation is taken that fits the card, the rest is not fetched", () =>
  withPulls(async ({ server, list, models }) => {
    await Deno.mkdir(models);
    const large = (type: string) => largeModel("mistral-7b", type);
    // Sizes and headers count, whatever a name says.
    const files = { "Big-F32.gguf": large("F32"), "Big-Q4_K_M.gguf": large("F32") };
    server.repositories.set("a/Large-GGUF", { files });
    const none = await assertRejects(() => pull("hf.co/a/Large-GGUF"), M40Error);
    assertEquals(none.code, "out_of_memory");
    assertMatch(
      none.message,
      /Q4_K_M does not fit on Tesla M40 24GB: its weights have 27\.0 GiB.*22\.4 GiB/,
    );
    const asked = await assertRejects(() => pull("hf.co/a/Large-GGUF:F32"), M40Error);
    assertMatch(
      asked.message,
      /27\.0 GiB.*A file of up to .* GiB would fit; none here is that small/,
    );

    // One that fits is said by name, and taken where nothing is asked for.
    Object.assign(files, {
      "Big-F16.gguf": large("F16"),
      "Big-Q8_0.gguf": large("Q8_0"),
      "Big-Q2_K.gguf": await smallModel(),
    });
    const advised = await assertRejects(() => pull("hf.co/a/Large-GGUF:F32"), M40Error);
    assertMatch(advised.message, /would fit: F16 \(13\.5 GiB\), Q8_0 \(7\.2 GiB\), Q2_K/);
    const starts: PullStart[] = [];
    const stop = new AbortController();
    await assertRejects(() =>
      pull("hf.co/a/Large-GGUF", {
        signal: stop.signal,
        onStart: (start) => {
          starts.push(start);
          stop.abort();
        },
      })
    );
    assertEquals(starts.map(({ source }) => source), ["hf.co/a/Large-GGUF:Q8_0"]);
    assertEquals(list(), []);
    const ranges = server.asked.filter(({ host }) => host === "cdn").map(({ range }) => range);
    const beyond = ranges.filter((range) => Number(range?.match(/=(\d+)/)?.[1]) > 8 * 2 ** 20);
    assertEquals(beyond, [], "more than headers was asked for");
    assertEquals(ranges.includes(undefined), false, "a whole file was asked for");
  }));

Deno.test("pull: what m40 cannot run is refused before its bulk is fetched, and by --force is not", () =>
  withPulls(async ({ server, list, models }) => {
    await Deno.mkdir(models);
    const bytes = (await smallModel()).bytes;
    const at = new TextDecoder("latin1").decode(bytes).indexOf("\x05\0\0\0\0\0\0\0llama");
    bytes.set(new TextEncoder().encode("mamba"), at + 8);
    const files = {
      "Odd-Q8_0.gguf": content(bytes),
      "Page-Q8_1.gguf": content("<!doctype html><title>Sign in</title>"),
      "Page-Q4_0.gguf": content("<!doctype html><title>Sign in</title>".repeat(1000)),
    };
    server.repositories.set("a/Odd-GGUF", { files });
    const odd = await assertRejects(() => pull("hf.co/a/Odd-GGUF:Q8_0"), M40Error);
    assertMatch(odd.message, /mamba/);
    // Without a library that says what things take, as well.
    const kernels = Deno.env.get("M40_KERNELS")!;
    Deno.env.set("M40_KERNELS", models);
    await assertRejects(() => pull("hf.co/a/Odd-GGUF:Q8_0"), M40Error, "mamba");
    Deno.env.set("M40_KERNELS", kernels);
    assertEquals(list(), []);
    const notes: string[] = [];
    await pull("hf.co/a/Odd-GGUF:Q8_0", { force: true, onNote: (note) => notes.push(note) });
    assertMatch(notes.join(), /Fetched all the same: .*mamba/);
    assertEquals(list().length, 2);
    const page = await assertRejects(
      () => pull("hf.co/a/Odd-GGUF:Q4_0", { force: true }),
      M40Error,
    );
    assertMatch(page.message, /a web page/);
    assertEquals(list().length, 2, "a web page was placed");
  }));

Deno.test("pull: a name that another source has is not taken from it, unless forced", () =>
  withPulls(async ({ server, models }) => {
    const [one, two] = [await smallModel(1), await smallModel(2)];
    server.repositories.set("a/Tiny-GGUF", { files: { "Tiny-Q8_0.gguf": one } });
    server.repositories.set("b/Tiny-GGUF", { files: { "Tiny-Q8_0.gguf": two } });
    await pull("hf.co/a/Tiny-GGUF");
    const taken = await assertRejects(() => pull("hf.co/b/Tiny-GGUF"), M40Error);
    assertMatch(
      taken.message,
      /"Tiny:Q8_0" already, from hf.co\/a\/Tiny-GGUF:Q8_0; --name.*--force/,
    );
    await Deno.writeTextFile(join(models, "mine.gguf"), "mine");
    const mine = await assertRejects(() => pull("hf.co/b/Tiny-GGUF", { name: "mine" }), M40Error);
    assertMatch(mine.message, /"mine" already, which was not pulled/);
    assertEquals(await Deno.readTextFile(join(models, "mine.gguf")), "mine");
    assertEquals((await pull("hf.co/b/Tiny-GGUF", { name: "other" })).outcome, "fetched");
    assertEquals((await pull("hf.co/b/Tiny-GGUF", { force: true })).outcome, "linked");
    assertEquals(await Deno.readFile(join(models, "Tiny:Q8_0.gguf")), two.bytes);
    for (const name of ["../x", "a/b", "demo", "a:b:c", "x.gguf", ".x"]) {
      await assertRejects(() => pull("hf.co/a/Tiny-GGUF", { name }), M40Error, undefined, name);
    }
  }));

Deno.test("pull: what is left of one that was given up goes with m40 rm, and not while it is fetched", () =>
  withPulls(async ({ server, models }) => {
    const files = await smallParts("Tiny-Q4_K_M", 3);
    server.repositories.set("a/Tiny-GGUF", { files });
    server.bytesPerSecond = 800_000;
    const stop = new AbortController();
    const pulling = pull("hf.co/a/Tiny-GGUF", {
      signal: stop.signal,
      onProgress: async ({ doneBytes }) => {
        if (doneBytes < 250_000 || stop.signal.aborted) return;
        refused = removeModel("Tiny:Q4_K_M").then(() => "removed", ({ message }) => message);
        await refused;
        stop.abort();
      },
    });
    let refused: Promise<string> | undefined;
    await assertRejects(() => pulling, M40Error, "stopped");
    assertMatch(await refused ?? "", /is being fetched, copied or removed already/);
    const { files: removed, freedBytes } = await removeModel("Tiny:Q4_K_M");
    assertEquals(removed, []);
    assertLess(200_000, freedBytes);
    const left = (folder: string) => [...Deno.readDirSync(folder)].filter(({ isFile }) => isFile);
    assertEquals(left(join(models, ".partial")), []);
    assertEquals(left(join(models, ".partial/.partial")), []);
    await assertRejects(() => removeModel("Tiny:Q4_K_M"), M40Error, "There is no model");
  }));

Deno.test("pull: an alias is a file of a repository, or what has its quantisation now", () =>
  withPulls(async ({ server, models, list }) => {
    const id = "bartowski/Mistral-7B-Instruct-v0.3-GGUF";
    const repository = {
      files: {
        "Mistral-7B-Instruct-v0.3-Q4_K_M.gguf": await smallModel(1),
        "Mistral-7B-Instruct-v0.3-Q8_0.gguf": await smallModel(2),
      } as Record<string, Content>,
    };
    server.repositories.set(id, repository);
    const { name, source } = await pull("Mistral:latest");
    assertEquals([name, source], ["mistral", `hf.co/${id}:Q4_K_M`]);
    assertEquals((await pull("mistral", { quantisation: "q8_0" })).name, "mistral:q8_0");
    assertEquals(list().length, 4);
    const renamed = await smallModel(3);
    repository.files = { "renamed-Q4_K_M.gguf": renamed };
    assertEquals((await pull("mistral")).outcome, "fetched");
    assertEquals(await Deno.readFile(join(models, "mistral.gguf")), renamed.bytes);
    // A model of that name from elsewhere is not the alias's to replace.
    server.repositories.set("a/Tiny-GGUF", { files: { "Tiny-Q8_0.gguf": await smallModel(4) } });
    await pull("hf.co/a/Tiny-GGUF", { name: "mistral", force: true });
    await assertRejects(() => pull("mistral"), M40Error, "already, from hf.co/a/Tiny-GGUF");
  }));

Deno.test("pull: the same file under two names is on the disk once", () =>
  withPulls(async ({ server, models }) => {
    server.repositories.set("a/Tiny-GGUF", { files: { "Tiny-Q8_0.gguf": await smallModel() } });
    const { files: [first] } = await pull("hf.co/a/Tiny-GGUF");
    server.asked.length = 0;
    const second = await pull("hf.co/a/Tiny-GGUF", { name: "second:x" });
    assertEquals(second.outcome, "linked");
    assertEquals(server.asked.filter(({ host }) => host === "cdn"), []);
    const inode = (name: string) => Deno.statSync(join(models, name)).ino;
    assertEquals(inode(second.files[0].name), inode(first.name));
  }));
