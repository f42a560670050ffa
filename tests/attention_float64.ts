/**
 * Rope and attention in float64 without pages, and programs of the two operations over a paged cache.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import type { DeviceProgram } from "../engine/device/device_program.ts";
import { HeadNorm, NONE, Rope } from "../engine/device/structs.ts";
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
  /** Of V, where it is not that of K. */
  valueDim?: number;
  /**
   * Where K and V stand: behind q, in a buffer of their own, in one that an operation with another q stores; V is
   * what K was before it was normalised and rotated; V is the first values of what is stored of K.
   */
  kv?: "behind q" | "apart" | "shared" | "raw k" | "latent";
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
  ropeOffset?: number;
  /** "before" where norms are given. */
  headNorm?: keyof typeof HeadNorm;
  vNorm?: boolean;
  temperature?: { scale: number; length: number; offset: number };
  chunk?: number;
  sinks?: Float32Array;
}

function headNorm(s: Settings): keyof typeof HeadNorm {
  return s.headNorm ?? (s.qNorm || s.kNorm ? "before" : "none");
}

/** Values of a V head; whether V stands beside K in a row; values of K and V in a row. */
const valueDim = (s: Shape) => s.valueDim ?? s.headDim;
const hasValues = (s: Shape) => s.kv !== "raw k" && s.kv !== "latent";
const kvWidth = (s: Shape) => s.kvHeads * (s.headDim + (hasValues(s) ? valueDim(s) : 0));

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

/** A head at its position: normalised and rotated. */
function placed(head: number[], position: number, s: Settings, norm?: Float32Array): number[] {
  switch (headNorm(s)) {
    case "none":
      return turned(head, position, s);
    case "before":
      return turned(normalised(head, norm), position, s);
    case "after":
      return normalised(turned(head, position, s), norm);
  }
}

/** A head, rotated. */
export function turned(head: number[], position: number, s: Settings): number[] {
  if (s.rope === "none") return head;
  const out = head.slice();
  angles(s).forEach((angle, i) => {
    const pair = s.rope === "halves" ? [i, i + s.ropeDim / 2] : [2 * i, 2 * i + 1];
    const [a, b] = pair.map((value) => (s.ropeOffset ?? 0) + value);
    const cos = Math.cos(position * angle) * s.attentionFactor;
    const sin = Math.sin(position * angle) * s.attentionFactor;
    out[a] = head[a] * cos - head[b] * sin;
    out[b] = head[a] * sin + head[b] * cos;
  });
  return out;
}

function normalised(head: number[], weight?: Float32Array): number[] {
  const mean = head.reduce((sum, value) => sum + value * value, 0) / head.length;
  return head.map((value, i) => value / Math.sqrt(mean + EPSILON) * (weight?.[i] ?? 1));
}

/**
 * What the two operations make of the rows of one sequence, from position 0 on, for the last `n` of them:
 * [tokens][heads * valueDim].
 */
export function attended(rows: number[][], s: Settings, n = rows.length): number[][] {
  const { headDim, heads, kvHeads } = s;
  const dim = valueDim(s);
  const head = (r: number, h: number) => rows[r].slice(h * headDim, (h + 1) * headDim);
  const temperature = (r: number) =>
    s.temperature
      ? 1 + s.temperature.scale *
          Math.log(1 + Math.floor((r + s.temperature.offset) / s.temperature.length))
      : 1;
  const q = (r: number, h: number) =>
    placed(head(r, h), r, s, s.qNorm).map((value) => temperature(r) * value);
  const perHead = <T>(make: (r: number, h: number) => T) =>
    rows.map((_, r) => Array.from({ length: kvHeads }, (_, h) => make(r, h)));
  const keys = perHead((r, h) => placed(head(r, heads + h), r, s, s.kNorm));
  const values = perHead((r, h) => {
    if (s.kv === "latent") return keys[r][h].slice(0, dim);
    const first = (heads + kvHeads) * headDim + h * dim;
    const value = s.kv === "raw k" ? head(r, heads + h) : rows[r].slice(first, first + dim);
    return s.vNorm ? normalised(value) : value;
  });
  const k = (r: number, h: number) => keys[r][h];
  const v = (r: number, h: number) => values[r][h];
  return rows.slice(-n).map((_, i) => {
    const t = rows.length - n + i;
    const output: number[] = [];
    for (let h = 0; h < heads; h++) {
      const kvHead = Math.floor(h / (heads / kvHeads));
      const query = q(t, h);
      const first = s.chunk ? t - t % s.chunk : s.window ? Math.max(0, t - s.window + 1) : 0;
      const scores: number[] = [];
      for (let p = first; p <= t; p++) {
        const score = s.scale * k(p, kvHead).reduce((sum, value, i) => sum + value * query[i], 0);
        scores.push(s.softcap ? s.softcap * Math.tanh(score / s.softcap) : score);
      }
      const sink = s.sinks ? [s.sinks[h]] : [];
      const largest = Math.max(...scores, ...sink);
      const weights = scores.map((score) => Math.exp(score - largest));
      const total = weights.reduce((a, b) => a + b) +
        (s.sinks ? Math.exp(s.sinks[h] - largest) : 0);
      const sum = new Array(dim).fill(0);
      weights.forEach((weight, i) => {
        v(first + i, kvHead).forEach((value, c) => sum[c] += weight / total * value);
      });
      output.push(...sum);
    }
    return output;
  });
}

