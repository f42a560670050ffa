// Overrides of metadata reach whatever reads a model: each command, the server's lists, each way to use several devices.
import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { join } from "@std/path";
import { parseOverride } from "../../engine/gguf/override.ts";
import type { EngineOptions } from "../../engine/mod.ts";
import { f32, text } from "../fixtures/changed_model.ts";
import { Home, startServe } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { asking, promptOf } from "../fixtures/engine_fixture.ts";
import { Rewritten } from "../fixtures/rewritten_model.ts";
import { writeLargeProductsModel } from "../fixtures/large_products_model.ts";
import { answerOf } from "../fixtures/server_fixture.ts";
import { answersTo, withCards } from "../fixtures/staged_engines.ts";
import { TemporaryFolder } from "../fixtures/temporary.ts";

const KEY = "tokenizer.ggml.model";
/** What repairs {@link brokenModel}. */
const REPAIR = `${KEY}=llama`;

/** A model in the store that no command can use, as its kind of vocabulary is none. */
async function brokenModel(home: Home, name: string): Promise<void> {
  const file = (await Rewritten.of("llama")).set(KEY, text("nonsense"));
  await file.write(join(home.models, `${name}.gguf`));
}

async function configure(home: Home, toml: string): Promise<void> {
  await Deno.mkdir(join(home.path, ".config/m40"), { recursive: true });
  await Deno.writeTextFile(join(home.path, ".config/m40/m40.toml"), toml);
}

const BENCH = ["--prompts", "4", "--batches", "1", "--steps", "1", "--repetitions", "1"];
const COMMANDS: readonly string[][] = [
  ["run", "broken", "Hello", "--max-tokens", "1"],
  ["eval", "broken", "--tokens", "1,30"],
  ["bench", "broken", ...BENCH],
  ["tokenize", "broken", "a"],
];

for (const args of COMMANDS) {
  Deno.test(`m40 ${args[0]} takes an override that repairs the file, and refuses the file without`, async () => {
    await using home = await Home.make();
    await brokenModel(home, "broken");
    const plain = await m40(home, args);
    assertNotEquals(plain.code, 0);
    assertMatch(plain.stderr, /nonsense/);
    const { code, stderr } = await m40(home, [...args, "--override", REPAIR]);
    assertEquals(code, 0, stderr);
  });
}

Deno.test("m40 list and show judge a model by the overrides of m40.toml, and again when these change", async () => {
  await using home = await Home.make();
  await brokenModel(home, "broken");
  await brokenModel(home, "other");
  const listed = async () => {
    const { code, stdout } = await m40(home, ["list", "--json"]);
    assertEquals(code, 0);
    const models: { name: string; obstacle?: string; context_tokens: number }[] = JSON.parse(
      stdout,
    );
    return models.filter(({ name }) => name !== "demo")
      .map(({ name, obstacle, context_tokens }) => [name, obstacle === undefined, context_tokens]);
  };
  assertEquals(await listed(), [["broken", false, 128], ["other", false, 128]]);
  await configure(home, `[models.broken.override]\n"${KEY}" = "llama"\n`);
  assertEquals(await listed(), [["broken", true, 128], ["other", false, 128]]);
  const shown = async (...args: string[]) => (await m40(home, ["show", ...args])).stdout;
  assertMatch(await shown("broken"), /\n {2}override +tokenizer\.ggml\.model=llama\n/);
  assertMatch(await shown("other"), /vocabulary +cannot be read/);
  // A path is the file's; the command line goes before m40.toml.
  assertMatch(await shown(join(home.models, "broken.gguf")), /vocabulary +cannot be read/);
  const json = await shown("broken", "--json", "--override", "llama.context_length=64");
  assertEquals(JSON.parse(json).overrides, ["llama.context_length=64"]);
  // Those of all models; another model's of the name are not this one's.
  await configure(
    home,
    `[server]\noverride = ["${REPAIR}"]\n` +
      `[models.broken]\nmodel = "other"\noverride = ["${KEY}=nonsense"]\n` +
      `[models.other]\noverride = ["${REPAIR}", "llama.context_length=32"]\n`,
  );
  assertEquals(await listed(), [["broken", true, 128], ["other", true, 32]]);
  // A file that is wrong costs its overrides alone.
  await configure(home, "[models.broken]\nfile = 1\n");
  assertEquals(await listed(), [["broken", false, 128], ["other", false, 128]]);
  assertMatch((await m40(home, ["list"])).stderr, /warning: .*m40\.toml.*Overrides/);
});

