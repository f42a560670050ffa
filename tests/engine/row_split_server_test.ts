import { assertEquals, assertMatch } from "@std/assert";
import { Home, m40, startServe } from "../fixtures/cli_program.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { writeLargeProductsModel } from "../fixtures/large_products_model.ts";
import { startServer } from "../fixtures/server_fixture.ts";
import { devicesOf } from "../fixtures/staged_engines.ts";

const folder = await Deno.makeTempDir();
const path = await writeLargeProductsModel(folder);
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

Deno.test("a server whose model has its rows on two devices reports what each has, in /slots and m40 ps", async () => {
  const engine = { device: devicesOf(2), split: "rows", contextTokens: 128 } as const;
  await using server = await startServer({ path, engine });
  const { cards } = server.engine;
  const names = devicesOf(2).split(",");
  const { devices } = await (await fetch(`${server.url}/slots`)).json();
  assertEquals(
    devices.map((one: Record<string, unknown>) => [
      one.id,
      one.row_share,
      one.first_layer,
      one.model_bytes,
    ]),
    names.map((id, i) => [id, 0.5, undefined, cards[i].memory.totalBytes]),
  );
  await using home = await Home.make();
  const { code, stdout, stderr } = await m40(home, ["ps", "--port", String(server.port)]);
  assertEquals([code, stderr], [0, ""]);
  for (const [i, line] of stdout.trimEnd().split("\n").slice(-2).entries()) {
    assertMatch(
      line,
      new RegExp(`^${names[i]}, 50% of each layer's rows, [\\d.]+ .iB: .+ \\(${BACKEND}\\)`),
    );
  }
});

/** What a library that was built with sanitizers needs of the process that loads it. */
const SANITIZERS = ["LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS"];

Deno.test({
  // The program has no name for several CPUs.
  ignore: BACKEND !== "emulated",
  name:
    "m40 serve with --split rows says at its start what each device has, and how they exchange rows",
  fn: async () => {
    await using home = await Home.make();
    const args = ["--device", "cuda:0,1", "--split", "rows", "--port", "0", "--ctx", "128"];
    const env: Record<string, string> = { M40_EMULATION_DEVICES: "2" };
    for (const name of SANITIZERS) {
      const value = Deno.env.get(name);
      if (value !== undefined) env[name] = value;
    }
    const server = await startServe(home, ["--model", path, ...args], env);
    try {
      for (const name of ["cuda:0", "cuda:1"]) {
        assertMatch(server.before, new RegExp(`Device   ${name}, .+: 50% of each layer's rows, `));
      }
      assertMatch(server.before, /^Exchange rows go from card to card$/m);
    } finally {
      server.child.kill("SIGTERM");
      assertEquals((await server.child.status).code, 0, await server.errors);
      await server.output.rest();
    }
  },
});
