import { M40Error } from "../errors.ts";
import type { Gguf } from "../gguf/reader.ts";
import { type Buffer, ProgramBuilder } from "../program/builder.ts";
import type { Architecture } from "./model.ts";
import { type Hyperparameters, readHyperparameters, readRope } from "./hyperparameters.ts";

/**
 * Llama and what is built like it (Touvron et al. 2023, arXiv:2302.13971): RMS norms, grouped-query
 * attention with rotary positions, a SiLU-gated feed-forward layer, and, where the file has experts,
 * Mixtral's mixture of them (Jiang et al. 2024, arXiv:2401.04088).
 */
export const llama: Architecture = {
  name: "llama",
  read(gguf) {
    const parameters = readHyperparameters(gguf);
    const { hiddenSize, vocabSize, headDim, heads, kvHeads, normEpsilon: epsilon } = parameters;
    const rope = readRope(gguf, parameters, "interleaved");
    const program = new ProgramBuilder(gguf.tensors);

    const x = program.buffer(hiddenSize);
    const normed = program.buffer(hiddenSize);
    const qkv = program.buffer((heads + 2 * kvHeads) * headDim);
    const keysAndValues = {
      buffer: qkv,
      keyColumn: heads * headDim,
      valueColumn: (heads + kvHeads) * headDim,
    };
    const attended = program.buffer(heads * headDim);
    const feedForward = emitterOfFeedForward(gguf, program, parameters, normed, x);

    program.embed(x, "token_embd.weight");
    for (let layer = 0; layer < parameters.layers; layer++) {
      const block = `blk.${layer}`;
      const projection = (name: string, rows: number) => ({
        weight: `${block}.${name}.weight`,
        rows,
        bias: program.has(`${block}.${name}.bias`) ? `${block}.${name}.bias` : undefined,
      });
      program.norm(x, normed, { weight: `${block}.attn_norm.weight`, epsilon });
      program.matmul(normed, qkv, [
        projection("attn_q", heads * headDim),
        projection("attn_k", kvHeads * headDim),
        projection("attn_v", kvHeads * headDim),
      ]);
      program.ropeStore(qkv, keysAndValues, layer, parameters.attention, rope);
      program.attention(qkv, attended, layer, parameters.attention, {
        scale: 1 / Math.sqrt(headDim),
      });
      program.matmul(attended, x, [projection("attn_output", hiddenSize)], { residual: x });
      program.norm(x, normed, { weight: `${block}.ffn_norm.weight`, epsilon });
      feedForward(block);
    }

    const selected = program.outputBuffer(hiddenSize);
    const logits = program.outputBuffer(vocabSize);
    program.select(x, selected);
    program.norm(selected, selected, { weight: "output_norm.weight", epsilon });
    const output = program.has("output.weight") ? "output.weight" : "token_embd.weight";
    program.matmul(selected, logits, [{ weight: output, rows: vocabSize }]);
    program.sample(logits, selected);
    return { shape: parameters, program: program.build() };
  },
};

/** Makes the buffers of the feed-forward layers; the result emits x += feedForward(normed) of a block. */
function emitterOfFeedForward(
  gguf: Gguf,
  program: ProgramBuilder,
  parameters: Hyperparameters,
  normed: Buffer,
  x: Buffer,
): (block: string) => void {
  const { prefix, feedForward: width, hiddenSize } = parameters;
  const experts = gguf.metadata.number(`${prefix}.expert_count`, 0);
  if (experts > 0) {
    const used = gguf.metadata.number(`${prefix}.expert_used_count`);
    if (!(Number.isInteger(used) && used >= 1 && used <= experts)) {
      throw new M40Error(
        "invalid_model",
        `${gguf.path}: ${prefix}.expert_used_count is ${used}, wanted 1 to ${experts}`,
      );
    }
    const router = program.buffer(experts);
    const chosen = program.indexBuffer(used);
    const weights = program.buffer(used);
    const gateUp = program.expertBuffer(2 * width, used);
    const active = program.expertBuffer(width, used);
    const down = program.expertBuffer(hiddenSize, used);
    return (block) => {
      const weight = (name: string, rows: number) => ({ weight: `${block}.${name}.weight`, rows });
      program.matmul(normed, router, [weight("ffn_gate_inp", experts)]);
      program.route(router, chosen, weights, { normalise: true });
      program.expertMatmul(normed, chosen, gateUp, experts, [
        weight("ffn_gate_exps", width),
        weight("ffn_up_exps", width),
      ]);
      program.activation(gateUp, active, "silu", { gated: true });
      program.expertMatmul(active, chosen, down, experts, [weight("ffn_down_exps", hiddenSize)]);
      program.expertSum(down, weights, x, { residual: x, used });
    };
  }
  const gateUp = program.buffer(2 * width);
  const active = program.buffer(width);
  return (block) => {
    const weight = (name: string, rows: number) => ({ weight: `${block}.${name}.weight`, rows });
    program.matmul(normed, gateUp, [weight("ffn_gate", width), weight("ffn_up", width)]);
    program.activation(gateUp, active, "silu", { gated: true });
    program.matmul(active, x, [weight("ffn_down", hiddenSize)], { residual: x });
  };
}
