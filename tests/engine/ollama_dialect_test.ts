import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { arrayEntry } from "../../engine/gguf/entries.ts";
import { Metadata } from "../../engine/gguf/metadata.ts";
import { M40Error } from "../../engine/errors.ts";
import { type Gguf, parseGguf, readGguf } from "../../engine/gguf/reader.ts";
import { translateOllama } from "../../engine/gguf/ollama/mod.ts";
import { Engine } from "../../engine/mod.ts";
import { changed, goldenHeader, i32s, read, text } from "../fixtures/changed_model.ts";
import { golden, GOLDEN_NAMES } from "../fixtures/goldens.ts";
import { BACKEND, EXECUTOR } from "../fixtures/device_harness.ts";
import { DIALECTS } from "../fixtures/ollama_dialect.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { TemporaryFile, TemporaryFolder } from "../fixtures/temporary.ts";

// Files as Ollama's library has them: goldens rewritten, which must give the logits that they give under llama.cpp's names.

/** The logits after each of a few tokens, and what was warned of. */
async function logitsOf(path: string) {
  const warnings: string[] = [];
  const engine = await Engine.load(path, {
    ...{ device: BACKEND, executor: EXECUTOR, kvType: "f32", logitsOutputs: 7 },
    ...{ contextTokens: 64, kvBlocks: 4, onWarning: (one) => warnings.push(one) },
  });
  const rows: Float32Array[] = [];
  try {
    const tokens = Array.from({ length: 20 }, (_, i) => 3 + 6 * i);
    for await (const { logits } of engine.evaluate(tokens)) rows.push(logits.slice());
  } finally {
    await engine.close();
  }
  return { rows, warnings };
}

for (const { family, golden, both, rewrite } of DIALECTS) {
  Deno.test(`Ollama's ${family}: the logits are those of the same model under llama.cpp's names`, async () => {
    using temporary = new TemporaryFolder();
    const folder = temporary.path;
    const [plain, dialect] = [await Rewritten.of(golden), await Rewritten.of(golden)];
    for (const file of [plain, dialect]) both?.(file);
    rewrite(dialect);
    await plain.write(`${folder}/plain.gguf`);
    await dialect.write(`${folder}/dialect.gguf`);
    const wanted = await logitsOf(`${folder}/plain.gguf`);
    const got = await logitsOf(`${folder}/dialect.gguf`);
    assertEquals(got.rows.length, 20);
    assert(wanted.rows.some((row) => row.some((logit) => logit !== 0)));
    assertEquals(got.rows, wanted.rows);
    assertEquals(got.warnings, wanted.warnings);
  });
}

Deno.test("a golden's header is left as it is: none is in Ollama's dialect", async () => {
  for (const name of GOLDEN_NAMES) {
    const gguf = parseGguf(await Deno.readFile(golden(name)), name);
    assertEquals(translateOllama(gguf) === gguf, true, name);
  }
});

Deno.test("Ollama's families that m40 does not run are refused by their names", async () => {
  const cases: [golden: string, rewrite: (file: Rewritten) => unknown, wanted: RegExp][] = [
    ["gemma3", (file) => file.addTensor("dense.0.weight", 64, 64), /"gemma-embedding"/],
    ["deepseek", (file) => file.renameArchitecture("deepseekocr"), /"deepseek2-ocr"/],
    ["gemma3", (file) => file.renameArchitecture("gemma3n"), /"gemma3n"/],
    ["llama", (file) => file.renameArchitecture("laguna"), /"laguna"/],
    [
      "nemotron_h_moe",
      (file) => file.addTensor("blk.1.ffn_latent_in.weight", 64, 64),
      /ffn_latent_down/,
    ],
    [
      "gpt-oss",
      (file) =>
        file.renameArchitecture("gptoss").addTensor("blk.0.ffn_gate_up_exps.weight", 64, 64, 4),
      /ffn_gate_up_in_turn_exps/,
    ],
  ];
  using temporary = new TemporaryFile();
  const path = temporary.path;
  for (const [golden, rewrite, wanted] of cases) {
    const file = await Rewritten.of(golden);
    rewrite(file);
    await file.write(path);
    const { message } = await assertRejects(
      () => Engine.load(path, { device: BACKEND, contextTokens: 64 }),
      M40Error,
    );
    assertMatch(message, wanted);
  }
});

