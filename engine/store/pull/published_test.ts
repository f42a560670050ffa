// Repositories with the names of files that people publish, with companions of models: which file is taken.
import { assertEquals, assertLess, assertMatch, assertRejects } from "@std/assert";
import { M40Error } from "../../errors.ts";
import { pull } from "./mod.ts";
import { findCompanions } from "../sources/companions.ts";
import { onlyOfQuantisation, variantsOf } from "../sources/quantisations.ts";
import { companionFile, COMPANIONS } from "../../../tests/fixtures/companion_files.ts";
import { smallModel, withPulls } from "../../../tests/fixtures/pull_fixture.ts";
import { content } from "../../../tests/fixtures/pull_server.ts";

/** What each file is: "model", or one of {@link COMPANIONS}. */
type Files = Readonly<Record<string, string>>;

/** A repository, and for what is asked of it the file that is taken, or why none is. */
type Published = readonly [
  id: string,
  files: Files,
  wanted: Readonly<Record<string, string | RegExp>>,
];

const PUBLISHED: readonly Published[] = [
  // Three files of one quantisation, one of them the model.
  ["meta-models/Muse-Glimmer-30B-GGUF", {
    "Muse-Glimmer-30B-KQuant-17GB-Q4_K_M.gguf": "model",
    "Muse-Glimmer-30B-KQuant-Dynamic-Q4_K_XL.gguf": "model",
    "dflash-Muse-Glimmer-30B-Q4_K_M.gguf": "drafter",
    "dflash-kquant.gguf": "drafter",
    "mmproj-Muse-Glimmer-30B-Q4_K_M.gguf": "projector",
    "mmproj-kquant.gguf": "projector",
  }, {
    "": "Muse-Glimmer-30B-KQuant-17GB-Q4_K_M.gguf",
    ":Q4_K_M": "Muse-Glimmer-30B-KQuant-17GB-Q4_K_M.gguf",
    ":Q4_K_XL": "Muse-Glimmer-30B-KQuant-Dynamic-Q4_K_XL.gguf",
  }],
  // Drafters in a folder, in quantisations that the model does not have.
  ["unsloth/gemma-4-31B-it-qat-GGUF", {
    "gemma-4-31B-it-qat-UD-Q4_K_XL.gguf": "model",
    "mtp-gemma-4-31B-it.gguf": "drafter",
    "MTP/gemma-4-31B-it-Q4_0-MTP.gguf": "drafter",
    "MTP/gemma-4-31B-it-Q8_0-MTP.gguf": "drafter",
    "MTP/gemma-4-31B-it-F16-MTP.gguf": "drafter",
    "mmproj-F16.gguf": "projector",
    "mmproj-BF16.gguf": "projector",
  }, {
    "": "gemma-4-31B-it-qat-UD-Q4_K_XL.gguf",
    ":Q4_0":
      /has no model in Q4_0: MTP\/gemma-4-31B-it-Q4_0-MTP\.gguf is a drafter\. It has UD-Q4_K_XL\.$/,
    ":F16":
      /has no model in F16: (?=.*-F16-MTP\.gguf is a drafter).*mmproj-F16\.gguf is a projector/,
  }],
  // The models' names have the word of a drafter as well.
  ["someone/Ornith-1.0-9B-MTP-GGUF", {
    "ornith-9b-mtp-kl-BF16.gguf": "model",
    "ornith-9b-mtp-kl-Q8_0.gguf": "model",
    "ornith-9b-mtp-kl-Q4_K_M.gguf": "model",
    "mtp-ornith-9b-mtp-kl-Q8_0.gguf": "drafter of a model's architecture",
  }, {
    "": "ornith-9b-mtp-kl-Q4_K_M.gguf",
    ":Q8_0": "ornith-9b-mtp-kl-Q8_0.gguf",
  }],
  ["someone/Ornith-1.5-9B-MTP-GGUF", {
    "Ornith-1.5-9B-MTP-IQ2_M.gguf": "model",
    "mmproj-Ornith-1.5-9B-BF16.gguf": "projector",
  }, {
    "": "Ornith-1.5-9B-MTP-IQ2_M.gguf",
    ":BF16": /mmproj-Ornith-1\.5-9B-BF16\.gguf.* projector/,
  }],
  // Nothing in the names shows it: the quantisation is the same, or there is none.
  ["google/gemma-4-26B-A4B-it-qat-q4_0-gguf", {
    "gemma-4-26B_q4_0-it.gguf": "model",
    "gemma-4-26B-vision_q4_0.gguf": "projector",
  }, { "": "gemma-4-26B_q4_0-it.gguf", ":q4_0": "gemma-4-26B_q4_0-it.gguf" }],
  ["someone/adapters", {
    "style-Q8_0.gguf": "LoRA adapter",
    "base-Q8_0.gguf": "model",
    "base.imatrix.gguf": "importance matrix",
  }, { "": "base-Q8_0.gguf", ":Q8_0": "base-Q8_0.gguf" }],
];

for (const [id, files, wanted] of PUBLISHED) {
  Deno.test(`pull: of ${id} the model is taken, whatever is next to it`, () =>
    withPulls(async ({ server }) => {
      const made = await Promise.all(
        Object.entries(files).map(async ([path, kind], i) =>
          [
            path,
            kind in COMPANIONS ? content(companionFile(kind, i)) : await smallModel(i),
          ] as const
        ),
      );
      server.repositories.set(id, { files: Object.fromEntries(made) });
      for (const [suffix, expected] of Object.entries(wanted)) {
        const asked = `hf.co/${id}${suffix}`;
        if (typeof expected === "string") {
          const { files: [file] } = await pull(asked, { name: `m${suffix}` });
          const named = made.find(([path]) => path === expected)![1];
          assertEquals(file.sha256, named.sha256, asked);
        } else {
          assertMatch((await assertRejects(() => pull(asked), M40Error)).message, expected, asked);
        }
      }
    }));
}

Deno.test("pull: a listing of very many files takes a time that its length has", async () => {
  const measure = async (count: number) => {
    const file = (path: string) => ({ path, bytes: 10 });
    const start = performance.now();
    // Half without a quantisation, in front of as many of one.
    const variants = variantsOf([
      ...Array.from({ length: count / 2 }, (_, i) => file(`a${i}.gguf`)),
      ...Array.from({ length: count / 2 }, (_, i) => file(`mtp-z${i}-Q4_0.gguf`)),
    ]);
    assertEquals(onlyOfQuantisation(variants).size, 0);
    await findCompanions(variants, variants, () => {
      throw new Error("no server is asked");
    });
    return performance.now() - start;
  };
  await measure(1000);
  // Eight times the length, and not 64 times the time. One measurement is enough that no other program has disturbed.
  let ratio = Infinity;
  for (let tries = 0; tries < 10 && ratio >= 32; tries++) {
    ratio = await measure(64_000) / Math.max(5, await measure(8000));
  }
  assertLess(ratio, 32);
});
