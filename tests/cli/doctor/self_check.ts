/** The self-test of `m40 doctor`, on the emulated device: some types here, all of them in slow/. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path";
import { difference, runSelfTest, selfTestCases } from "../../../engine/self_test/check_device.ts";
import { KernelLibrary } from "../../../engine/device/library.ts";
import { OPS } from "../../../engine/device/structs.ts";
import { Home, m40 } from "../../fixtures/cli_program.ts";
import { TemporaryEnvironment } from "../../fixtures/temporary.ts";
import { takeEmulatedDriver } from "./fixture.ts";

const variables = await takeEmulatedDriver();

/** Runs those cases of which the text `operation variant` matches. */
async function run(pattern: RegExp) {
  const tested = KernelLibrary.find("cuda");
  const reference = KernelLibrary.find("cpu");
  try {
    const cases = selfTestCases(true).filter(({ operation, variant }) =>
      pattern.test(`${operation} ${variant}`)
    );
    return await runSelfTest(tested, 0, reference, undefined, cases);
  } finally {
    await tested.close();
    await reference.close();
  }
}

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test("every operation of m40.h has cases, and every tensor type", () => {
  const cases = selfTestCases(false);
  assertEquals(
    // An exchange takes two cards.
    Object.keys(OPS).filter((name) => !cases.some(({ operation }) => operation === name)),
    ["exchange"],
  );
  assert(cases.length > 250, `${cases.length} cases`);
  const names = cases.map(({ operation, variant }) => `${operation} ${variant}`);
  assertEquals(names.length, new Set(names).size, "two of one name");
});

Deno.test("the self-test passes on a library that is right", options, async () => {
  const { cases, failures } = await run(
    /^matmul (Q4_K|MXFP4)|attention heads of 64|norm rms|conv|route/,
  );
  assertEquals(failures, []);
  assert(cases > 20);
});

Deno.test(
  "the self-test names the operation whose kernel was spoiled, and no other",
  options,
  async () => {
    const subset = /^matmul Q4_K|^expert_matmul Q4_K|attention heads of 64|conv|^add/;
    for (
      const [kernel, operations] of [
        ["conv_kernel", ["conv"]],
        ["matmul_prefill_kernel", ["matmul"]],
        ["attention_decode", ["attention"]],
      ] as const
    ) {
      using _environment = new TemporaryEnvironment({ M40_EMULATION_SPOIL: kernel });
      const { failures } = await run(subset);
      assertEquals([...new Set(failures.map(({ operation }) => operation))], [...operations]);
      assertMatch(
        failures[0].reason,
        /^\d+ of \d+ values are wrong; number \d+ is \S+, wanted \S+$/,
      );
    }
  },
);

Deno.test("values that differ, are no numbers or are missing are reported by their position", () => {
  const wanted = Float32Array.of(1, -4, 0.5);
  assertEquals(difference(Float32Array.of(1.0003, -4, 0.5), wanted, 1e-4), undefined);
  assertEquals(
    difference(Float32Array.of(1, -4, 0.75), wanted, 1e-4),
    "1 of 3 values are wrong; number 2 is 0.75, wanted 0.5",
  );
  assertEquals(
    difference(Float32Array.of(NaN, -4), wanted, 1e-4),
    "2 of 3 values are wrong; number 0 is NaN, wanted 1",
  );
  assertEquals(difference(new Float32Array(3), new Float32Array(3), 1e-4), undefined);
});

Deno.test("m40 doctor --self-test without a card says that it was not run", async () => {
  await using home = await Home.make();
  const env = { ...variables, M40_EMULATION_DEVICES: "0", HOME: join(home.path, "own") };
  const { code, stdout } = await m40(home, ["doctor", "--self-test", "--json"], { env });
  assertEquals(code, 2);
  const last = JSON.parse(stdout).findings.find((one: { area: string }) =>
    one.area === "self_test"
  );
  assertEquals([last.name, last.level], ["no_card", "not_usable"]);
});