Deno.test("Ollama's tokenizers: the pre-tokenizer that a family has, whatever its file says", async () => {
  const cases: [golden: string, rewrite: (file: Rewritten) => unknown, wanted: string][] = [
    ["gpt-oss", (file) => file.renameArchitecture("gptoss"), "gpt-4o"],
    ["lfm2", (file) => file.renameTensors(/^token_embd_norm\./, "output_norm."), "lfm2"],
    ["mistral3", (file) => file, "tekken"],
    ["deepseek2-v3", (file) => file.renameArchitecture("glm4moelite"), "glm4"],
    ["glm4", (file) => file.renameArchitecture("glmocr"), "chatglm-bpe"],
    ["olmo3", (file) => file.renameArchitecture("olmo3"), "default"],
  ];
  using temporary = new TemporaryFile();
  const path = temporary.path;
  for (const [golden, rewrite, wanted] of cases) {
    const file = (await Rewritten.of(golden)).set("tokenizer.ggml.pre", text("default"))
      .set("tokenizer.ggml.model", text("gpt2"));
    rewrite(file);
    await file.write(path);
    assertEquals((await readGguf(path)).metadata.get("tokenizer.ggml.pre"), wanted, golden);
    const written = await readGguf(path, { asWritten: true });
    assertEquals(written.metadata.get("tokenizer.ggml.pre"), "default");
  }
});

Deno.test("Llama 3 without a pre-tokenizer is recognised by its tokens; other vocabularies are left alone", () => {
  const tokens = Array.from({ length: 128010 }, (_, id) => `<${id}>`);
  const preOf = (changes: Record<number, string>, pre: string | undefined, model = "gpt2") => {
    const texts = tokens.map((token, id) => changes[id] ?? token);
    const metadata = new Metadata([
      ["general.architecture", text("llama")],
      ["tokenizer.ggml.model", text(model)],
      ["tokenizer.ggml.tokens", arrayEntry("string", texts)],
      ...(pre === undefined ? [] : [["tokenizer.ggml.pre", text(pre)] as const]),
    ]);
    const gguf = { path: "", files: [], version: 3, metadata, tensors: new Map() };
    const sizes = { alignment: 32, dataOffset: 0, fileBytes: 0 };
    return translateOllama({ ...gguf, ...sizes }).metadata.get("tokenizer.ggml.pre");
  };
  const llama3 = { 128006: "<|start_header_id|>", 128009: "<|eot_id|>" };
  assertEquals(preOf(llama3, undefined), "llama-bpe");
  assertEquals(preOf(llama3, "default"), "llama-bpe");
  assertEquals(preOf(llama3, "smaug-bpe"), "smaug-bpe");
  assertEquals(preOf({ 128009: "<|eot_id|>" }, "default"), "default");
  assertEquals(preOf({}, undefined), undefined);
  assertEquals(preOf(llama3, "default", "llama"), "default");
});

Deno.test("GLM-4 with sections of positions rotates halves of a head, as llama.cpp does", async () => {
  const golden = await goldenHeader("glm4");
  const rope = (gguf: Gguf) =>
    read(gguf).program.operations.find(({ kind }) => kind === "rope_store") as unknown as {
      readonly rope: number;
    };
  const sections = (...values: number[]) =>
    changed(golden, { metadata: { "rope.dimension_sections": i32s(...values) } });
  const halves = rope(await goldenHeader("glm4moe")).rope;
  assertNotEquals(rope(golden).rope, halves);
  assertEquals(rope(sections(8, 12, 12, 0)).rope, halves);
  assertEquals(rope(sections(0, 0, 0, 0)), rope(golden));
});
