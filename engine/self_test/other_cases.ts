import { Activation, GREEDY, KHeads, NONE, Norm, Score, type StepSampling } from "../device/mod.ts";
import { type Case, LEAST_SHARE, type Sizes } from "./case.ts";
import type { GivenOperation } from "./given_operation.ts";
import { prompt, type Runner } from "./runner.ts";
import { expertBuffer, indexBuffer, outputBuffer, tokenBuffer } from "./small_programs.ts";

const TOKENS = 5;

/** What has neither weights in blocks nor a cache of KV blocks. */
export function otherCases({ columns }: Sizes): Case[] {
  return [
    ...Object.keys(Activation).map((name) => activation(name as keyof typeof Activation, columns)),
    // Each width has kernels of its own.
    ...[48, 101, columns, 4096, 5001].flatMap((
      width,
    ) => [norm("rms", width), norm("layer", width)]),
    plain("add", columns, () => ({ kind: "add", a: 0, b: 1, output: 2, columns })),
    plain(
      "add",
      columns,
      () => ({ kind: "add", a: 0, b: 1, gate: 3, output: 2, columns }),
      "with a gate",
    ),
    plain("softcap", columns, () => ({
      ...{ kind: "softcap", input: 0, output: 2, columns, scale: 0.5, softcap: 2 },
    })),
    plain(
      "copy",
      columns,
      () => ({
        ...{ kind: "copy", input: 0, output: 2, columns: 16, n_groups: 3 },
        ...{ input_stride: 20, output_stride: 24, output_column: 4 },
      }),
      undefined,
      3 * 24,
    ),
    select(columns),
    ...[8, 300].flatMap((experts) => [
      route("softmax", experts),
      route("sigmoid", experts),
      route("softmax_chosen", experts),
    ]),
    expertSum(columns),
    sample("the likeliest token", GREEDY),
    sample("top-k, top-p, min-p", {
      ...GREEDY,
      temperature: 0.8,
      topK: 40,
      topP: 0.9,
      minP: 0.05,
      seed: 7n,
    }),
    sample("typical-p, XTC", {
      ...{
        ...GREEDY,
        temperature: 1,
        typicalP: 0.9,
        xtcProbability: 0.5,
        xtcThreshold: 0.05,
        seed: 9n,
      },
    }),
    run("tokens one after the other", { ...GREEDY, temperature: 0.8, topK: 40, seed: 7n }),
    ...[3, 4, 8].map(conv),
    ...[16, 32, 64, 128, 37].map(deltaRule),
    ...[16, 64, 128, 37].map(selectiveScan),
  ];
}

function activation(name: keyof typeof Activation, columns: number): Case {
  return {
    operation: "activation",
    variant: name,
    compute: (runner) =>
      runner.compute(
        {
          ops: [{
            ...{ kind: "activation", input: 0, output: 1, activation: Activation[name], gated: 1 },
            ...{ columns, alpha: 1.7, limit: 2 },
          }],
          buffers: [tokenBuffer(2 * columns), tokenBuffer(columns)],
          inputs: { 0: runner.random.floats(TOKENS * 2 * columns) },
          sequences: prompt(TOKENS),
        },
        1,
        TOKENS * columns,
      ),
  };
}

function norm(kind: keyof typeof Norm, columns: number): Case {
  return {
    operation: "norm",
    variant: `${kind}, ${columns} columns`,
    compute(runner) {
      const weight = runner.floats(1, columns);
      const bias = runner.floats(1, columns);
      return runner.compute(
        {
          ops: [{
            ...{ kind: "norm", input: 0, output: 1, weight, bias, norm: Norm[kind], columns },
            epsilon: 1e-5,
          }],
          buffers: [tokenBuffer(columns), tokenBuffer(columns)],
          inputs: { 0: runner.random.floats(TOKENS * columns) },
          sequences: prompt(TOKENS),
        },
        1,
        TOKENS * columns,
      );
    },
  };
}

