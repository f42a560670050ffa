import { assert, assertAlmostEquals, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { dirname, join } from "@std/path";
import { fp32Limit } from "../../cli/bench/bench_profile.ts";
import { flameGraph } from "../../cli/bench/flame_graph.ts";
import { readGguf } from "../../engine/gguf/reader.ts";
import { Engine, M40Error, type OperationProfile, profile } from "../../engine/mod.ts";
import { architectureOf } from "../../engine/models/architecture.ts";
import { BACKEND } from "../fixtures/device_harness.ts";
import { Home, TINY } from "../fixtures/cli_program.ts";
import { m40 } from "../fixtures/cli_session.ts";

const SMALL = ["--steps", "2", "--repetitions", "1"];

/** A file of tests/data, from here. */
const golden = (name: string) => join(dirname(TINY), name);

Deno.test("m40 bench --profile: every operation once, its layer and work; sums are those of the operations", async () => {
  await using home = await Home.make();
  for (const name of ["llama.gguf", "qwen35.gguf", "mixtral-moe.gguf"]) {
    const args = ["bench", golden(name), "--profile", "--json", ...SMALL];
    const sizes = ["--prompts", "7", "--batches", "1,2", "--depths", "0,3"];
    const { code, stdout, stderr } = await m40(home, [...args, ...sizes]);
    assertEquals(code, 0, stderr);
    const { profiles } = JSON.parse(stdout);
    assertEquals(
      profiles.map(({ kind, size, depth }: Record<string, unknown>) => [kind, size, depth]),
      [["prefill", 7, 0], ["decode", 1, 0], ["decode", 2, 0], ["decode", 1, 3], ["decode", 2, 3]],
    );
    const gguf = await readGguf(golden(name));
    const { program } = architectureOf(gguf).read(gguf);
    for (const profile of profiles) {
      const kinds = profile.operations.flatMap((
        { kind, fused_kind }: { kind: string; fused_kind?: string },
      ) => fused_kind ? [kind, fused_kind] : [kind]);
      assertEquals(kinds, program.operations.map(({ kind }) => kind));
      for (const field of ["microseconds", "bytes", "flop"]) {
        const sum = (rows: Record<string, number>[]) =>
          rows.reduce((total, row) => total + row[field], 0);
        for (const rows of [profile.operations, profile.kinds, profile.layers]) {
          assertAlmostEquals(sum(rows), profile[field], 1e-6 * profile[field] + 1e-9);
        }
        assert(profile[field] > 0, field);
      }
      const layers = profile.operations.map(({ layer }: { layer?: number }) => layer);
      assertEquals(layers[0], undefined, "the embedding is of no layer");
      assertEquals(layers.at(-1), undefined, "nor is the sample");
      const within = layers.filter((layer?: number) => layer !== undefined);
      assertEquals(within, within.toSorted((a: number, b: number) => a - b));
      assertEquals(
        new Set(within).size,
        gguf.metadata.number(`${gguf.metadata.string("general.architecture")}.block_count`),
      );
    }
  }
});

Deno.test("profile: operations in one launch have one time; every operation is in one, on every library", async () => {
  await using engine = await Engine.load(TINY, { device: BACKEND, parallel: 2 });
  const gguf = await readGguf(TINY);
  const { program } = architectureOf(gguf).read(gguf);
  const plan = { prompts: [5], batches: [1, 2], depths: [0, 2], steps: 3, repetitions: 2 };
  let fused = 0;
  const found = await Array.fromAsync(profile(engine, program, plan));
  assertEquals(found.length, 5);
  for (const { operations } of found) {
    const kinds = operations.flatMap(({ kind, fusedKind }) =>
      fusedKind ? [kind, fusedKind] : [kind]
    );
    assertEquals(kinds, program.operations.map(({ kind }) => kind));
    assert(operations.every(({ microseconds }) => microseconds >= 0));
    fused += operations.filter(({ fusedKind }) => fusedKind !== undefined).length;
  }
  assertEquals(fused > 0, BACKEND !== "cpu", `${fused} operations with the one before them`);
  const other = { ...program, operations: program.operations.slice(1) };
  const error = await assertRejects(
    () => Array.fromAsync(profile(engine, other, plan)),
    M40Error,
  );
  assertMatch(error.message, /\d+ times of operations: the program has \d+/);
});

Deno.test("m40 bench --profile: tables, and a flame graph; --flame alone is a mistake", async () => {
  await using home = await Home.make();
  const flame = join(home.path, "flame.svg");
  const args = ["bench", TINY, ...SMALL, "--prompts", "4", "--batches", "1", "--depths", "0"];
  const { code, stdout, stderr } = await m40(home, [...args, "--profile", "--flame", flame]);
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /a step of a prompt of 4: \d+ us, operation by operation\n/);
  assertMatch(stdout, /a step of 1 that decode at depth 0: \d+ us/);
  assertMatch(stdout, /\nkind +us +of step +MB +GB\/s/);
  assertMatch(stdout, /\nlayer 0 +[\d.]+ +\d+%/);
  assertMatch(stdout, /layer 0: .*attn_q/);
  const svg = await Deno.readTextFile(flame);
  assertMatch(svg, /<title>prompt of 4: .*100\.0%<\/title>/);
  assertMatch(svg, /<title>decode 1 at depth 0: .*100\.0%<\/title>/);
  const alone = await m40(home, [...args, "--flame", flame]);
  assertEquals(alone.code, 2);
  assertMatch(alone.stderr, /--flame: wanted --profile with it/);
});

