import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { join } from "@std/path";
import { arrayEntry, entry } from "../../engine/gguf/entries.ts";
import { NestedArray } from "../../engine/gguf/metadata.ts";
import { tensorTypeByName } from "../../engine/gguf/types.ts";
import { writeGguf } from "../../engine/gguf/writer.ts";
import { companionFile, COMPANIONS, kindOf } from "../fixtures/companion_files.ts";
import { f32, u32 } from "../fixtures/changed_model.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { GOLDEN, Home, TINY } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";

Deno.test("m40 list: names, sizes, what they are; a broken file is listed with what is wrong", async () => {
  await using home = await Home.make();
  await Deno.copyFile(TINY, join(home.models, "tiny.gguf"));
  await Deno.writeTextFile(join(home.models, "broken.gguf"), "not a model\x1b[2J");
  const { code, stdout, stderr } = await m40(home, ["list"]);
  assertEquals(code, 0);
  assertMatch(stderr, /^FITS and TOKENS\/S are estimates for .*\.\n$/);
  assertMatch(stdout, /^NAME +SIZE +MODEL +CONTEXT +FITS +TOKENS\/S +PATH\n/);
  assertMatch(
    stdout,
    /\ntiny +547\.6 KiB +llama golden, llama 138K F32 +128 +yes +[1-9]\d+ +\/.*\/tiny\.gguf\n/,
  );
  assertMatch(stdout, /\nbroken +15 B +cannot be read: not a GGUF file/);

  type Listed = { name: string; estimate: Record<string, unknown> };
  const json = JSON.parse((await m40(home, ["list", "--json"])).stdout) as Listed[];
  const { estimate, ...tiny } = json.find(({ name }) => name === "tiny")!;
  assertEquals([estimate.fits, estimate.context_tokens], [true, 128]);
  assertEquals(
    tiny,
    {
      name: "tiny",
      path: join(home.models, "tiny.gguf"),
      size_bytes: (await Deno.stat(TINY)).size,
      built_in: false,
      origin: "store",
      title: "llama golden",
      architecture: "llama",
      parameters: 137664,
      quantisation: "F32",
      context_tokens: 128,
    } as unknown as typeof tiny,
  );
});

Deno.test("m40 show: shape, sizes by type, metadata with long arrays cut, what context fits", async () => {
  await using home = await Home.make();
  const { code, stdout, stderr } = await m40(home, ["show", TINY]);
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /layers +3\n/);
  assertMatch(stdout, /heads +4 \(2 KV heads\)\n/);
  assertMatch(stdout, /context +128 tokens, all that it was trained for\n/);
  assertMatch(stdout, /F32 +30 +138K +537\.8 KiB +100\.0% +32\.00\n/);
  assertMatch(stdout, /layer_norm_rms_epsilon +float32 +0\.00001\n/);
  assertMatch(stdout, /tokens +array of 352 string +\["<unk>", "<s>".{0,60}, …\]\n/);

  const json = JSON.parse((await m40(home, ["show", TINY, "--json", "--kv-type=f32"])).stdout);
  assertEquals(json.shape.head_dimension, 16);
  // 2 (keys and values) x 3 layers x 2 KV heads x 16 values of 4 bytes.
  assertEquals([json.fit.context_tokens, json.fit.token_bytes], [128, 768]);
  assertEquals(json.metadata["tokenizer.ggml.tokens"].length, 352);
  assertEquals(json.tensors, undefined);
});

Deno.test("m40 show --template: the template as it is, with those that the file has by name; none is said", async () => {
  await using home = await Home.make();
  const path = join(home.models, "named.gguf");
  const metadata = new Map([
    ["tokenizer.chat_template", entry("string", "{{ messages }}\n\tä")],
    ["tokenizer.chat_template.tool_use", entry("string", "{{ tools }}")],
  ]);
  await writeGguf(path, { metadata, tensors: [] });
  const { code, stdout } = await m40(home, ["show", path, "--template"]);
  assertEquals([code, stdout], [0, "{{ messages }}\n\tä\n\n{#- tool_use -#}\n{{ tools }}\n"]);
  const none = await m40(home, ["show", TINY, "--template"]);
  assertEquals(none.code, 1);
  assertMatch(none.stderr, /has no chat template\. m40 serve --chat-template/);
});

