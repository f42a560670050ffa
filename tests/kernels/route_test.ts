import { assert, assertEquals } from "@std/assert";
import { NONE, Score } from "../../engine/device/structs.ts";
import {
  assertClose,
  bitsOf,
  everyWay,
  indexBuffer,
  Random,
  type Recipe,
  row,
  TestDevice,
  tokenBuffer,
} from "../fixtures/device_harness.ts";

// Routing as programs of one operation, against the same in float64.

Deno.test("route: the largest logits, the lower index where equal, weights with and without normalising", async () => {
  using device = new TestDevice();
  const random = new Random(8);
  const [tokens, experts] = [12, 8];
  const logits = random.floats(tokens * experts, 2).map((value) => Math.round(value * 2) / 2);
  for (const used of [1, 2, 8]) {
    for (const normalise of [0, 1]) {
      const program = device.program({
        ops: [{
          kind: "route",
          input: 0,
          experts: 1,
          weights: 2,
          n_experts: experts,
          n_used: used,
          normalise,
          scale: 1.5,
        }],
        buffers: [tokenBuffer(experts), indexBuffer(used), tokenBuffer(used)],
      });
      program.writeBuffer(0, logits);
      await program.step(
        [{ tokens: new Array(tokens).fill(0), position: 0, kvBlocks: [], outputs: [] }],
      );
      const chosen = program.readBuffer(1, new Uint32Array(tokens * used));
      const weights = program.readBuffer(2, new Float32Array(tokens * used));
      for (let t = 0; t < tokens; t++) {
        const mine = row(logits, t, experts);
        const order = [...mine.keys()].sort((a, b) => mine[b] - mine[a] || a - b);
        assertEquals(Array.from(chosen.slice(t * used, (t + 1) * used)), order.slice(0, used));
        const odds = order.map((e) => Math.exp(mine[e]));
        const total = (normalise ? odds.slice(0, used) : odds).reduce((a, b) => a + b);
        assertClose(
          weights.slice(t * used, (t + 1) * used),
          odds.slice(0, used).map((p) => 1.5 * p / total),
          1e-6,
        );
      }
    }
  }
});

/** The arguments of a route operation. */
interface Routing {
  readonly experts: number;
  readonly used: number;
  readonly score: keyof typeof Score;
  readonly bias?: ArrayLike<number>;
  readonly normalise?: boolean;
  readonly groups?: number;
  readonly groupsUsed?: number;
  readonly scale?: number;
  readonly leastSum?: number;
  /** Whether there is an expert that every token has. */
  readonly shared?: boolean;
}

/** The experts of one token and their weights, in float64. */
function routed(logits: ArrayLike<number>, routing: Routing) {
  const { experts, used, score, bias, groups = 1, groupsUsed = 1 } = routing;
  const softmax = (values: number[]) => {
    const largest = Math.max(...values);
    const odds = values.map((value) => Math.exp(value - largest));
    const total = odds.reduce((a, b) => a + b);
    return odds.map((value) => value / total);
  };
  const all = Array.from(logits);
  const shares = score === "sigmoid" ? all.map((x) => 1 / (1 + Math.exp(-x))) : softmax(all);
  const scores = score === "sigmoid" || (score === "softmax" && bias) ? shares : all;
  const keys = scores.map((value, e) => value + (bias?.[e] ?? 0));
  const falling = (values: number[]) => (a: number, b: number) => values[b] - values[a] || a - b;
  const size = experts / groups;
  const sums = Array.from(
    { length: groups },
    (_, g) =>
      keys.slice(g * size, (g + 1) * size).sort((a, b) => b - a).slice(0, 2).reduce((a, b) =>
        a + b
      ),
  );
  const best = [...sums.keys()].sort(falling(sums)).slice(0, groupsUsed);
  const chosen = [...keys.keys()].filter((e) => best.includes(Math.floor(e / size)))
    .sort(falling(keys)).slice(0, used);
  const mine = score === "softmax_chosen"
    ? softmax(chosen.map((e) => all[e]))
    : chosen.map((e) => shares[e]);
  const sum = Math.max(mine.reduce((a, b) => a + b), routing.leastSum ?? 0);
  const weights = mine.map((p) => (routing.scale ?? 1) * (routing.normalise ? p / sum : p));
  if (!routing.shared) return { chosen, weights };
  return { chosen: [...chosen, experts], weights: [...weights, 1] };
}

/** The operation on buffers 0 (logits), 1 (experts) and 2 (weights). */
function routeRecipe(device: TestDevice, routing: Routing): Recipe {
  const { experts, used, bias, shared } = routing;
  const slots = used + (shared ? 1 : 0);
  return {
    ops: [{
      kind: "route",
      input: 0,
      experts: 1,
      weights: 2,
      bias: bias ? device.tensor(bias, experts) : NONE,
      n_experts: experts,
      n_used: used,
      n_shared: shared ? 1 : 0,
      score: Score[routing.score],
      normalise: routing.normalise ? 1 : 0,
      n_groups: routing.groups ?? 1,
      n_groups_used: routing.groupsUsed ?? 1,
      scale: routing.scale ?? 1,
      least_sum: routing.leastSum ?? 0,
    }],
    buffers: [tokenBuffer(experts), indexBuffer(slots), tokenBuffer(slots)],
  };
}

