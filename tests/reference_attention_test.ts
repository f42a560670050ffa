import { assertEquals, assertNotEquals } from "@std/assert";
import type { Cache } from "../engine/device/context.ts";
import { NONE, Rope } from "../engine/device/structs.ts";
import type { Operation } from "../engine/program/operation.ts";
import {
  assertClose,
  Random,
  row,
  type TestDevice,
  tokenBuffer,
  withDevice,
} from "./device_harness.ts";

// The rope and attention operations over a paged cache, against float64 without pages.

interface Shape {
  heads: number;
  kvHeads: number;
  headDim: number;
  ropeDim: number;
}

interface Settings extends Shape {
  rope: keyof typeof Rope;
  factors?: Float32Array;
  qNorm?: Float32Array;
  kNorm?: Float32Array;
  freqBase: number;
  freqScale: number;
  attentionFactor: number;
  yarn?: { extFactor: number; betaFast: number; betaSlow: number; originalContext: number };
  scale: number;
  softcap: number;
  window: number;
}

const PLAIN: Settings = {
  heads: 4,
  kvHeads: 2,
  headDim: 8,
  ropeDim: 8,
  rope: "interleaved",
  freqBase: 10000,
  freqScale: 1,
  attentionFactor: 1,
  scale: 1 / Math.sqrt(8),
  softcap: 0,
  window: 0,
};
const EPSILON = 1e-6;

/** Angles a position: the scaled ones blended with the unscaled by how often a pair turns. */
function angles(s: Settings): number[] {
  return Array.from({ length: s.ropeDim / 2 }, (_, i) => {
    const unscaled = s.freqBase ** (-2 * i / s.ropeDim) / (s.factors?.[i] ?? 1);
    if (!s.yarn) return unscaled * s.freqScale;
    const { extFactor, betaFast, betaSlow, originalContext } = s.yarn;
    const pairOf = (turns: number) =>
      s.ropeDim * Math.log(originalContext / (turns * 2 * Math.PI)) / (2 * Math.log(s.freqBase));
    const low = Math.max(Math.floor(pairOf(betaFast)), 0);
    const high = Math.min(Math.ceil(pairOf(betaSlow)), s.ropeDim - 1);
    const ramp = Math.min(Math.max((i - low) / Math.max(high - low, 0.001), 0), 1);
    const share = (1 - ramp) * extFactor;
    return unscaled * s.freqScale * (1 - share) + unscaled * share;
  });
}

function turned(head: number[], position: number, s: Settings): number[] {
  if (s.rope === "none") return head;
  const out = head.slice();
  angles(s).forEach((angle, i) => {
    const [a, b] = s.rope === "halves" ? [i, i + s.ropeDim / 2] : [2 * i, 2 * i + 1];
    const cos = Math.cos(position * angle) * s.attentionFactor;
    const sin = Math.sin(position * angle) * s.attentionFactor;
    out[a] = head[a] * cos - head[b] * sin;
    out[b] = head[a] * sin + head[b] * cos;
  });
  return out;
}

function normalised(head: number[], weight?: Float32Array): number[] {
  if (!weight) return head;
  const mean = head.reduce((sum, value) => sum + value * value, 0) / head.length;
  return head.map((value, i) => value / Math.sqrt(mean + EPSILON) * weight[i]);
}

/** What the two operations make of the rows of one sequence, from position 0 on: [tokens][heads * headDim]. */
function attended(rows: number[][], s: Settings): number[][] {
  const { headDim, heads, kvHeads } = s;
  const head = (r: number, h: number) => rows[r].slice(h * headDim, (h + 1) * headDim);
  const q = (r: number, h: number) => turned(normalised(head(r, h), s.qNorm), r, s);
  const k = (r: number, h: number) => turned(normalised(head(r, heads + h), s.kNorm), r, s);
  const v = (r: number, h: number) => head(r, heads + kvHeads + h);
  return rows.map((_, t) => {
    const output: number[] = [];
    for (let h = 0; h < heads; h++) {
      const kvHead = Math.floor(h / (heads / kvHeads));
      const query = q(t, h);
      const first = s.window ? Math.max(0, t - s.window + 1) : 0;
      const scores: number[] = [];
      for (let p = first; p <= t; p++) {
        const score = s.scale * k(p, kvHead).reduce((sum, value, i) => sum + value * query[i], 0);
        scores.push(s.softcap ? s.softcap * Math.tanh(score / s.softcap) : score);
      }
      const largest = Math.max(...scores);
      const weights = scores.map((score) => Math.exp(score - largest));
      const total = weights.reduce((a, b) => a + b);
      const sum = new Array(headDim).fill(0);
      weights.forEach((weight, i) => {
        v(first + i, kvHead).forEach((value, c) => sum[c] += weight / total * value);
      });
      output.push(...sum);
    }
    return output;
  });
}