Deno.test("m40 show: a file with types that m40 does not compute with, a tensor of nothing and arrays of arrays", async () => {
  await using home = await Home.make();
  const path = join(home.models, "strange.gguf");
  const nested = new NestedArray([arrayEntry("uint32", [1, 2]), arrayEntry("string", ["a"])]);
  const tensor = (name: string, type: string, shape: number[], bytes: number) => ({
    name,
    type: tensorTypeByName(type)!,
    shape,
    data: new Uint8Array(bytes),
  });
  await writeGguf(path, {
    metadata: [
      ["general.architecture", entry("string", "llama")],
      ["general.nested", { type: "array", element: "array", value: nested }],
    ],
    tensors: [
      tensor("one", "Q1_0", [128], 18),
      tensor("two", "Q2_0", [128], 36),
      tensor("none", "F32", [4, 0], 0),
    ],
  });
  const { code, stdout, stderr } = await m40(home, ["show", path, "--tensors"]);
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /general\.nested +array of 2 array +\[\[1, 2\], \["a"\]\]\n/);
  assertMatch(stdout, /one +Q1_0 +128 +18 B\n/);
  assertMatch(stdout, /two +Q2_0 +128 +36 B\n/);
  assertMatch(stdout, /none +F32 +4 x 0 +0 B\n/);
  assertNotMatch(stdout, /NaN/);
  const json = JSON.parse((await m40(home, ["show", path, "--json"])).stdout);
  assertEquals(json.metadata["general.nested"], [[1, 2], ["a"]]);
});

Deno.test("m40 show: what layers see and share, and how many of the experts a token has", async () => {
  await using home = await Home.make();
  const shared = await m40(home, ["show", join(GOLDEN, "gemma4-e2b.gguf")]);
  assertMatch(
    shared.stdout,
    /attention +the last 8 tokens in 4 layers, everything in 2 layers, others' keys and values in 3 layers\n/,
  );
  const path = join(GOLDEN, "gpt-oss.gguf");
  assertMatch((await m40(home, ["show", path])).stdout, /experts +8, 4 of them a token\n/);
  const { shape, notes } = JSON.parse((await m40(home, ["show", path, "--json"])).stdout);
  assertEquals([shape.experts, shape.experts_used, notes], [8, 4, []]);
  assertEquals(shape.attention[0], { window: 8, chunk: 0, layers: 2 });
});

Deno.test("m40 show: what is kept of a sequence however long it is, and room for it; no heads where none are", async () => {
  await using home = await Home.make();
  const { stdout } = await m40(home, ["show", join(GOLDEN, "qwen35.gguf")]);
  assertMatch(
    stdout,
    /attention +everything in 1 layer\n +states +16\.5 KiB a sequence, in 3 layers\n/,
  );
  assertMatch(stdout, /states +[\d.]+ KiB in [1-9]\d* slots\n/);
  const path = join(GOLDEN, "mamba2.gguf");
  assertNotMatch((await m40(home, ["show", path])).stdout, /heads|feed-forward/);
  const { shape, fit } = JSON.parse((await m40(home, ["show", path, "--json"])).stdout);
  assertEquals([shape.state_layers, shape.state_bytes], [3, 4 * 3 * (3 * 128 + 4 * 16 * 16)]);
  assertEquals(fit.state_bytes % shape.state_bytes, 0);
  assertEquals(fit.cache_bytes, 0);
});

