import { Activation, GREEDY, KHeads, NONE, Norm, Score, type StepSampling } from "../device/mod.ts";
import type { Case, Sizes } from "./case.ts";
import type { GivenOperation } from "./given_operation.ts";
import { oneRun, promptThenDecode, TOKENS } from "./one_run.ts";
import { prompt, type Runner } from "./runner.ts";
import {
  expertBuffer,
  indexBuffer,
  outputBuffer,
  type Recipe,
  tokenBuffer,
} from "./small_programs.ts";

/** Logits of a row that is sampled. */
const VOCABULARY = 5000;

/** What has neither weights in blocks nor a cache of KV blocks. */
export function otherCases({ columns }: Sizes): Case[] {
  const sum = { kind: "add", a: 0, b: 1, columns } as const;
  return [
    ...Object.keys(Activation).map((name) => activation(name as keyof typeof Activation, columns)),
    // Each width has kernels of its own.
    ...[48, 101, columns, 4096, 5001].flatMap((
      width,
    ) => [norm("rms", width), norm("layer", width)]),
    plain({ ...sum, output: 2 }, [columns, columns, columns]),
    plain({ ...sum, gate: 2, output: 3 }, [columns, columns, 1, columns], "with a gate"),
    plain({ kind: "softcap", input: 0, output: 1, columns, scale: 0.5, softcap: 2 }, [
      columns,
      columns,
    ]),
    copy(),
    select(columns),
    ...[8, 300].flatMap((experts) => [
      route("softmax", experts),
      route("sigmoid", experts),
      route("softmax_chosen", experts),
    ]),
    expertSum(columns),
    sample("the likeliest token", GREEDY),
    sample("top-k, top-p, min-p", {
      ...{ ...GREEDY, temperature: 0.8, topK: 40, topP: 0.9, minP: 0.05, seed: 7n },
    }),
    sample("typical-p, XTC", {
      ...{ ...GREEDY, temperature: 1, typicalP: 0.9, xtcProbability: 0.5, xtcThreshold: 0.05 },
      seed: 9n,
    }),
    run("tokens one after the other", { ...GREEDY, temperature: 0.8, topK: 40, seed: 7n }),
    ...[3, 4, 8].map(conv),
    ...[16, 32, 64, 128, 37].map(deltaRule),
    ...[16, 64, 128, 37].map(selectiveScan),
  ];
}

/** An operation without weights, over buffers of so many columns each. */
function plain(op: GivenOperation, columns: readonly number[], variant = ""): Case {
  return oneRun(op.kind, variant, () => ({ ops: [op], buffers: columns.map(tokenBuffer) }));
}

function activation(name: keyof typeof Activation, columns: number): Case {
  return plain(
    {
      ...{ kind: "activation", input: 0, output: 1, activation: Activation[name], gated: 1 },
      ...{ columns, alpha: 1.7, limit: 2 },
    },
    [2 * columns, columns],
    name,
  );
}

function norm(kind: keyof typeof Norm, columns: number): Case {
  return oneRun("norm", `${kind}, ${columns} columns`, (runner) => {
    const [weight, bias] = [runner.floats(1, columns), runner.floats(1, columns)];
    return {
      ops: [{
        ...{ kind: "norm", input: 0, output: 1, weight, bias, norm: Norm[kind], columns },
        epsilon: 1e-5,
      }],
      buffers: [tokenBuffer(columns), tokenBuffer(columns)],
    };
  });
}

function copy(): Case {
  const [columns, n_groups, input_stride, output_stride] = [16, 3, 20, 24];
  return oneRun("copy", "", () => ({
    ops: [{
      ...{ kind: "copy", input: 0, output: 1, columns, n_groups },
      ...{ input_stride, output_stride, output_column: 4 },
    }],
    buffers: [tokenBuffer(n_groups * input_stride), tokenBuffer(n_groups * output_stride)],
    // What lies between the groups stays as it is.
    inputs: { 1: new Float32Array(TOKENS * n_groups * output_stride) },
  }));
}

function select(columns: number): Case {
  return oneRun("select", "", () => ({
    ops: [{ kind: "select", input: 0, output: 1, columns }],
    buffers: [tokenBuffer(columns), outputBuffer(columns)],
    sequences: prompt(TOKENS, { outputs: [{ row: 1 }, { row: 4 }] }),
  }));
}

function route(score: keyof typeof Score, n_experts: number): Case {
  const n_used = 4;
  return oneRun("route", `${score}, ${n_experts} experts`, (runner) => ({
    ops: [{
      ...{ kind: "route", input: 0, experts: 1, weights: 2, n_experts, n_used },
      ...{ score: Score[score], normalise: 1 },
    }],
    buffers: [tokenBuffer(n_experts), indexBuffer(n_used), tokenBuffer(n_used)],
    inputs: { 0: runner.random.floats(TOKENS * n_experts, 2) },
  }));
}

function expertSum(columns: number): Case {
  const n_used = 3;
  return oneRun("expert_sum", "", () => ({
    ops: [{ kind: "expert_sum", input: 0, weights: 1, residual: 2, output: 3, columns, n_used }],
    buffers: [expertBuffer(columns, n_used), ...[n_used, columns, columns].map(tokenBuffer)],
  }));
}