const SHAPES = [
  { experts: 8, used: 2 },
  { experts: 8, used: 8 },
  { experts: 33, used: 1 },
  { experts: 256, used: 8, groups: 8, groupsUsed: 4 },
  { experts: 64, used: 6, groups: 4, groupsUsed: 1 },
  { experts: 12, used: 3, groups: 12, groupsUsed: 5 },
  { experts: 512, used: 10 },
];

for (const score of ["softmax", "sigmoid", "softmax_chosen"] as const) {
  for (const biased of [false, true]) {
    const name = `route by ${score}${biased ? ", chosen with a bias" : ""}`;
    Deno.test(`${name}: experts, groups of them, weights with and without normalising, the one that every token has`, async () => {
      using device = new TestDevice({ threads: 2 });
      const random = new Random(51);
      for (const shape of SHAPES) {
        const tokens = 9;
        // Far enough from each other that float64 chooses the same.
        const logits = random.floats(tokens * shape.experts, 2);
        const bias = biased ? random.floats(shape.experts, 0.3) : undefined;
        for (
          const more of [
            {},
            { normalise: true, scale: 2.5 },
            { normalise: true, leastSum: 0.9 },
            { normalise: true, scale: 2.5, shared: true },
            { scale: 0.125 },
          ]
        ) {
          const routing = { ...shape, score, bias, ...more };
          const recipe = routeRecipe(device, routing);
          const weights = await everyWay(device, recipe, tokens, { 0: logits }, 2);
          const experts = await everyWay(device, recipe, tokens, { 0: logits }, 1);
          for (let t = 0; t < tokens; t++) {
            const wanted = routed(row(logits, t, shape.experts), routing);
            const slots = wanted.chosen.length;
            for (const got of experts) {
              assertEquals(Array.from(bitsOf(row(got, t, slots))), wanted.chosen);
            }
            for (const got of weights) {
              const mine = row(got, t, slots);
              assertClose(mine, wanted.weights, 2e-6);
              if (routing.shared) assertEquals(mine[shape.used], 1);
            }
          }
        }
      }
    });
  }
}

Deno.test("route: of experts and groups that are equal the lower index is first", async () => {
  using device = new TestDevice();
  // Sums of groups of three: 5, 5, 4, 5.
  const logits = Float32Array.of(1, 2, 3, 3, 2, 2, 4, 0, 0, 0, 2.5, 2.5);
  for (
    const [groups, groupsUsed, wanted] of [
      [1, 1, [6, 2, 3, 10]],
      [4, 3, [2, 3, 10, 11]],
      [4, 2, [2, 3, 1, 4]],
    ] as const
  ) {
    const routing = { experts: 12, used: 4, score: "softmax", groups, groupsUsed } as const;
    const got = await everyWay(device, routeRecipe(device, routing), 1, { 0: logits }, 1);
    for (const chosen of got) assertEquals(Array.from(bitsOf(chosen)), [...wanted]);
  }
});

Deno.test("route: both zeros are equal, and less than what is above and more than what is below", async () => {
  using device = new TestDevice();
  // Some lanes of a GPU's warp have two of them.
  const logits = new Float32Array(40).fill(-1e-38);
  logits.set([0, -0, -0, 0, 1e-38, -0]);
  logits.set([0, 1e-38, -0], 36);
  const routing = { experts: 40, used: 9, score: "softmax" } as const;
  const got = await everyWay(device, routeRecipe(device, routing), 1, { 0: logits }, 1);
  const wanted = [4, 37, 0, 1, 2, 3, 5, 36, 38];
  for (const chosen of got) assertEquals(Array.from(bitsOf(chosen)), wanted);
});

for (const score of ["softmax", "sigmoid", "softmax_chosen"] as const) {
  Deno.test(
    `route by ${score}: logits that are not finite leave every expert's index valid and different`,
    async () => {
      using device = new TestDevice();
      const [tokens, experts, used] = [20, 8, 4];
      const random = new Random(52);
      const odd = [NaN, Infinity, -Infinity];
      const logits = random.floats(tokens * experts);
      for (let i = 0; i < logits.length; i++) {
        // One token has only NaN logits.
        if (i < experts) logits[i] = NaN;
        else if (random.below(3) === 0) logits[i] = odd[random.below(3)];
      }
      for (const bias of [undefined, random.floats(experts)]) {
        for (const [groups, groupsUsed] of [[1, 1], [4, 2], [2, 1]]) {
          const routing = { experts, used, score, bias, groups, groupsUsed };
          const recipe = routeRecipe(device, routing);
          for (const got of await everyWay(device, recipe, tokens, { 0: logits }, 1)) {
            for (let t = 0; t < tokens; t++) {
              const chosen = new Set(bitsOf(row(got, t, used)));
              assertEquals(chosen.size, used);
              assert([...chosen].every((e) => e < experts), `${[...chosen]}`);
              assert(
                new Set([...chosen].map((e) => Math.floor(e * groups / experts))).size <=
                  groupsUsed,
              );
            }
          }
        }
      }
    },
  );
}