function operations(device: TestDevice, s: Settings, layer = 0): Operation[] {
  const vector = (values?: Float32Array) => values ? device.tensor(values, values.length) : NONE;
  const { heads: n_heads, kvHeads: n_kv_heads, headDim: head_dim } = s;
  return [
    {
      kind: "rope",
      qkv: 0,
      layer,
      n_heads,
      n_kv_heads,
      head_dim,
      rope_dim: s.ropeDim,
      rope: Rope[s.rope],
      factors: vector(s.factors),
      q_norm: vector(s.qNorm),
      k_norm: vector(s.kNorm),
      original_context: s.yarn?.originalContext ?? 0,
      norm_epsilon: EPSILON,
      freq_base: s.freqBase,
      freq_scale: s.freqScale,
      ext_factor: s.yarn?.extFactor ?? 0,
      attention_factor: s.attentionFactor,
      beta_fast: s.yarn?.betaFast ?? 0,
      beta_slow: s.yarn?.betaSlow ?? 0,
    },
    {
      kind: "attention",
      qkv: 0,
      output: 1,
      layer,
      n_heads,
      n_kv_heads,
      head_dim,
      window: s.window,
      scale: s.scale,
      softcap: s.softcap,
    },
  ];
}

/** Runs sequences through the operations in the given chunks; a chunk list a step, [sequence, tokens]. */
async function run(
  device: TestDevice,
  s: Settings,
  rows: number[][][],
  steps: [sequence: number, tokens: number][][],
  cacheOptions: { type?: number; pageTokens?: number } = {},
): Promise<number[][][]> {
  const pageTokens = cacheOptions.pageTokens ?? 4;
  const cache = device.cache({
    n_layers: 2,
    n_kv_heads: s.kvHeads,
    head_dim: s.headDim,
    page_tokens: pageTokens,
    n_pages: 64,
    type: cacheOptions.type ?? 0,
  });
  const width = (s.heads + 2 * s.kvHeads) * s.headDim;
  const program = device.program({
    ops: operations(device, s, 1),
    buffers: [tokenBuffer(width), tokenBuffer(s.heads * s.headDim)],
    cache,
    limits: { n_sequence_pages: 16 },
  });
  // Pages of one sequence are far apart and in no order.
  const pages = rows.map((sequence, i) =>
    Array.from(
      { length: Math.ceil(sequence.length / pageTokens) },
      (_, p) => (37 * (i * 13 + p) + 5) % 64,
    )
  );
  const done = rows.map(() => 0);
  const outputs: number[][][] = rows.map(() => []);
  for (const step of steps) {
    const batch = step.map(([sequence, tokens]) => {
      const position = done[sequence];
      done[sequence] += tokens;
      return {
        tokens: new Array(tokens).fill(0),
        position,
        pages: pages[sequence].slice(0, Math.ceil((position + tokens) / pageTokens)),
        outputs: [],
        values: rows[sequence].slice(position, position + tokens),
        sequence,
      };
    });
    program.writeBuffer(0, Float32Array.from(batch.flatMap(({ values }) => values.flat())));
    await program.step(batch, { sample: false });
    const n = batch.reduce((sum, { tokens }) => sum + tokens.length, 0);
    const columns = s.heads * s.headDim;
    const got = Array.from(program.readBuffer(1, new Float32Array(n * columns)));
    let r = 0;
    for (const { sequence, tokens } of batch) {
      for (let i = 0; i < tokens.length; i++) outputs[sequence].push(row(got, r++, columns));
    }
  }
  return outputs;
}

function randomRows(random: Random, s: Shape, lengths: number[]): number[][][] {
  const width = (s.heads + 2 * s.kvHeads) * s.headDim;
  return lengths.map((n) => Array.from({ length: n }, () => Array.from(random.floats(width))));
}

/** Ragged: prompts in chunks that end inside pages, decoded tokens between them. */
const LENGTHS = [19, 4, 9];
const STEPS: [number, number][][] = [
  [[0, 7]],
  [[1, 1], [0, 5], [2, 3]],
  [[2, 1], [1, 1], [0, 4]],
  [[0, 1], [1, 2], [2, 5]],
  [[0, 2]],
];

const CASES: Record<string, Partial<Settings>> = {
  "grouped heads, interleaved pairs": {},
  "one KV head for all": { heads: 5, kvHeads: 1, rope: "halves" },
  "as many KV heads, no rope": { heads: 3, kvHeads: 3, rope: "none" },
  "part of the head rotated, in halves": { rope: "halves", ropeDim: 6 },
  "part of the head rotated, interleaved": { ropeDim: 4 },
  "frequency factors and scale": {
    freqScale: 0.25,
    factors: Float32Array.of(1, 1.5, 4, 8),
    freqBase: 500000,
  },
  "YaRN": {
    rope: "halves",
    headDim: 16,
    ropeDim: 16,
    freqScale: 0.25,
    attentionFactor: 1.1386,
    yarn: { extFactor: 1, betaFast: 32, betaSlow: 1, originalContext: 4096 },
  },
  "q and k norms": {
    rope: "halves",
    qNorm: new Random(1).floats(8),
    kNorm: new Random(2).floats(8),
  },
  "a window inside a page": { window: 3 },
  "a window over pages": { window: 6 },
  "a window as long as a page": { window: 4 },
  "a window longer than the sequences": { window: 100 },
  "soft-capped scores": { softcap: 0.7, scale: 1 },
  "an odd head dimension without rope": { headDim: 11, rope: "none", ropeDim: 0 },
};