Deno.test("m40 show: what a token takes of the KV cache before and after it is behind the windows", async () => {
  await using home = await Home.make();
  const path = join(GOLDEN, "gemma2.gguf");
  const { code, stdout } = await m40(home, ["show", path]);
  assertEquals(code, 0);
  // 2 (keys and values) x 3 layers x 2 KV heads x 32 values of 2 bytes; one of the layers has no window.
  assertMatch(
    stdout,
    /KV cache +[^,]+, 768 B a token, 256 B once it is behind the windows \(f16\)\n/,
  );
  const { fit } = JSON.parse((await m40(home, ["show", path, "--json"])).stdout);
  assertEquals([fit.token_bytes, fit.far_token_bytes], [768, 256]);
});

Deno.test("m40 show: a file that m40 cannot run is shown all the same, with the reason", async () => {
  await using home = await Home.make();
  const path = join(GOLDEN, "gpt2.gguf");
  const known = await m40(home, ["run", path, "hi"]);
  const { code, stdout } = await m40(home, ["show", path, "--tensors"]);
  assertEquals(code, 0);
  assertMatch(stdout, /architecture +gpt2\n/);
  assertMatch(stdout, /\n {2}token_embd\.weight +F32 +64 x 352 +88\.0 KiB\n/);
  // Other architectures may be added; then the file is known and runs.
  if (known.code !== 0) assertMatch(stdout, /architecture "gpt2" is not known; the nearest/);
});