/** An operation of the buffers 0 and 1 to 2, and 3 with a number a row. */
function plain(
  operation: GivenOperation["kind"],
  columns: number,
  op: () => GivenOperation,
  variant = "",
  outputColumns = columns,
): Case {
  return {
    operation,
    variant,
    compute: (runner) =>
      runner.compute(
        {
          ops: [op()],
          buffers: [columns, columns, outputColumns, 1].map(tokenBuffer),
          inputs: {
            0: runner.random.floats(TOKENS * columns),
            1: runner.random.floats(TOKENS * columns),
            2: new Float32Array(TOKENS * outputColumns),
            3: runner.random.floats(TOKENS),
          },
          sequences: prompt(TOKENS),
        },
        2,
        TOKENS * outputColumns,
      ),
  };
}

function select(columns: number): Case {
  return {
    operation: "select",
    variant: "",
    compute: (runner) =>
      runner.compute(
        {
          ops: [{ kind: "select", input: 0, output: 1, columns }],
          buffers: [tokenBuffer(columns), outputBuffer(columns)],
          inputs: { 0: runner.random.floats(TOKENS * columns) },
          sequences: prompt(TOKENS, { outputs: [{ row: 1 }, { row: 4 }] }),
        },
        1,
        2 * columns,
      ),
  };
}

function route(score: keyof typeof Score, experts: number): Case {
  return {
    operation: "route",
    variant: `${score}, ${experts} experts`,
    compute: (runner) => {
      const used = 4;
      return runner.compute(
        {
          ops: [{
            ...{
              kind: "route",
              input: 0,
              experts: 1,
              weights: 2,
              n_experts: experts,
              n_used: used,
            },
            ...{ score: Score[score], normalise: 1 },
          }],
          buffers: [tokenBuffer(experts), indexBuffer(used), tokenBuffer(used)],
          inputs: { 0: runner.random.floats(TOKENS * experts, 2) },
          sequences: prompt(TOKENS),
        },
        2,
        TOKENS * used,
      );
    },
  };
}

function expertSum(columns: number): Case {
  return {
    operation: "expert_sum",
    variant: "",
    compute: (runner) => {
      const used = 3;
      return runner.compute(
        {
          ops: [{
            ...{ kind: "expert_sum", input: 0, weights: 1, residual: 2, output: 3 },
            ...{ columns, n_used: used },
          }],
          buffers: [
            expertBuffer(columns, used),
            tokenBuffer(used),
            tokenBuffer(columns),
            tokenBuffer(columns),
          ],
          inputs: {
            0: runner.random.floats(TOKENS * used * columns),
            1: runner.random.floats(TOKENS * used),
            2: runner.random.floats(TOKENS * columns),
          },
          sequences: prompt(TOKENS),
        },
        3,
        TOKENS * columns,
      );
    },
  };
}

/** Tokens and their log-probabilities. */
function sample(variant: string, sampling: StepSampling): Case {
  return {
    operation: "sample",
    variant,
    async compute(runner) {
      const vocabulary = 5000;
      const outputs = [0, 1, 2].map((row) => ({ row, sampling: { ...sampling, counter: row } }));
      const work = {
        ops: [{ kind: "sample", logits: 0, columns: vocabulary }] as const,
        buffers: [outputBuffer(vocabulary)],
        sequences: prompt(3, { outputs }),
        limits: { n_vocab: vocabulary },
      };
      const program = runner.program(work);
      program.writeBuffer(0, runner.random.floats(3 * vocabulary, 3));
      const result = await program.step(work.sequences);
      return Float32Array.from(
        result.outputs.flatMap(({ sample }) => [sample?.token ?? -1, sample?.logprob ?? 0]),
      );
    },
  };
}

/** Tokens that the device samples one after the other by itself, and their log-probabilities. */
function run(variant: string, sampling: StepSampling): Case {
  return {
    operation: "sample",
    variant,
    async compute(runner) {
      const vocabulary = 5000;
      const [rows, steps] = [3, 4];
      const program = runner.program({
        ops: [{ kind: "sample", logits: 0, columns: vocabulary }],
        buffers: [outputBuffer(vocabulary)],
        sequences: prompt(rows),
        limits: { n_vocab: vocabulary, n_sequences: rows },
      });
      runner.openRuns(program, rows * steps);
      program.writeBuffer(0, runner.random.floats(rows * vocabulary, 3));
      const sequences = Array.from({ length: rows }, (_, counter) => ({
        ...{ tokens: [counter], position: 0, kvBlocks: [], decode: true },
        outputs: [{ row: 0, sampling: { ...sampling, counter } }],
      }));
      // Each ends one step after the previous one.
      const limits = sequences.map((_, i) => ({ tokens: i + 2, endTokens: new Set<number>() }));
      const drawn: number[] = [];
      await program.run(sequences, steps, limits, (outputs) => {
        for (const one of outputs) drawn.push(one?.sample?.token ?? -1, one?.sample?.logprob ?? 0);
      }).over;
      return Float32Array.from(drawn);
    },
  };
}

