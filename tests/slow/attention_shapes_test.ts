import { assertEquals } from "@std/assert";
import {
  attended,
  PLAIN,
  randomRows,
  run,
  type Settings,
  type Steps,
} from "../fixtures/attention_float64.ts";
import { assertClose, Random, TestDevice } from "../fixtures/device_harness.ts";

// Attention of heads as models have them, at lengths about the borders of KV blocks and of what kernels take at a time.
// It compares a prompt as a whole and in cuts, then tokens decoded alone, together and concurrently with a prompt.
// Results are compared with float64, and those of the same tokens bit for bit.

const F32 = 0;
const F16 = 1;
const Q8_0 = 8;
const TOLERANCE: Record<number, number> = { [F32]: 4e-6, [F16]: 2e-3, [Q8_0]: 3e-2 };

/** Contexts are no longer than this. */
const MOST_TOKENS = Number(Deno.env.get("M40_ATTENTION_TOKENS") ?? Infinity);

interface Case extends Partial<Settings> {
  type?: number;
  pageTokens?: number;
  lengths?: number[];
}

/** Multi-head latent attention. */
const LATENT = {
  kv: "latent",
  kvHeads: 1,
  headDim: 576,
  valueDim: 512,
  ropeDim: 64,
  ropeOffset: 512,
} as const;

const CASES: Record<string, Case> = {
  "4 query heads a KV head, of 128": { heads: 8, kvHeads: 2, headDim: 128, type: F16 },
  "1 query head a KV head, of 64": { heads: 2, kvHeads: 2, headDim: 64, lengths: [1, 300, 64] },
  "2 query heads a KV head, of 80": { heads: 4, kvHeads: 2, headDim: 80, rope: "halves" },
  "7 query heads a KV head, of 128": { heads: 7, kvHeads: 1, headDim: 128, type: Q8_0 },
  "16 query heads a KV head, of 32": { heads: 16, kvHeads: 1, headDim: 32, lengths: [70, 5] },
  "a window over 96-wide heads": { heads: 6, kvHeads: 2, headDim: 96, window: 70, type: F16 },
  "a cap on 256-wide heads": { heads: 4, kvHeads: 2, headDim: 256, softcap: 30, lengths: [66, 9] },
  "pages of 1 token": { heads: 4, kvHeads: 2, headDim: 64, pageTokens: 1, lengths: [40, 65] },
  "pages of 512 tokens": { heads: 4, kvHeads: 2, headDim: 64, pageTokens: 512, type: Q8_0 },
  "q and k norms, part of the head rotated": {
    heads: 4,
    kvHeads: 1,
    headDim: 64,
    ropeDim: 32,
    rope: "halves",
    qNorm: new Random(3).floats(64),
    kNorm: new Random(4).floats(64),
  },
  "a long context": { heads: 1, kvHeads: 1, headDim: 32, type: F16, lengths: [4200] },
  "a window in a long context": { heads: 1, kvHeads: 1, headDim: 32, window: 900, lengths: [1500] },
  "256-wide heads in a long context": { heads: 2, kvHeads: 1, headDim: 256, lengths: [1100] },
  "a cap in a long context": { heads: 3, kvHeads: 1, headDim: 64, softcap: 20, lengths: [1300] },
  "20 heads over one latent row": { ...LATENT, heads: 20, type: F16, lengths: [135, 9] },
  "24 heads over one latent row": { ...LATENT, heads: 24, type: Q8_0, lengths: [70, 9] },
  "3 heads over one latent row": { ...LATENT, heads: 3, type: F16, lengths: [270, 5] },
  "9 heads over a short latent row, with sinks in a window": {
    kv: "latent",
    heads: 9,
    kvHeads: 1,
    headDim: 160,
    ropeDim: 32,
    ropeOffset: 128,
    valueDim: 128,
    window: 200,
    softcap: 15,
    sinks: new Random(5).floats(9),
    lengths: [300, 130],
  },
  "a latent row in a long context": {
    kv: "latent",
    heads: 1,
    kvHeads: 1,
    headDim: 40,
    ropeDim: 8,
    ropeOffset: 32,
    valueDim: 32,
    type: F16,
    lengths: [4200],
  },
  "8 query heads a KV head, of 512": { heads: 8, kvHeads: 1, headDim: 512, lengths: [140, 30] },
  "5 query heads a KV head, of 512, in a window": {
    heads: 10,
    kvHeads: 2,
    headDim: 512,
    type: F16,
    window: 70,
    lengths: [150, 64],
  },
  "K of 192 and V of 128": { heads: 4, kvHeads: 2, headDim: 192, valueDim: 128, type: Q8_0 },
  "K of 64 and V of 200, 11 heads": { heads: 11, kvHeads: 1, headDim: 64, valueDim: 200 },
  "sinks in a window, 8 query heads a KV head, of 64": {
    heads: 16,
    kvHeads: 2,
    headDim: 64,
    rope: "halves",
    type: F16,
    window: 128,
    sinks: new Random(6).floats(16),
    lengths: [400, 33],
  },
  "sinks in a long context": {
    heads: 2,
    kvHeads: 1,
    headDim: 64,
    sinks: Float32Array.of(4, -1),
    lengths: [1300],
  },
  "chunks in a long context": { heads: 2, kvHeads: 1, headDim: 64, chunk: 600, lengths: [1900] },
};

