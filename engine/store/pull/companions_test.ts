// Companions of models in a repository, recognized by their headers, over real sockets.
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { join } from "@std/path";
import { M40Error } from "../../errors.ts";
import { Catalogue } from "../../manager/catalogue.ts";
import { pull } from "./mod.ts";
import { readRecord } from "../record.ts";
import { companionFile, COMPANIONS, kindOf } from "../../../tests/fixtures/companion_files.ts";
import { smallModel, smallParts, withPulls } from "../../../tests/fixtures/pull_fixture.ts";
import { content } from "../../../tests/fixtures/pull_server.ts";

const REPOSITORY = "hf.co/unsloth/gemma-4-E4B-it-GGUF";
const ID = REPOSITORY.slice("hf.co/".length);

/** Bytes of files that ranges asked for at most. */
function asked(ranges: readonly (string | undefined)[]): number {
  return ranges.reduce((sum, range) => {
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(range ?? "") ?? [];
    assert(to !== undefined, `a whole file was asked for: ${range}`);
    return sum + Number(to) - Number(from) + 1;
  }, 0);
}

const PATHS = ["mtp-gemma-4-E4B-it-Q8_0.gguf", "MTP/gemma-4-E4B-it-Q8_0.gguf", "a-Q8_0.gguf"];

for (const [i, name] of Object.keys(COMPANIONS).entries()) {
  // Its header says what a file is: one kind is tried at every path, the others at one each.
  for (const path of i === 0 ? PATHS : [PATHS[i % PATHS.length]]) {
    Deno.test(`pull: next to a ${name} at ${path} the model is taken, by its quantisation and without one`, () =>
      withPulls(async ({ server, models }) => {
        const model = await smallModel();
        server.repositories.set(ID, {
          files: { [path]: content(companionFile(name)), "gemma-4-E4B-it-Q8_0.gguf": model },
        });
        for (const suffix of ["", ":Q8_0"]) {
          const pulled = await pull(REPOSITORY + suffix, { name: `m${suffix}` });
          assertEquals(pulled.source, `${REPOSITORY}:Q8_0`);
          assertEquals(await Deno.readFile(join(models, pulled.files[0].name)), model.bytes);
        }
        assertEquals((await readRecord(models, "m")).record?.source, `${REPOSITORY}:Q8_0`);
        // Under its own name, once, and again without fetching.
        assertEquals((await pull(REPOSITORY)).name, "gemma-4-E4B-it:Q8_0");
        assertEquals((await pull(REPOSITORY)).outcome, "present");
        // A request that names it gets an error that says what it is.
        const { code, message } = await assertRejects(
          () => pull(`${REPOSITORY}/${path}`),
          M40Error,
        );
        assertEquals(code, "unsupported");
        assertMatch(
          message,
          new RegExp(`${path}: this is no model but an? .*${kindOf(name).split(" ").at(-1)}`),
        );
      }));
  }
}

Deno.test("pull: a drafter in a quantisation of its own is passed over, with a GPU's figures and without", () =>
  withPulls(async ({ server, models }) => {
    const model = await smallModel();
    server.repositories.set(ID, {
      files: {
        "one-Q4_K_M.gguf": content(companionFile("drafter")),
        "two-Q8_0.gguf": content(companionFile("drafter", 1)),
        "three-BF16.gguf": model,
      },
    });
    assertEquals((await pull(REPOSITORY)).source, `${REPOSITORY}:BF16`);
    const kernels = Deno.env.get("M40_KERNELS")!;
    Deno.env.set("M40_KERNELS", models);
    assertEquals(
      (await pull(REPOSITORY, { name: "again", force: true })).source,
      `${REPOSITORY}:BF16`,
    );
    Deno.env.set("M40_KERNELS", kernels);
    // Only a companion: it says what there is.
    const { message } = await assertRejects(() => pull(`${REPOSITORY}:Q4_K_M`), M40Error);
    assertMatch(message, /one-Q4_K_M\.gguf: this is no model but a drafter/);
  }));

