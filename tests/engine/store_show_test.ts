import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { GOLDEN, Home, TINY } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";
import { splitModel } from "../fixtures/split_model.ts";
import { put, putBlob, putManifest } from "../fixtures/store_folder.ts";

// What m40 show says of where a model comes from.

Deno.test("m40 show: what came with a model of Ollama's, where it is, and which template is used", async () => {
  await using home = await Home.make();
  const ollama = home.env.OLLAMA_MODELS;
  await putManifest(ollama, "registry.ollama.ai/library/tiny/latest", [
    await putBlob(ollama, "model", await Deno.readFile(TINY)),
    await putBlob(ollama, "template", "{{ .System }}\x1b[2J"),
    await putBlob(ollama, "system", "Be\nbrief.\x1b[2J"),
    await putBlob(ollama, "params", '{"temperature":0.25,"stop":["x"]}'),
  ]);
  const { code, stdout, stderr } = await m40(home, ["show", "tiny"]);
  assertEquals([code, stderr], [0, ""]);
  assertMatch(stdout, /^tiny:latest\n/);
  assertMatch(
    stdout,
    /chat template +none in the file; Ollama's is written in Go's language, and not/,
  );
  assertMatch(stdout, /found in +Ollama's cache, used where it is\n/);
  assertMatch(stdout, /source +ollama:tiny:latest\n/);
  assertMatch(stdout, /system message +"Be\\nbrief\./);
  assertMatch(stdout, /parameter temperature +0\.25\n/);
  assertMatch(
    stdout,
    /card +.*\n +fits +yes, with up to 128 tokens of context\n +speed +at most about/,
  );
  assertEquals(stdout.includes("\x1b"), false, "a terminal would obey it");
  const json = JSON.parse((await m40(home, ["show", "tiny", "--json"])).stdout);
  assertEquals([json.origin, json.record.parameters.stop], ["ollama", ["x"]]);
  assertEquals(json.record.template, "{{ .System }}\x1b[2J");
});

Deno.test("m40 show: all files of a model in parts; a damaged record is reported", async () => {
  await using home = await Home.make();
  const paths = await splitModel(TINY, home.models, "big", { parts: 2 });
  await put(join(home.models, "big.json"), '{"version": 1}');
  const { stdout } = await m40(home, ["show", "big"]);
  for (const path of paths) assertEquals(stdout.includes(path), true);
  assertMatch(stdout, /size +54\d\.\d KiB\n/);
  assertMatch(
    stdout,
    /record +the record .*big\.json is not used: "source" is missing, wanted a text/,
  );
  const json = JSON.parse((await m40(home, ["show", "big", "--json", "--tensors"])).stdout);
  assertEquals(json.files.map(({ path }: { path: string }) => path), paths);
  const files = new Set(json.tensors.map(({ file }: { file: number }) => file));
  assertEquals(files, new Set([0, 1]));
  assertMatch(json.record.error, /is not used/);
  const broken = await m40(home, ["show", join(GOLDEN, "..", "nothing-00001-of-00002.gguf")]);
  assertEquals(broken.code, 1);
});

Deno.test("m40 run: a model in parts answers, and one of Ollama's by what came with it", async () => {
  await using home = await Home.make();
  const [first] = await splitModel(TINY, home.models, "big", { parts: 3, emptyFirst: true });
  const args = ["--raw", "--temperature", "0", "--max-tokens", "8", "ab"];
  const whole = await m40(home, ["run", TINY, ...args]);
  assertEquals([whole.code, whole.stdout.length > 1], [0, true]);
  for (const name of ["big", first]) {
    assertEquals((await m40(home, ["run", name, ...args])).stdout, whole.stdout);
  }
  const ollama = home.env.OLLAMA_MODELS;
  const model = await putBlob(ollama, "model", await Deno.readFile(TINY));
  const params = await putBlob(ollama, "params", '{"temperature":0,"num_predict":3,"top_k":-7}');
  await putManifest(ollama, "registry.ollama.ai/library/tiny/latest", [model, params]);
  const rest = args.filter((word) => !["--temperature", "0"].includes(word));
  const greedy = await m40(home, ["run", "tiny", ...rest]);
  assertEquals(greedy.stdout, whole.stdout, "its temperature is what Ollama's params say");
  assertMatch(
    greedy.stderr,
    /warning: the parameter num_predict that comes with the model is not used/,
  );
});