for (
  const [name, { type = F32, pageTokens = 32, lengths: wished = [129, 33, 1], ...changes }]
    of Object.entries(CASES)
) {
  const lengths = wished.map((length) => Math.min(length, MOST_TOKENS));
  Deno.test(`attention of ${name}: right, with the same bits however steps are made`, async () => {
    using device = new TestDevice({ threads: 2 });
    const headDim = changes.headDim!;
    const settings: Settings = {
      ...PLAIN,
      ropeDim: headDim,
      scale: 1 / Math.sqrt(headDim),
      ...changes,
    };
    // Two decoded tokens after each prompt.
    const rows = randomRows(new Random(20), settings, lengths.map((n) => n + 2));
    const cache = { type, pageTokens };
    const decode = (sequence: number): Steps[number][number] => [sequence, 1, true];
    const all = lengths.map((_, sequence) => sequence);
    const together = await run(device, settings, rows, [
      lengths.map((n, sequence) => [sequence, n]),
      all.map(decode),
      all.map(decode),
    ], cache);
    const random = new Random(21);
    const pieces = (n: number): number[] => {
      const piece = Math.min(n, 1 + random.below(Math.max(100, n >> 2)));
      return piece === n ? [n] : [piece, ...pieces(n - piece)];
    };
    // Each by itself, in pieces; the last one's prompt concurrently with the first one's decoded tokens.
    const cut = await run(device, settings, rows, [
      ...all.slice(0, -1).flatMap((s) => pieces(lengths[s]).map((n): Steps[number] => [[s, n]])),
      ...(all.length > 1
        ? [[decode(0), [all.length - 1, lengths.at(-1)!]] satisfies Steps[number]]
        : pieces(lengths[0]).map((n): Steps[number] => [[0, n]])),
      ...all.flatMap((s) => (s === 0 && all.length > 1 ? [1] : [1, 2]).map(() => [decode(s)])),
    ], cache);
    // The decoded tokens of each as rows of one step.
    const rowwise = await run(device, settings, rows, [
      lengths.map((n, sequence) => [sequence, n]),
      all.map((sequence) => [sequence, 2, true]),
    ], cache);
    all.forEach((s) => {
      assertEquals(cut[s], together[s], `sequence ${s} has other bits`);
      assertEquals(rowwise[s], together[s], `sequence ${s} has other bits in two rows`);
      // The attended of long prompts take long to compute: of those, the last ones.
      const wanted = attended(rows[s], settings, lengths[s] > 400 ? 3 : lengths[s] + 2);
      const chosen = together[s].slice(-wanted.length);
      wanted.forEach((row, t) => assertClose(chosen[t], row, TOLERANCE[type]));
    });
  });
}