Deno.test("pull: where a quantisation has companions only, and where a repository has, it is said by name", () =>
  withPulls(async ({ server }) => {
    const files = {
      "mtp-x-Q8_0.gguf": content(companionFile("drafter")),
      "mmproj-x-Q8_0.gguf": content(companionFile("projector")),
      "x-Q4_K_M.gguf": await smallModel(),
      "y-Q4_K_M.gguf": await smallModel(1),
      "imatrix.gguf": content(companionFile("importance matrix")),
    };
    server.repositories.set(ID, { files });
    const message = async (name: string) =>
      (await assertRejects(() => pull(name), M40Error)).message;
    const only = await message(`${REPOSITORY}:Q8_0`);
    assertMatch(only, /has no model in Q8_0: .*mtp-x-Q8_0\.gguf is a drafter/);
    assertMatch(only, /mmproj-x-Q8_0\.gguf is a projector.* It has /);
    // Two that are models: each is named once.
    const two = await message(`${REPOSITORY}:Q4_K_M`);
    assertMatch(two, /has 2 models in Q4_K_M; name one: \S+\/x-Q4_K_M\.gguf, \S+\/y-Q4_K_M\.gguf$/);
    // What is not offered is no model.
    assertEquals(await message(`${REPOSITORY}:Q2_K`), `${REPOSITORY} has no Q2_K. It has Q4_K_M.`);
    const { "x-Q4_K_M.gguf": _x, "y-Q4_K_M.gguf": _y, "imatrix.gguf": _i, ...rest } = files;
    server.repositories.set(ID, { files: rest });
    const none = await message(REPOSITORY);
    assertMatch(none, /no GGUF file that holds a model: .*is a drafter/);
  }));

Deno.test("pull: an unambiguous choice asks for no header beforehand, an ambiguous one for few bytes of few", () =>
  withPulls(async ({ server }) => {
    const files = Object.fromEntries(
      await Promise.all(
        ["Q2_K", "Q3_K_M", "Q4_K_M", "Q8_0"].map(async (type, i) =>
          [`x-${type}.gguf`, await smallModel(i)] as const
        ),
      ),
    );
    server.repositories.set(ID, { files });
    const ranges = () =>
      server.asked.filter(({ host }) => host === "cdn").map(({ range }) => range);
    await assertRejects(() => pull(`${REPOSITORY}:Q6_K`), M40Error, "has no Q6_K");
    assertEquals(ranges(), []);
    // A hundred twins: no more are looked at than a pull can wait for.
    for (let i = 0; i < 100; i++) files[`t${i}-Q6_K.gguf`] = content(companionFile("drafter", i));
    await assertRejects(() => pull(`${REPOSITORY}:Q6_K`), M40Error, "models in Q6_K; name one");
    assert(ranges().length <= 24, `${ranges().length} files were looked at`);
    assert(asked(ranges()) <= 24 * 65_536);
  }));

Deno.test("pull: parts next to a companion are one model, and their first part needs no tensors", () =>
  withPulls(async ({ server }) => {
    const parts = await smallParts("BF16/gemma-BF16", 3);
    server.repositories.set(ID, {
      files: { ...parts, "mmproj-BF16.gguf": content(companionFile("projector")) },
    });
    const { files, source } = await pull(`${REPOSITORY}:BF16`);
    assertEquals([files.length, source], [3, `${REPOSITORY}:BF16`]);
  }));

/** What a server may do to a request for a part of a file. */
const FAULTS: Record<string, (request: Request, bytes: Uint8Array<ArrayBuffer>) => Response> = {
  "ignores ranges": (_, bytes) => new Response(bytes),
  "cuts its answers": (_, bytes) =>
    new Response(bytes.slice(0, 200), {
      status: 206,
      headers: { "content-range": `bytes 0-65535/${bytes.length}` },
    }),
  "answers with nothing": () => new Response("", { status: 206 }),
  "says that the range is none": () => new Response("", { status: 416 }),
  "answers without an end": () => {
    const chunk = new Uint8Array(65_536);
    return new Response(
      new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }),
      { status: 206 },
    );
  },
  "has lost the file": () => new Response("", { status: 404 }),
  "answers with a page": () => new Response("<!doctype html>", { status: 200 }),
};

