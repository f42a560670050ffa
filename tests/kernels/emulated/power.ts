/** `m40 bench --power` on an emulated card. Run by slow/doctor_emulated_test.ts, in a process of its own. */
import { assert, assertAlmostEquals, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { Home, m40, startM40, TINY } from "../../fixtures/cli_program.ts";
import { takeEmulatedDriver } from "../../cli/doctor/fixture.ts";
import { soon } from "../../fixtures/waiting.ts";

const variables = await takeEmulatedDriver();

const ARGS = ["bench", "--device", "cuda", TINY, "--power", "--json", "--ctx", "64"];
const SHORT = ["--seconds", "0.15", "--settle", "0.05", "--prompts", "16", "--batches", "1,2"];

/** A card whose limit can be set; what was set is in the file. */
async function card(nvml = "") {
  const home = await Home.make();
  const file = join(home.path, "limits");
  await Deno.writeTextFile(file, "");
  const env = { ...variables, M40_EMULATION_POWER_LIMIT: file, M40_EMULATION_NVML: nvml };
  const limits = async () => (await Deno.readTextFile(file)).split("\n").slice(0, -1).map(Number);
  return { home, env, limits };
}

interface Line {
  readonly kind: string;
  readonly size: number;
  readonly power_limit_watts?: number;
  readonly power_watts: number;
  readonly tokens_per_second: number;
  readonly tokens_per_joule: number;
  readonly energy_from: string;
  readonly rest_share: number;
}

Deno.test("m40 bench --power: limits are set in the driver, one after the other, and put back", async () => {
  const { home, env, limits } = await card("power_limit=230000,power=240000");
  await using _ = home;
  const { code, stdout, stderr } = await m40(home, [...ARGS, ...SHORT, "--limits", "220,190"], {
    env,
  });
  assertEquals(code, 0, stderr);
  // The first shows that it can be set, and changes nothing.
  assertEquals(await limits(), [230000, 220000, 190000, 230000]);
  const { limited_by, power_limit_before_watts, results } = JSON.parse(stdout);
  assertEquals([limited_by, power_limit_before_watts], ["driver", 230]);
  assertEquals(
    results.map(({ kind, size, power_limit_watts }: Line) => [kind, size, power_limit_watts]),
    [["prefill", 16], ["decode", 1], ["decode", 2]].flatMap((
      work,
    ) => [[...work, 220], [...work, 190]]),
  );
  for (const line of results as Line[]) {
    // The card draws as much as it may.
    assertAlmostEquals(line.power_watts, line.power_limit_watts!, 0.05 * line.power_limit_watts!);
    assertAlmostEquals(line.tokens_per_joule, line.tokens_per_second / line.power_watts, 1e-9);
    assert(line.tokens_per_second > 0);
    assertEquals([line.energy_from, line.rest_share], ["samples", 0]);
  }
});

Deno.test("m40 bench --power: energy is the driver's count where it counts, also where it reports no power", async () => {
  const { home, env, limits } = await card("energy=100000,power=-");
  await using _ = home;
  const short = ["--seconds", "0.15", "--settle", "0", "--prompts", "16", "--batches", "1"];
  const { code, stdout, stderr } = await m40(home, [...ARGS, ...short], { env });
  assertEquals(code, 0, stderr);
  // Those that the driver allows, from the largest.
  const set = [250000, 232000, 215000, 197000, 180000].map((n) => Math.round(n / 1000) * 1000);
  const found = await limits();
  assertEquals([found.length, found[0], found.at(-1)], [7, 250000, 250000]);
  for (const [i, limit] of set.entries()) assertAlmostEquals(found[i + 1], limit, 1000);
  for (const line of JSON.parse(stdout).results as Line[]) {
    assertEquals(line.energy_from, "counter");
    assertAlmostEquals(line.power_watts, 100, 5);
  }
});

Deno.test("m40 bench --power: where the limit cannot be set, rests hold it, and the report says why", async () => {
  const { home, env, limits } = await card("set_power_limit=4,power=200000");
  await using _ = home;
  const short = ["--seconds", "0.5", "--settle", "0.8", "--prompts", "16", "--batches", "1"];
  const { code, stdout, stderr } = await m40(home, [...ARGS, ...short, "--limits", "100"], { env });
  assertEquals(code, 0, stderr);
  assertEquals(await limits(), []);
  const { limited_by, not_by_driver, results } = JSON.parse(stdout);
  assertEquals(limited_by, "pacing");
  assertMatch(not_by_driver, /root/);
  for (const { power_limit_watts, rest_share } of results as Line[]) {
    assertEquals(rest_share > 0, power_limit_watts === 100);
  }
  assertEquals(results.length, 4);
});

Deno.test("m40 bench --power: a limit that is refused and a card that is lost end it, the limit as it was", async () => {
  const cases: [args: string[], env: Record<string, string>, says: RegExp][] = [
    [[...SHORT, "--limits", "190,260"], {}, /cannot be set to 260 W: .*it can be 180 to 250 W/],
    [
      ["--seconds", "600", "--limits", "190"],
      { M40_EMULATION_FAIL_AFTER: "3000" },
      /cudaErrorLaunchFailure/,
    ],
  ];
  for (const [args, more, says] of cases) {
    const { home, env, limits } = await card();
    await using _ = home;
    const { code, stderr } = await m40(home, [...ARGS, ...args], { env: { ...env, ...more } });
    assertEquals(code, 1, stderr);
    assertMatch(stderr, says);
    assertEquals(await limits(), [250000, 190000, 250000]);
  }
});

Deno.test("m40 bench --power: a device that does not say what it draws is left as it is", async () => {
  const { home, env, limits } = await card("power=-");
  await using _ = home;
  for (const device of ["cuda", "cpu"]) {
    const args = ["bench", "--device", device, TINY, "--power"];
    const { code, stderr } = await m40(home, args, { env });
    assertEquals(code, 1, stderr);
    assertMatch(stderr, /does not say what it draws/);
  }
  const counts = { ...env, M40_EMULATION_NVML: "power=-,energy=100000,set_power_limit=4" };
  const { code, stderr } = await m40(home, ARGS, { env: counts });
  assertEquals(code, 1, stderr);
  assertMatch(stderr, /cannot be set: it takes the rights of root; and pauses/);
  assertEquals(await limits(), []);
});

Deno.test("m40 bench --power: a signal has the limit put back at once", async () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    const { home, env, limits } = await card();
    await using _ = home;
    const child = startM40(home, [...ARGS, "--seconds", "600", "--limits", "190"], env);
    await child.stdin.close();
    for (;;) {
      if ((await limits()).at(-1) === 190000) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    child.kill(signal);
    const { code } = await soon("the end", child.output());
    assert(code !== 0);
    assertEquals((await limits()).at(-1), 250000);
  }
});