Deno.test("decoded tokens of 8 heads at a depth of more than 32 chunks: right, with the bits of rows of one step together with another sequence", async () => {
  // Chunks of 192 positions.
  const depth = Math.min(6200, MOST_TOKENS);
  using device = new TestDevice({ threads: 2 });
  const settings: Settings = { ...PLAIN, heads: 8, kvHeads: 1, headDim: 32, ropeDim: 32 };
  const rows = randomRows(new Random(24), settings, [depth + 2, 42]);
  const cache = { type: F16, pageTokens: 32 };
  const past = (n: number): Steps => {
    const piece = Math.ceil(depth / n);
    return Array.from({ length: n }, (_, i) => [[0, Math.min(piece, depth - i * piece)]]);
  };
  const decode = (sequence: number, tokens: number): Steps[number][number] => [
    sequence,
    tokens,
    true,
  ];
  const singly = await run(
    device,
    settings,
    rows,
    [...past(4), [decode(0, 1)], [decode(0, 1)], [[1, 40]], [decode(1, 2)]],
    cache,
    4,
  );
  const together = await run(
    device,
    settings,
    rows,
    [...past(7), [[1, 40]], [decode(1, 2), decode(0, 2)]],
    cache,
    7,
  );
  assertEquals(together.map((of) => of.slice(-2)), singly.map((of) => of.slice(-2)));
  attended(rows[0], settings, 2).forEach((row, t) =>
    assertClose(together[0].slice(-2)[t], row, TOLERANCE[F16])
  );
});

Deno.test("more decoded rows than a step has sequences: in passes, with the bits of one by one", async () => {
  using device = new TestDevice({ threads: 2 });
  const settings: Settings = { ...PLAIN, heads: 4, kvHeads: 2, headDim: 32, ropeDim: 32 };
  // Several chunks of positions, whose sums go by way of memory that is there for one sequence.
  const rows = randomRows(new Random(23), settings, [308]);
  const cache = { type: F16, pageTokens: 32 };
  const one = (): Steps[number] => [[0, 1, true]];
  const wanted = await run(
    device,
    settings,
    rows,
    [[[0, 300]], ...rows[0].slice(300).map(one)],
    cache,
  );
  assertEquals(await run(device, settings, rows, [[[0, 300]], [[0, 8, true]]], cache), wanted);
});

for (const [window, contextTokens] of [[0, 1240], [700, 1240], [0, 20_000]]) {
  if (contextTokens > MOST_TOKENS) continue;
  Deno.test(`short chunks of two sequences at great depth, window ${window}, of a context of ${contextTokens}: the bits of long ones`, async () => {
    using device = new TestDevice({ threads: 2 });
    const settings: Settings = { ...PLAIN, heads: 4, kvHeads: 2, headDim: 32, ropeDim: 32, window };
    const rows = randomRows(new Random(22), settings, [1240, 1100]);
    const cache = { type: F16, pageTokens: 32, contextTokens };
    const whole = await run(device, settings, rows, [[[0, 1240]], [[1, 1100]]], cache);
    // A tile has 32 tokens: those of both sequences share one, and their positions are cut into spans elsewhere.
    const cut = await run(device, settings, rows, [
      [[0, 1000], [1, 500]],
      [[1, 9], [0, 20]],
      [[0, 3], [1, 4]],
      [[1, 511], [0, 1]],
      [[0, 40], [1, 60]],
      [[0, 176], [1, 16]],
    ], cache);
    assertEquals(cut, whole);
    rows.forEach((of, s) => {
      const wanted = attended(of, settings, 3);
      wanted.forEach((row, t) => assertClose(whole[s].slice(-3)[t], row, TOLERANCE[F16]));
    });
  });
}
