// --arithmetic: where it is given, and where the program says what it computes in.
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { join } from "@std/path";
import { Home, m40, startServe, TINY } from "../fixtures/cli_program.ts";
import { writeQuantised } from "../fixtures/quantised_model.ts";

/** A home with a model of Q4_0 weights, and its path. */
async function withModel(work: (home: Home, path: string) => Promise<void>): Promise<void> {
  await using home = await Home.make();
  const path = join(home.path, "small.gguf");
  await writeQuantised(TINY, path);
  await work(home, path);
}

Deno.test("m40 eval --arithmetic packed computes otherwise than exact, the default, where weights are of few bits", () =>
  withModel(async (home, path) => {
    const logits = async (model: string, ...args: string[]) => {
      const ended = await m40(home, ["eval", model, "--tokens", "5,6,7", ...args]);
      assertEquals([ended.code, ended.stderr], [0, ""]);
      return ended.stdout;
    };
    const exact = await logits(path);
    assertEquals(await logits(path, "--arithmetic", "exact"), exact);
    assertNotEquals(await logits(path, "--arithmetic", "packed"), exact);
    const wrong = await m40(home, ["eval", path, "--tokens", "5", "--arithmetic", "int8"]);
    assertEquals([wrong.code, wrong.stdout], [2, ""]);
    assertMatch(wrong.stderr, /--arithmetic.*got "int8", wanted exact or packed/);
  }));

/** A line of `warning` for a model without any weight that could be packed. */
const NOTHING_PACKED =
  /^warning: .*llama\.gguf: packed arithmetic changes nothing, and products stay exact: .*Q4_K.*\n$/;

Deno.test("where no weight can be packed, --arithmetic packed is warned of, and everything says exact", async () => {
  await using home = await Home.make();
  const packed = ["--arithmetic", "packed"];
  const asked = ["eval", TINY, "--tokens", "5,6,7"];
  const ended = await m40(home, [...asked, ...packed]);
  assertMatch(ended.stderr, NOTHING_PACKED);
  assertEquals([ended.code, ended.stdout], [0, (await m40(home, asked)).stdout]);
  const sizes = "--prompts 8 --batches 1 --steps 1 --repetitions 1 --json".split(" ");
  const bench = await m40(home, ["bench", TINY, ...sizes, ...packed]);
  assertMatch(bench.stderr, NOTHING_PACKED);
  assertEquals([bench.code, JSON.parse(bench.stdout).arithmetic], [0, "exact"]);
  const server = await startServe(home, ["--model", TINY, "--port", "0", ...packed]);
  assertEquals(server.before.includes("arithmetic"), false);
  const { models } = await (await fetch(`${server.url}/slots`)).json();
  assertEquals(models[0].arithmetic, "exact");
  server.child.kill("SIGTERM");
  await server.output.rest();
  assertMatch(await server.errors, NOTHING_PACKED);
  assertEquals((await server.child.status).code, 0);
});

Deno.test("m40 eval --file says in its line and in JSON that it computed in packed arithmetic", () =>
  withModel(async (home, path) => {
    const file = join(home.path, "text.txt");
    await Deno.writeTextFile(file, "a text of some words, once and again, and again. ".repeat(4));
    const measured = async (...args: string[]) => {
      const ended = await m40(home, ["eval", path, "--file", file, "--ctx", "32", ...args]);
      assertEquals([ended.code, ended.stderr], [0, ""]);
      return ended.stdout;
    };
    assertMatch(await measured("--arithmetic", "packed"), / of 32, packed arithmetic\)\n$/);
    assertMatch(await measured(), / of 32\)\n$/);
    const { kv_type, arithmetic } = JSON.parse(await measured("--arithmetic", "packed", "--json"));
    assertEquals([kv_type, arithmetic], ["f16", "packed"]);
    assertEquals(JSON.parse(await measured("--json")).arithmetic, "exact");
  }));

Deno.test("m40 bench says in its table and in JSON that it measured packed arithmetic", () =>
  withModel(async (home, path) => {
    const sizes = "--prompts 8 --batches 1 --steps 1 --repetitions 1".split(" ");
    const bench = async (...args: string[]) => {
      const ended = await m40(home, ["bench", path, ...sizes, ...args]);
      assertEquals([ended.code, ended.stderr], [0, ""]);
      return ended.stdout;
    };
    assertMatch(await bench("--arithmetic", "packed"), /^.* of weights, packed arithmetic\) on /);
    assertMatch(await bench(), /^.* of weights\) on /);
    const json = JSON.parse(await bench("--arithmetic", "packed", "--json"));
    assertEquals([json.arithmetic, JSON.parse(await bench("--json")).arithmetic], [
      "packed",
      "exact",
    ]);
  }));

Deno.test("m40 serve, m40 ps and the metrics say what a model computes in; each model of m40.toml may have its own", () =>
  withModel(async (home, path) => {
    const config = join(home.path, "m40.toml");
    await Deno.writeTextFile(
      config,
      `[server]
arithmetic = "packed"
models = 2
[models.small]
file = "${path}"
[models.plain]
file = "${path}"
arithmetic = "exact"
`,
    );
    const args = ["--config", config, "--model", "small", "--port", "0", "--in-process"];
    const server = await startServe(home, args);
    assertMatch(server.before, /^Products in packed arithmetic: activations become integers$/m);
    const text = async (path: string) => await (await fetch(server.url + path)).text();
    const answer = async (model: string) => {
      const body = { model, prompt: "Hello", max_tokens: 3, temperature: 0 };
      const response = await server.post("/v1/completions", body);
      await response.body?.cancel();
      assertEquals(response.status, 200);
    };
    await answer("small");
    assertMatch(await text("/metrics"), /^m40_info\{.*arithmetic="packed".*\} 1$/m);
    await answer("plain");
    assertMatch(await text("/metrics"), /^m40_info\{.*arithmetic="exact".*\} 1$/m);
    const slots = JSON.parse(await text("/slots"));
    assertEquals(
      slots.models.map(({ id, arithmetic }: Record<string, string>) => [id, arithmetic]),
      [["plain", "exact"], ["small", "packed"]],
    );
    const ps = await m40(home, ["ps", "--port", new URL(server.url).port]);
    assertMatch(ps.stdout, /^plain, small \(packed arithmetic\): 0 running/);
    server.child.kill("SIGTERM");
    await server.output.rest();
    assertEquals([(await server.child.status).code, await server.errors], [0, ""]);
  }));