/** Columns before K of a buffer of its own, and between K and V. */
const GAP = 3;

/**
 * The two operations, on buffers 0 (q, and K and V behind it) and 1 (the output); in 2 stand K and V that are apart,
 * in 3 the q of those that are shared.
 */
export function operations(device: TestDevice, s: Settings, layer = 0): GivenOperation[] {
  const vector = (values?: Float32Array) => values ? device.tensor(values, values.length) : NONE;
  const shape = {
    layer,
    n_heads: s.heads,
    n_kv_heads: s.kvHeads,
    head_dim: s.headDim,
    value_dim: valueDim(s),
  };
  const apart = s.kv === "apart" || s.kv === "shared";
  const k_column = apart ? GAP : s.heads * s.headDim;
  const v_column = s.kv === "latent"
    ? NONE
    : s.kv === "raw k"
    ? k_column
    : k_column + s.kvHeads * s.headDim + (apart ? GAP : 0);
  const ropeStore = {
    kind: "rope_store",
    q: 0,
    kv: apart ? 2 : 0,
    k_column,
    v_column,
    ...shape,
    rope_dim: s.ropeDim,
    rope_offset: s.ropeOffset ?? 0,
    rope: Rope[s.rope],
    factors: vector(s.factors),
    head_norm: HeadNorm[headNorm(s)],
    q_norm: vector(s.qNorm),
    k_norm: vector(s.kNorm),
    v_norm: s.vNorm ? 1 : 0,
    original_context: s.yarn?.originalContext ?? 0,
    temperature_length: s.temperature?.length ?? 0,
    temperature_offset: s.temperature?.offset ?? 0,
    temperature_scale: s.temperature?.scale ?? 0,
    norm_epsilon: EPSILON,
    freq_base: s.freqBase,
    freq_scale: s.freqScale,
    ext_factor: s.yarn?.extFactor ?? 0,
    attention_factor: s.attentionFactor,
    beta_fast: s.yarn?.betaFast ?? 0,
    beta_slow: s.yarn?.betaSlow ?? 0,
  } as const;
  return [
    ...(s.kv === "shared"
      ? [{ ...ropeStore, q: 3 }, { ...ropeStore, kv: NONE, k_norm: NONE, v_norm: 0 }]
      : [ropeStore]),
    {
      kind: "attention",
      q: 0,
      output: 1,
      sinks: vector(s.sinks),
      ...shape,
      window: s.window,
      chunk: s.chunk ?? 0,
      scale: s.scale,
      softcap: s.softcap,
    },
  ];
}

/** A step: of each sequence that is in it, how many tokens, and whether it is decoded. */
export type Steps = [sequence: number, tokens: number, decode?: boolean][][];

/**
 * Runs sequences through the operations in the given steps; returns the outputs, [sequence][token]. A sequence
 * may have contextTokens, and has as many as rows where nothing is said. The first storedSteps only fill the cache: a
 * long past is there at once, and their outputs mean nothing.
 */
