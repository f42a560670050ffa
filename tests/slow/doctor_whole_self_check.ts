/** The whole self-test of `m40 doctor` on the emulated device, and every kernel of it spoiled, one after the other. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl } from "@std/path";
import type { Case } from "../../engine/self_test/case.ts";
import { runSelfTest, selfTestCases } from "../../engine/self_test/check_device.ts";
import { KernelLibrary } from "../../engine/device/library.ts";
import { Home, m40 } from "../fixtures/cli_program.ts";
import { takeEmulatedDriver } from "../cli/doctor/fixture.ts";
import { withEnvironment } from "../fixtures/emulated_environment.ts";
import { TemporaryEnvironment } from "../fixtures/temporary.ts";

const variables = await takeEmulatedDriver();
const options = { sanitizeOps: false, sanitizeResources: false };

/** Of kernels that write nothing: what they find fails the step. */
const CHECKS = ["check_experts_kernel"];
/** Of what takes two cards: exchange_test.ts launches them. */
const EXCHANGES = ["exchange_kernel", "exchange_packets_kernel", "count_step_kernel"];

/** The first case that launches each kernel. */
const launchedBy = new Map<string, Case>();

async function run(cases: readonly Case[]) {
  const tested = KernelLibrary.find("cuda");
  const reference = KernelLibrary.find("cpu");
  try {
    return await runSelfTest(tested, 0, reference, undefined, cases);
  } finally {
    await tested.close();
    await reference.close();
  }
}

Deno.test("the self-test passes, and launches every kernel that there is", options, async () => {
  const launched = await Deno.makeTempFile();
  await withEnvironment({ M40_EMULATION_KERNELS: launched }, async () => {
    for (const one of selfTestCases(true)) {
      assertEquals((await run([one])).failures, []);
      for (const [, name] of (await Deno.readTextFile(launched)).matchAll(/^\(?(\w+)/gm)) {
        if (!launchedBy.has(name)) launchedBy.set(name, one);
      }
    }
  });
  await Deno.remove(launched);
  const folder = fromFileUrl(new URL("../../cuda/ops", import.meta.url));
  const sources = [...Deno.readDirSync(folder)].map(({ name }) =>
    Deno.readTextFileSync(`${folder}/${name}`)
  );
  const wanted = [...sources.join("\n").matchAll(/M40_LAUNCH\(\((\w+)/g)].map(([, name]) => name);
  const alone = wanted.filter((name) => !EXCHANGES.includes(name));
  assertEquals(alone.filter((name) => !launchedBy.has(name)), []);
});

Deno.test("every kernel that is spoiled is found", options, async () => {
  assert(launchedBy.size > 20);
  for (const [kernel, one] of launchedBy) {
    if (CHECKS.includes(kernel)) continue;
    using _environment = new TemporaryEnvironment({ M40_EMULATION_SPOIL: kernel });
    const { failures } = await run([one]);
    assertEquals(failures.map(({ operation }) => operation), [one.operation], kernel);
  }
});

Deno.test("m40 doctor --self-test: all is well, or names the operation, exit code 2", async () => {
  await using home = await Home.make();
  const args = ["doctor", "--self-test"];
  const sound = await m40(home, args, { env: variables });
  assertMatch(sound.stdout, /Self-test\n {2}ok {6}18 operations in \d+ ways give on the card/);
  assertEquals(sound.code, 0, sound.stdout);
  const spoiled = await m40(home, args, {
    env: { ...variables, M40_EMULATION_SPOIL: "delta_rule" },
  });
  assertEquals(spoiled.code, 2);
  assertMatch(spoiled.stdout, /broken {2}delta_rule \(heads of 16\): \d+ of \d+ values are wrong/);
  assertMatch(spoiled.stdout, /5 of \d+ ways of 1 of 18 operations give other results/);
});