for (const [fault, answer] of Object.entries(FAULTS)) {
  Deno.test(`pull: a server that ${fault} for the companion does not prevent the model's pull`, () =>
    withPulls(async ({ server, models }) => {
      const model = await smallModel();
      const drafter = companionFile("drafter");
      const { sha256 } = content(drafter);
      server.repositories.set(ID, {
        files: { "mtp-x-Q8_0.gguf": content(drafter), "x-Q8_0.gguf": model },
      });
      server.intercept = (request, url) =>
        url.pathname === `/${sha256}` ? answer(request, drafter) : undefined;
      // Where the header could not be seen, it counts as a model, and is offered by name.
      const reported = ["ignores ranges", "cuts its answers"].includes(fault);
      if (reported) {
        assertEquals((await pull(`${REPOSITORY}:Q8_0`)).source, `${REPOSITORY}:Q8_0`);
      } else {
        const { message } = await assertRejects(() => pull(`${REPOSITORY}:Q8_0`), M40Error);
        assertMatch(message, /2 models in Q8_0; name one: .*mtp-x-Q8_0\.gguf, .*\/x-Q8_0\.gguf/);
        await pull(`${REPOSITORY}/x-Q8_0.gguf`);
      }
      const [file] = [...Deno.readDirSync(models)].filter(({ name }) => name.endsWith(".gguf"));
      assertEquals(await Deno.readFile(join(models, file.name)), model.bytes);
    }));
}

Deno.test("pull: a gated repository says so, though its files have to be distinguished first", () =>
  withPulls(async ({ server }) => {
    server.repositories.set(ID, {
      files: {
        "mtp-x-Q8_0.gguf": content(companionFile("drafter")),
        "x-Q8_0.gguf": await smallModel(),
      },
      token: "hf_right",
      gated: true,
      listed: true,
    });
    const { message } = await assertRejects(() => pull(`${REPOSITORY}:Q8_0`), M40Error);
    assertMatch(message, /without a token \(401\).*accept its terms/);
  }));

Deno.test("pull: a pull that is stopped while headers are looked at stops", () =>
  withPulls(async ({ server }) => {
    server.repositories.set(ID, {
      files: {
        "mtp-x-Q8_0.gguf": content(companionFile("drafter")),
        "x-Q8_0.gguf": await smallModel(),
      },
    });
    const stop = new AbortController();
    const held = Promise.withResolvers<void>();
    server.intercept = async (_request, url) => {
      if (!url.search.includes("signature")) return undefined!;
      stop.abort(new M40Error("cancelled", "stopped"));
      await held.promise;
      return new Response("");
    };
    await assertRejects(
      () => pull(`${REPOSITORY}:Q8_0`, { signal: stop.signal }),
      M40Error,
      "stopped",
    );
    held.resolve();
  }));

Deno.test("a server offers no drafters and projectors of the models directory as models, and says what one is", () =>
  withPulls(async ({ models }) => {
    await Deno.mkdir(models);
    await Deno.writeFile(join(models, "tiny.gguf"), (await smallModel()).bytes);
    for (const name of Object.keys(COMPANIONS)) {
      await Deno.writeFile(
        join(models, `${name.replaceAll(/\W/g, "-")}.gguf`),
        companionFile(name),
      );
    }
    const catalogue = new Catalogue();
    const names = (await catalogue.list()).map(({ name }) => name).filter((name) =>
      name !== "demo"
    );
    assertEquals(names, ["tiny"]);
    // A request that names one finds it: loading says what it is.
    assertEquals((await catalogue.find("drafter")).name, "drafter");
  }));