export async function run(
  device: TestDevice,
  s: Settings,
  rows: number[][][],
  steps: Steps,
  cacheOptions: { type?: number; pageTokens?: number; contextTokens?: number } = {},
  storedSteps = 0,
): Promise<number[][][]> {
  const pageTokens = cacheOptions.pageTokens ?? 4;
  const pagesOf = (length: number) => Math.ceil(length / pageTokens);
  const nPages = rows.reduce((sum, { length }) => sum + pagesOf(length), 0);
  const cache = device.cache({
    n_layers: 2,
    n_kv_heads: s.kvHeads,
    head_dim: s.headDim,
    value_dim: s.kv === "latent" ? 0 : valueDim(s),
    page_tokens: pageTokens,
    n_pages: nPages,
    type: cacheOptions.type ?? 0,
  });
  const qWidth = s.heads * s.headDim;
  const apart = s.kv === "apart" || s.kv === "shared";
  const columns = s.heads * valueDim(s);
  const describe = (ops: GivenOperation[]) => ({
    ops,
    buffers: [
      tokenBuffer(apart ? qWidth : qWidth + kvWidth(s)),
      tokenBuffer(columns),
      tokenBuffer(kvWidth(s) + 2 * GAP),
      tokenBuffer(qWidth),
    ],
    cache,
    limits: {
      n_sequence_pages: Math.max(
        ...rows.map(({ length }) => pagesOf(cacheOptions.contextTokens ?? length)),
      ),
      n_tokens: Math.max(...steps.map((step) => step.reduce((sum, [, tokens]) => sum + tokens, 0))),
      n_sequences: Math.max(...steps.map(({ length }) => length)),
    },
  });
  const whole = operations(device, s, 1);
  const attends = device.program(describe(whole));
  const stores = storedSteps === 0
    ? attends
    : device.program(describe(whole.filter(({ kind }) => kind === "rope_store")));
  // Pages of one sequence are far apart and in no order.
  const shuffle = new Random(15);
  const free = Array.from({ length: nPages }, (_, page) => page);
  const pages = rows.map(({ length }) =>
    Array.from({ length: pagesOf(length) }, () => free.splice(shuffle.below(free.length), 1)[0])
  );
  const done = rows.map(() => 0);
  const outputs: number[][][] = rows.map(() => []);
  for (const [number, step] of steps.entries()) {
    const program = number < storedSteps ? stores : attends;
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
    const values = batch.flatMap((one) => one.values);
    const n = values.length;
    const gap = new Array(GAP).fill(NaN);
    const vColumn = qWidth + s.kvHeads * s.headDim;
    const kv = values.flatMap((row) => [
      ...[...gap, ...row.slice(qWidth, vColumn)],
      ...[...gap, ...row.slice(vColumn)],
    ]);
    program.writeBuffer(
      0,
      Float32Array.from(values.flatMap((row) => apart ? row.slice(0, qWidth) : row)),
    );
    if (apart) program.writeBuffer(2, Float32Array.from(kv));
    if (s.kv === "shared") program.writeBuffer(3, new Float32Array(n * qWidth));
    await program.step(batch);
    assertKeptKeys(program, s, values, kv);
    const got = Array.from(program.readBuffer(1, new Float32Array(n * columns)));
    let r = 0;
    for (const { sequence, tokens } of batch) {
      for (let i = 0; i < tokens.length; i++) outputs[sequence].push(row(got, r++, columns));
    }
  }
  return outputs;
}

/** Fails where the buffers' K and V were changed. */
function assertKeptKeys(program: DeviceProgram, s: Settings, values: number[][], kv: number[]) {
  const qWidth = s.heads * s.headDim;
  if (s.kv === "apart" || s.kv === "shared") {
    assertEquals(Array.from(program.readBuffer(2, new Float32Array(kv.length))), kv);
  } else {
    const width = qWidth + kvWidth(s);
    const after = Array.from(program.readBuffer(0, new Float32Array(values.length * width)));
    values.forEach((before, r) =>
      assertEquals(row(after, r, width).slice(qWidth), before.slice(qWidth))
    );
  }
}

/** Rows of q, k and v of sequences of these lengths. */
export function randomRows(random: Random, s: Shape, lengths: number[]): number[][][] {
  const width = s.heads * s.headDim + kvWidth(s);
  return lengths.map((n) => Array.from({ length: n }, () => Array.from(random.floats(width))));
}
