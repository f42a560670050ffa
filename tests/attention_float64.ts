/**
 * Rope and attention in float64 without pages, and programs of the two operations over a paged cache.
 *
 * @module
 */
import { NONE, Rope } from "../engine/device/structs.ts";
import { Random, row, type TestDevice, tokenBuffer } from "./device_harness.ts";
import type { GivenOperation } from "./operations.ts";

/** Of the norms of q and k. */
export const EPSILON = 1e-6;

/** Of the heads. */
export interface Shape {
  heads: number;
  kvHeads: number;
  headDim: number;
  ropeDim: number;
}

/** What the two operations are told. */
export interface Settings extends Shape {
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

/** Small heads, plainly rotated. */
export const PLAIN: Settings = {
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

/** A head, rotated. */
export function turned(head: number[], position: number, s: Settings): number[] {
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

/**
 * What the two operations make of the rows of one sequence, from position 0 on, for the last `n` of them:
 * [tokens][heads * headDim].
 */
export function attended(rows: number[][], s: Settings, n = rows.length): number[][] {
  const { headDim, heads, kvHeads } = s;
  const head = (r: number, h: number) => rows[r].slice(h * headDim, (h + 1) * headDim);
  const q = (r: number, h: number) => turned(normalised(head(r, h), s.qNorm), r, s);
  const keys = rows.map((_, r) =>
    Array.from(
      { length: kvHeads },
      (_, h) => turned(normalised(head(r, heads + h), s.kNorm), r, s),
    )
  );
  const k = (r: number, h: number) => keys[r][h];
  const v = (r: number, h: number) => head(r, heads + kvHeads + h);
  return rows.slice(-n).map((_, i) => {
    const t = rows.length - n + i;
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

/** The two operations, on buffers 0 (q, k and v) and 1. */
export function operations(device: TestDevice, s: Settings, layer = 0): GivenOperation[] {
  const vector = (values?: Float32Array) => values ? device.tensor(values, values.length) : NONE;
  const { heads: n_heads, kvHeads: n_kv_heads, headDim: head_dim } = s;
  return [
    {
      kind: "rope_store",
      q: 0,
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
      q: 0,
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

/** A step: of each sequence that is in it, how many tokens, and whether it is decoded. */
export type Steps = [sequence: number, tokens: number, decode?: boolean][][];

/**
 * Runs sequences through the operations in the given steps; returns the outputs, [sequence][token]. A sequence
 * may have contextTokens, and has as many as rows where nothing is said.
 */
export async function run(
  device: TestDevice,
  s: Settings,
  rows: number[][][],
  steps: Steps,
  cacheOptions: { type?: number; pageTokens?: number; contextTokens?: number } = {},
): Promise<number[][][]> {
  const pageTokens = cacheOptions.pageTokens ?? 4;
  const pagesOf = (length: number) => Math.ceil(length / pageTokens);
  const nPages = rows.reduce((sum, { length }) => sum + pagesOf(length), 0);
  const cache = device.cache({
    n_layers: 2,
    n_kv_heads: s.kvHeads,
    head_dim: s.headDim,
    page_tokens: pageTokens,
    n_pages: nPages,
    type: cacheOptions.type ?? 0,
  });
  const width = (s.heads + 2 * s.kvHeads) * s.headDim;
  const program = device.program({
    ops: operations(device, s, 1),
    buffers: [tokenBuffer(width), tokenBuffer(s.heads * s.headDim)],
    cache,
    limits: {
      n_sequence_pages: Math.max(
        ...rows.map(({ length }) => pagesOf(cacheOptions.contextTokens ?? length)),
      ),
      n_tokens: Math.max(...steps.map((step) => step.reduce((sum, [, tokens]) => sum + tokens, 0))),
      n_sequences: Math.max(...steps.map(({ length }) => length)),
    },
  });
  // Pages of one sequence are far apart and in no order.
  const shuffle = new Random(15);
  const free = Array.from({ length: nPages }, (_, page) => page);
  const pages = rows.map(({ length }) =>
    Array.from({ length: pagesOf(length) }, () => free.splice(shuffle.below(free.length), 1)[0])
  );
  const done = rows.map(() => 0);
  const outputs: number[][][] = rows.map(() => []);
  for (const step of steps) {
    const batch = step.map(([sequence, tokens, decode]) => {
      const position = done[sequence];
      done[sequence] += tokens;
      return {
        tokens: new Array(tokens).fill(0),
        position,
        pages: [pages[sequence].slice(0, pagesOf(position + tokens))],
        outputs: [],
        decode,
        values: rows[sequence].slice(position, position + tokens),
        sequence,
      };
    });
    program.writeBuffer(0, Float32Array.from(batch.flatMap(({ values }) => values.flat())));
    await program.step(batch);
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

/** Rows of q, k and v of sequences of these lengths. */
export function randomRows(random: Random, s: Shape, lengths: number[]): number[][][] {
  const width = (s.heads + 2 * s.kvHeads) * s.headDim;
  return lengths.map((n) => Array.from({ length: n }, () => Array.from(random.floats(width))));
}