Deno.test("m40 list and m40 show: why a model cannot run, first what it is", async () => {
  await using home = await Home.make();
  for (const kind of Object.keys(COMPANIONS)) {
    await Deno.writeFile(
      join(home.models, `${kind.replaceAll(/\W/g, "-")}.gguf`),
      companionFile(kind),
    );
  }
  const bytes = await Deno.readFile(TINY);
  const at = new TextDecoder("latin1").decode(bytes).indexOf("\x05\0\0\0\0\0\0\0llama");
  bytes.set(new TextEncoder().encode("mamba"), at + 8);
  await Deno.writeFile(join(home.models, "new.gguf"), bytes);
  const { stdout } = await m40(home, ["list"]);
  assertMatch(stdout, /^NAME .* FITS +TOKENS\/S +REASON +PATH\n/);
  for (const kind of Object.keys(COMPANIONS)) {
    const name = kind.replaceAll(/\W/g, "-");
    const line = stdout.split("\n").find((line) => line.startsWith(`${name} `))!;
    assertMatch(line, new RegExp(` cannot run +this is no model but an? ${kindOf(kind)}[^,]* +/`));
  }
  assertMatch(stdout, /\nnew .* cannot run +architecture "mamba" is not known +\//);
  const shown = await m40(home, ["show", "drafter"]);
  assertMatch(shown.stdout, /this is no model but a drafter, .*Take the model's own file/);
  const run = await m40(home, ["run", "drafter", "hi"]);
  assertEquals(run.code, 1);
  assertMatch(run.stderr, /this is no model but a drafter/);
});

Deno.test("m40 show: text in the metadata cannot steer the terminal", async () => {
  await using home = await Home.make();
  const bytes = await Deno.readFile(TINY);
  const name = new TextEncoder().encode("llama golden");
  const at = bytes.findIndex((_, i) => name.every((byte, j) => bytes[i + j] === byte));
  bytes.set(new TextEncoder().encode("\x1b[2J\n\x9b"), at);
  const path = join(home.path, "rude.gguf");
  await Deno.writeFile(path, bytes);
  const { code, stdout } = await m40(home, ["show", path]);
  assertEquals(code, 0);
  // deno-lint-ignore no-control-regex
  assertEquals(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/.test(stdout), false);
  assertMatch(stdout, /title +\\x1b\[2J\\n/);
});

Deno.test("a path with overrides of the writing's direction is spelled out wherever it is shown", async () => {
  await using home = await Home.make();
  const path = join(home.path, "a\u202efugg\u2066.gguf");
  await Deno.copyFile(TINY, path);
  const commands = [["show", path], ["run", path, "a", "-n", "1"], ["show", `${path}.gguf`], [
    "rm",
    path,
  ]];
  for (const command of commands) {
    const { stdout, stderr } = await m40(home, command);
    assertNotMatch(stdout + stderr, /[\u202a-\u202e\u2066-\u2069]/, command[0]);
  }
  const { stderr } = await m40(home, ["show", `${path}.gguf`]);
  assertMatch(stderr, /a\\u\{202e\}fugg\\u\{2066\}/);
});

Deno.test("commands on a model that is missing, mistyped or broken end with 1 and a line that says why", async () => {
  await using home = await Home.make();
  await Deno.copyFile(TINY, join(home.models, "mistral.gguf"));
  const cut = join(home.path, "cut.gguf");
  await Deno.writeFile(cut, (await Deno.readFile(TINY)).subarray(0, 5000));
  for (
    const [args, wanted] of [
      [["run", "mistrla", "hi"], /no model "mistrla"\. Did you mean "mistral"\?/],
      [["bench", "./nowhere.gguf"], /There is no file \.\/nowhere\.gguf/],
      [["serve", "--model", cut, "--port=0"], /^error: cut: .*truncated/],
      [["tokenize", cut, "x"], /cut\.gguf: .*truncated/],
      [["show", home.path], /is not a file/],
    ] as const
  ) {
    const { code, stdout, stderr } = await m40(home, [...args]);
    assertEquals([code, stdout], [1, ""], args.join(" "));
    assertMatch(stderr, wanted);
    assertEquals(stderr.trimEnd().split("\n").length, 1, stderr);
  }
});

Deno.test("m40 bench --json: prefill and decode of several sizes, with their spread", async () => {
  await using home = await Home.make();
  const { code, stdout, stderr } = await m40(home, [
    "bench",
    TINY,
    "--json",
    "--repetitions=2",
    "--prompts=50,100000",
    "--batches=1,3",
    "--depths=0,40",
    "--steps=8",
  ]);
  assertEquals([code, stderr], [0, ""]);
  const { results } = JSON.parse(stdout);
  type Row = { kind: string; size: number; depth: number; tokens_per_second: number };
  assertEquals(
    results.map(({ kind, size, depth }: Row) => [kind, size, depth]),
    [
      ["prefill", 50, 0],
      ["decode", 1, 0],
      ["decode", 3, 0],
      ["decode", 1, 40],
      ["decode", 3, 40],
    ],
  );
  assertEquals(results.every((row: Row) => row.tokens_per_second > 0), true);
  // All of the file's tensors except the embeddings (352 x 64 float32), of which a token reads a row. Then the keys and
  // values (3 layers, 2 heads of 16, as halves) of the four tokens that a step reads on average.
  assertEquals(results[1].bytes_per_step, 137664 * 4 - 351 * 64 * 4 + 4 * 2 * 3 * 2 * 16 * 2);
});

Deno.test("m40 show: what of the metadata is not known, what cannot be heeded, and what refuses a model", async () => {
  await using home = await Home.make();
  const path = join(home.models, "novel.gguf");
  const file = await Rewritten.of("llama");
  file.set("%s.novelty", u32(1)).set("tokenizer.ggml.novelty", u32(1))
    .set("tokenizer.ggml.eot_token_id", u32(100000));
  await file.write(path);
  const { stdout } = await m40(home, ["show", path]);
  assertMatch(
    stdout,
    /warning +The file has metadata .* know: llama\.novelty, tokenizer\.ggml\.novelty\./,
  );
  assertMatch(stdout, /warning +tokenizer\.ggml\.eot_token_id is 100000, which is not in/);
  const json = JSON.parse((await m40(home, ["show", path, "--json"])).stdout);
  assertEquals(json.warnings.length, 2);
  file.set("%s.final_logit_softcapping", f32(30));
  await file.write(path);
  assertMatch((await m40(home, ["show", path])).stdout, /softcapping is .*: it changes attention/);
  assertMatch((await m40(home, ["list"])).stdout, /novel .*final_logit_softcapping is/);
});