/**
 * An operation with a state: a prompt, with all of the device and with little, then two decoded tokens from its state.
 */
async function withState(
  runner: Runner,
  op: GivenOperation,
  inputs: readonly number[],
  outputColumns: number,
  state: number,
): Promise<Float32Array> {
  const tokens = 9;
  const program = runner.program({
    ops: [op],
    buffers: [...inputs, outputColumns].map(tokenBuffer),
    sequences: prompt(tokens),
    cache: runner.cache({ n_layers: 0, states: [state], slots: 4 }),
  });
  const results: number[] = [];
  const step = async (
    position: number,
    count: number,
    from: number,
    decode: boolean,
    share?: number,
  ) => {
    inputs.forEach((columns, i) => program.writeBuffer(i, runner.random.floats(count * columns)));
    await program.step(prompt(count, { position, decode, states: { from, to: 1 } }), share);
    results.push(...program.readBuffer(inputs.length, new Float32Array(count * outputColumns)));
  };
  await step(0, tokens, NONE, false);
  await step(0, tokens, NONE, false, LEAST_SHARE);
  for (let i = 0; i < 2; i++) await step(tokens + i, 1, 1, true);
  return Float32Array.from(results);
}

function conv(kernel: number): Case {
  return {
    operation: "conv",
    variant: `of ${kernel} tokens`,
    compute(runner) {
      const columns = 300;
      const weight = runner.floats(1, columns * kernel, 0.5);
      return withState(
        runner,
        {
          ...{ kind: "conv", input: 0, output: 1, weight, columns, kernel },
          activation: Activation.silu,
        },
        [columns],
        columns,
        (kernel - 1) * columns,
      );
    },
  };
}

function deltaRule(dim: number): Case {
  return {
    operation: "delta_rule",
    variant: `heads of ${dim}`,
    compute(runner) {
      const heads = 2;
      const decay = runner.tensor(runner.random.floats(heads).map((x) => -Math.exp(x)), heads);
      const a_bias = runner.floats(1, heads);
      const width = heads * dim;
      return withState(
        runner,
        {
          ...{ kind: "delta_rule", qkv: 0, gates: 1, output: 2, decay, a_bias },
          ...{ n_heads: heads, n_k_heads: heads, key_dim: dim, value_dim: dim },
          ...{ v_column: 0, q_column: width, k_column: 2 * width, a_column: 0, b_column: heads },
          ...{
            gate_heads: heads,
            gate_stride: 2 * heads,
            k_heads: KHeads.grouped,
            scale: dim ** -0.5,
          },
        },
        [3 * width, 2 * heads],
        width,
        heads * dim * dim,
      );
    },
  };
}

function selectiveScan(stateDim: number): Case {
  return {
    operation: "selective_scan",
    variant: `states of ${stateDim}`,
    compute(runner) {
      const [heads, headDim] = [2, 32];
      const decay = runner.tensor(runner.random.floats(heads).map((x) => -Math.exp(x)), heads);
      const [skip, dt_bias] = [runner.floats(1, heads), runner.floats(1, heads)];
      const x = heads * headDim;
      return withState(
        runner,
        {
          ...{ kind: "selective_scan", input: 0, steps: 1, output: 2, decay, skip, dt_bias },
          ...{ n_heads: heads, n_groups: 1, head_dim: headDim, state_dim: stateDim },
          ...{ x_column: 0, b_column: x, c_column: x + stateDim, dt_column: 0 },
        },
        [x + 2 * stateDim, heads],
        x,
        heads * headDim * stateDim,
      );
    },
  };
}