/** Tokens and their log-probabilities. */
function sample(variant: string, sampling: StepSampling): Case {
  return {
    operation: "sample",
    variant,
    async compute(runner) {
      const outputs = [0, 1, 2].map((row) => ({ row, sampling: { ...sampling, counter: row } }));
      const sequences = prompt(3, { outputs });
      const program = runner.program({ ...SAMPLED, sequences });
      program.writeBuffer(0, runner.random.floats(3 * VOCABULARY, 3));
      const result = await program.step(sequences);
      return Float32Array.from(
        result.outputs.flatMap(({ sample }) => [sample?.token ?? -1, sample?.logprob ?? 0]),
      );
    },
  };
}

/** A program that samples tokens of logits. */
const SAMPLED = {
  ops: [{ kind: "sample", logits: 0, columns: VOCABULARY }],
  buffers: [outputBuffer(VOCABULARY)],
  limits: { n_vocab: VOCABULARY },
} as const;

/** Tokens that the device samples one after the other by itself, and their log-probabilities. */
function run(variant: string, sampling: StepSampling): Case {
  return {
    operation: "sample",
    variant,
    async compute(runner) {
      const [rows, steps] = [3, 4];
      const program = runner.program({
        ...SAMPLED,
        sequences: prompt(rows),
        limits: { ...SAMPLED.limits, n_sequences: rows },
      });
      runner.openRuns(program, rows * steps);
      program.writeBuffer(0, runner.random.floats(rows * VOCABULARY, 3));
      const sequences = Array.from({ length: rows }, (_, counter) => ({
        ...{ tokens: [counter], position: 0, kvBlocks: [], decode: true },
        outputs: [{ row: 0, sampling: { ...sampling, counter } }],
      }));
      // Each ends one step after the previous one.
      const limits = sequences.map((_, i) => ({ tokens: i + 2, endTokens: new Set<number>() }));
      const sampled: number[] = [];
      await program.run(sequences, steps, limits, (outputs) => {
        for (const one of outputs) {
          sampled.push(one?.sample?.token ?? -1, one?.sample?.logprob ?? 0);
        }
      }).over;
      return Float32Array.from(sampled);
    },
  };
}

/** A case of an operation with a state of so many floats. */
function withState(
  operation: Case["operation"],
  variant: string,
  state: number,
  make: (runner: Runner) => Recipe,
): Case {
  return {
    operation,
    variant,
    compute(runner) {
      const recipe = make(runner);
      const cache = runner.cache({ n_layers: 0, states: [state], slots: 4 });
      const states = (isDecoded: boolean) => ({
        states: { from: isDecoded ? 1 : NONE, to: 1 },
      });
      return promptThenDecode(runner, { ...recipe, cache }, { tokens: 9, decoded: 2 }, states);
    },
  };
}

function conv(kernel: number): Case {
  const columns = 300;
  return withState("conv", `of ${kernel} tokens`, (kernel - 1) * columns, (runner) => {
    const weight = runner.floats(1, columns * kernel, 0.5);
    const activation = Activation.silu;
    return {
      ops: [{ kind: "conv", input: 0, output: 1, weight, columns, kernel, activation }],
      buffers: [columns, columns].map(tokenBuffer),
    };
  });
}

/** How much of a state each head forgets. */
function decays(runner: Runner, heads: number): number {
  return runner.tensor(runner.random.floats(heads).map((x) => -Math.exp(x)), heads);
}

function deltaRule(dim: number): Case {
  const heads = 2;
  const width = heads * dim;
  return withState("delta_rule", `heads of ${dim}`, heads * dim * dim, (runner) => {
    const decay = decays(runner, heads);
    const a_bias = runner.floats(1, heads);
    return {
      ops: [{
        ...{ kind: "delta_rule", qkv: 0, gates: 1, output: 2, decay, a_bias },
        ...{ n_heads: heads, n_k_heads: heads, key_dim: dim, value_dim: dim },
        ...{ v_column: 0, q_column: width, k_column: 2 * width, a_column: 0, b_column: heads },
        ...{ gate_heads: heads, gate_stride: 2 * heads },
        ...{ k_heads: KHeads.grouped, scale: dim ** -0.5 },
      }],
      buffers: [3 * width, 2 * heads, width].map(tokenBuffer),
    };
  });
}

function selectiveScan(stateDim: number): Case {
  const [heads, headDim] = [2, 32];
  const x = heads * headDim;
  return withState("selective_scan", `states of ${stateDim}`, x * stateDim, (runner) => {
    const decay = decays(runner, heads);
    const [skip, dt_bias] = [runner.floats(1, heads), runner.floats(1, heads)];
    return {
      ops: [{
        ...{ kind: "selective_scan", input: 0, steps: 1, output: 2, decay, skip, dt_bias },
        ...{ n_heads: heads, n_groups: 1, head_dim: headDim, state_dim: stateDim },
        ...{ x_column: 0, b_column: x, c_column: x + stateDim, dt_column: 0 },
      }],
      buffers: [x + 2 * stateDim, heads, x].map(tokenBuffer),
    };
  });
}