for (const [name, changes] of Object.entries(CASES)) {
  Deno.test(`attention over pages: ${name}`, async () => {
    await withDevice({ threads: 2 }, async (device) => {
      const settings = { ...PLAIN, ...changes };
      const rows = randomRows(new Random(10), settings, LENGTHS);
      const got = await run(device, settings, rows, STEPS);
      rows.forEach((sequence, i) => {
        assertClose(got[i].flat(), attended(sequence, settings).flat(), 3e-6);
      });
    });
  });
}

Deno.test("attention: pages of 1, 2 and 16 tokens give the same to rounding", async () => {
  await withDevice({ threads: 2 }, async (device) => {
    const rows = randomRows(new Random(11), PLAIN, [13]);
    const wanted = attended(rows[0], PLAIN).flat();
    for (const pageTokens of [1, 2, 16]) {
      const got = await run(device, PLAIN, rows, [[[0, 6]], [[0, 1]], [[0, 6]]], { pageTokens });
      assertClose(got[0].flat(), wanted, 3e-6);
    }
  });
});

Deno.test("attention: caches of F16 and Q8_0 come as near as their precision allows", async () => {
  await withDevice({ threads: 2 }, async (device) => {
    const settings = { ...PLAIN, headDim: 64, ropeDim: 64, scale: 1 / 8 };
    const rows = randomRows(new Random(12), settings, LENGTHS);
    for (const [type, tolerance] of [[1, 1e-3], [8, 2e-2]]) {
      const got = await run(device, settings, rows, STEPS, { type });
      rows.forEach((sequence, i) => {
        assertClose(got[i].flat(), attended(sequence, settings).flat(), tolerance);
      });
    }
  });
});

Deno.test("rope angles stay exact at position 100,000", async () => {
  await withDevice({}, async (device) => {
    const settings: Settings = { ...PLAIN, heads: 1, kvHeads: 1, freqBase: 500000 };
    const cache = device.cache({ n_kv_heads: 1, head_dim: 8, page_tokens: 1024, n_pages: 1 });
    const program = device.program({
      ops: operations(device, settings).slice(0, 1),
      buffers: [tokenBuffer(24)],
      cache,
      limits: { n_sequence_pages: 128 },
    });
    const values = new Random(13).floats(24);
    program.writeBuffer(0, values);
    const position = 100_000;
    await program.step([
      { tokens: [0], position, pages: new Array(98).fill(0), outputs: [] },
    ], { sample: false });
    const got = program.readBuffer(0, new Float32Array(8));
    assertClose(got, turned(Array.from(values.slice(0, 8)), position, settings), 3e-7);
  });
});

Deno.test("cache pages: copied, saved and restored pages hold the same bits", async () => {
  await withDevice({}, async (device) => {
    const random = new Random(14);
    const settings: Settings = { ...PLAIN, heads: 2, kvHeads: 2 };
    const cache: Cache = device.cache({ n_layers: 1, n_kv_heads: 2, type: 1, n_pages: 8 });
    const { pageBytes } = device.context.cacheBytes(cache.desc);
    const program = device.program({
      ops: operations(device, settings),
      buffers: [tokenBuffer(48), tokenBuffer(16)],
      cache,
    });
    const rows = random.floats(8 * 48);
    program.writeBuffer(0, rows.slice(0, 7 * 48));
    await program.step(
      [{ tokens: new Array(7).fill(0), position: 0, pages: [2, 5], outputs: [] }],
      { sample: false },
    );
    const last = async (pages: number[]) => {
      program.writeBuffer(0, rows.slice(7 * 48));
      await program.step([{ tokens: [0], position: 7, pages, outputs: [] }], { sample: false });
      return Array.from(program.readBuffer(1, new Float32Array(16)));
    };
    cache.copyPages(Uint32Array.of(2, 5), Uint32Array.of(7, 0));
    const saved = new Uint8Array(2 * pageBytes);
    cache.savePages(Uint32Array.of(5, 2), saved);
    const wanted = await last([2, 5]);
    assertEquals(await last([7, 0]), wanted);
    assertNotEquals(await last([3, 4]), wanted);
    cache.restorePages(Uint32Array.of(4, 3), saved);
    assertEquals(await last([3, 4]), wanted);
  });
});