Deno.test("m40 serve shows models with the overrides that it serves them with", async () => {
  await using home = await Home.make();
  await brokenModel(home, "broken");
  await brokenModel(home, "other");
  await Deno.writeTextFile(
    join(home.path, "m.toml"),
    '[server]\nport = 0\n[models.broken.override]\n"general.license" = "mine"\n' +
      `"${KEY}" = "llama"\n[aliases]\nalias = "broken"\n`,
  );
  const server = await startServe(home, ["--config", "m.toml", "--device", "cpu"]);
  const shown = async (model: string) => {
    const { license, model_info } = await answerOf(server, "/api/show", { model });
    return [license, model_info[KEY]];
  };
  assertEquals(await shown("broken"), ["mine", "llama"]);
  assertEquals(await shown("alias"), ["mine", "llama"]);
  assertEquals(await shown("other"), [undefined, "nonsense"]);
  const answer = await server.post("/v1/completions", {
    model: "broken",
    prompt: "a",
    max_tokens: 1,
  });
  assertEquals(answer.status, 200, await answer.text());
  server.child.kill("SIGTERM");
  assertEquals((await server.child.status).code, 0);
  await server.output.rest();
  await server.errors;
});

Deno.test("m40 show names the unknown metadata of layers and vocabulary in one sentence", async () => {
  await using home = await Home.make();
  const file = await Rewritten.of("llama");
  file.set("%s.novelty", text("x")).set("tokenizer.ggml.novelty", text("x"));
  await file.write(join(home.models, "novel.gguf"));
  const { stdout } = await m40(home, ["show", "novel"]);
  const warnings = stdout.split("\n").filter((line) => line.startsWith("  warning "));
  assertEquals(warnings.length, 1, stdout);
  assertMatch(warnings[0], /know: llama\.novelty, tokenizer\.ggml\.novelty\. /);
  assertEquals(
    JSON.parse((await m40(home, ["show", "novel", "--json"])).stdout).warnings.length,
    1,
  );
});

Deno.test("m40 pull says how to fetch a file that wants an override, which then repairs it", async () => {
  await using home = await Home.make();
  const path = join(home.path, "capped.gguf");
  await (await Rewritten.of("llama")).set("%s.final_logit_softcapping", f32(30)).write(path);
  const refused = await m40(home, ["pull", path]);
  assertEquals(refused.code, 1);
  assertMatch(refused.stderr, /_softcapping is 30: .*--override \S+; for that, --force fetches/);
  assertEquals((await m40(home, ["pull", path, "--force"])).code, 0);
  const [, repair] = /--override (\S+);/.exec(refused.stderr)!;
  const asked = ["eval", "capped", "--tokens", "1"];
  assertNotEquals((await m40(home, asked)).code, 0);
  const { code, stderr } = await m40(home, [...asked, "--override", repair]);
  assertEquals(code, 0, stderr);
});

const REQUESTS = [0, 1, 2].map((seed) => asking(promptOf(9 + 11 * seed, seed), 6));

/** What a model answers on so many devices. */
async function answers(
  path: string,
  devices: number,
  options: EngineOptions,
  ...texts: string[]
): Promise<unknown> {
  const overrides = texts.map((one) => parseOverride(one)!);
  const all = { contextTokens: 128, parallel: 2, ...options, overrides };
  return await withCards(path, devices, all, async (engine) => {
    const got = await answersTo(engine, REQUESTS);
    assert(got.every(({ tokens, error }) => tokens.length > 0 && error === undefined));
    return got;
  });
}

const CHANGE = "llama.rope.freq_base=50";
const WAYS: readonly [string, number, EngineOptions][] = [
  ["in a process of its own", 1, { deviceProcess: true }],
  ["split by layers", 2, { split: "layers" }],
  ["split by rows", 2, { split: "rows" }],
  ["with a replica a device", 2, { replicas: true }],
  ["with replicas in processes", 2, { replicas: true, deviceProcess: true }],
];

Deno.test("a model computes by its overrides however it lies on devices", async () => {
  using temporary = new TemporaryFolder();
  const folder = temporary.path;
  const path = await writeLargeProductsModel(folder);
  const expected = await answers(path, 1, {}, CHANGE);
  assertNotEquals(expected, await answers(path, 1, {}));
  for (const [way, devices, options] of WAYS) {
    assertEquals(await answers(path, devices, options, CHANGE), expected, way);
  }
});