Deno.test("flame graph: boxes lie side by side and fill what they are of; names cannot leave their box", () => {
  const operation = (
    index: number,
    layer: number | undefined,
    microseconds: number,
    name: string,
  ) => ({
    ...{ index, layer, microseconds, name },
    ...{ kind: "matmul", bytes: 0, flop: 0 } as const,
  });
  const operations: OperationProfile[] = [
    operation(0, undefined, 10, "embed"),
    operation(1, 0, 50, "</title><script>alert(1)</script>&\x1b"),
    operation(2, 0, 30, "b"),
    operation(3, 1, 10, "c"),
  ];
  const measured = {
    kind: "decode",
    size: 1,
    depth: 0,
    tokens: 1,
    steps: 1,
    milliseconds: [1],
  } as const;
  const svg = flameGraph([{ measured, operations }]);
  assert(!svg.includes("<script"));
  assert(!svg.includes("\x1b"));
  const boxes = [...svg.matchAll(/<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"/g)]
    .map(([, x, y, width]) => [Number(y), Number(x), Number(width)]);
  assertEquals(boxes, [
    [0, 0, 1600],
    [20, 0, 160],
    [20, 160, 1280],
    [20, 1440, 160],
    [40, 0, 160],
    [40, 160, 800],
    [40, 960, 480],
    [40, 1440, 160],
  ]);
  assertEquals((svg.match(/<g>/g) ?? []).length, (svg.match(/<\/g>/g) ?? []).length);
  assertMatch(flameGraph([]), /<svg .*>\n<\/svg>/);
});

Deno.test("the FP32 limit is that of the card's lanes at its highest clock; the CPU's is not known", () => {
  const card = {
    kind: "gpu",
    computeCapability: 52,
    multiprocessors: 24,
    clockKhz: 1_114_000,
  } as const;
  assertAlmostEquals(fp32Limit(card)! / 1e12, 6.84, 0.01);
  assertEquals(fp32Limit({ ...card, computeCapability: 75 }), fp32Limit(card)! / 2);
  assertEquals(fp32Limit({ ...card, kind: "cpu" }), undefined);
  assertEquals(fp32Limit({ ...card, clockKhz: 0 }), undefined);
});
