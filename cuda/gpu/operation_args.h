// The records of operations that several launches are made of, as the launches take them.
#ifndef M40_RUNTIME_OPERATION_ARGS_H
#define M40_RUNTIME_OPERATION_ARGS_H

#include "step_operands.h"

namespace m40::cuda {

class OperationArgs : protected StepOperands {
 protected:
  using StepOperands::StepOperands;

  NormArgs norm_args(const m40_op_norm& op) const {
    NormArgs args = {};
    args.input = buffer(op.input) + op.input_column;
    args.input_stride = stride(op.input);
    if (op.residual != M40_NONE) args.residual = buffer(op.residual) + op.output_column;
    args.residual_stride = stride(op.residual);
    args.output = buffer(op.output) + op.output_column;
    args.output_stride = stride(op.output);
    args.weight = vector(op.weight);
    args.bias = vector(op.bias);
    args.factor = vector(op.factor);
    args.n_rows = rows(op.input);
    args.n_groups = op.n_groups;
    args.group_weights = op.weight_per_group != 0 ? op.columns : 0;
    args.columns = op.columns;
    args.norm = op.norm;
    args.epsilon = op.epsilon;
    return args;
  }

  // Products add a residual of the same row stride as their output; a launch of its own adds any other.
  bool adds_residual(const m40_op_matmul& op) const { return op.residual != M40_NONE && stride(op.residual) == stride(op.output); }

  MatmulArgs matmul_args(size_t i) const {
    const m40_op_matmul& op = program_.ops[i].matmul;
    MatmulArgs args = {};
    args.input = buffer(op.input);
    args.input_stride = stride(op.input);
    args.output = buffer(op.output);
    args.output_stride = stride(op.output);
    if (adds_residual(op)) args.residual = buffer(op.residual);
    args.n_rows = rows(op.output);
    args.columns = op.columns;
    args.n_weights = op.n_weights;
    uint64_t row = program_.plan.packed_rows[i];
    for (uint32_t w = 0; w < op.n_weights; w++) {
      args.weights[w] = {packed(op.weight[w], op.columns, &row), vector(op.bias[w]), op.output_column[w], vector(op.factor[w]), tensor(op.weight[w]).desc.whole_rows};
    }
    args.scratch = scratch_;
    args.scale = op.scale;
    args.packed = op.arithmetic == M40_ARITHMETIC_PACKED;
    return args;
  }

  RopeStoreArgs rope_store_args(size_t i) const {
    const m40_op_rope_store& op = program_.ops[i].rope_store;
    RopeStoreArgs args = {};
    args.q = buffer(op.q);
    args.q_stride = stride(op.q);
    args.kv = optional_buffer(op.kv);
    args.kv_stride = stride(op.kv);
    args.turns = op.rope == M40_ROPE_NONE ? nullptr : reinterpret_cast<const uint64_t*>(memory(program_.plan.turns[i]));
    args.q_norm = vector(op.q_norm);
    args.k_norm = vector(op.k_norm);
    args.op = op;
    return args;
  }

  AttentionArgs attention_args(const m40_op_attention& op) const {
    AttentionArgs args = {};
    args.q = buffer(op.q);
    args.q_stride = stride(op.q);
    args.sinks = vector(op.sinks);
    args.output = buffer(op.output);
    args.output_stride = stride(op.output);
    const uint64_t positions = uint64_t{program_.limits.limits.n_sequence_kv_blocks} * cache_.desc->kv_block_tokens;
    args.max_positions = positions > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(positions);
    args.decode_rows = attention_decode_rows(program_.limits.limits);
    args.op = op;
    args.scratch = scratch_;
    return args;
  }

  ExpertMatmulArgs expert_matmul_args(size_t i) const {
    const m40_op_expert_matmul& op = program_.ops[i].expert_matmul;
    ExpertMatmulArgs args = {};
    args.input = buffer(op.input);
    args.input_stride = stride(op.input);
    args.input_per_slot = program_.buffers[op.input].rows == M40_ROWS_EXPERTS;
    args.experts = indices(op.experts);
    args.experts_stride = stride(op.experts);
    args.output = buffer(op.output);
    args.output_stride = stride(op.output);
    args.n_tokens = step_.n_tokens;
    args.n_used = op.n_used;
    args.columns = op.columns;
    args.n_weights = op.n_weights;
    uint64_t row = program_.plan.packed_rows[i];
    for (uint32_t w = 0; w < op.n_weights; w++) {
      args.weights[w] = packed(op.weight[w], op.columns, &row);
      if (op.n_shared != 0) args.shared[w] = tensor(op.shared[w]).packed;
      args.biases[w] = vector(op.bias[w]);
      args.factors[w] = vector(op.factor[w]);
      args.output_column[w] = op.output_column[w];
    }
    args.slot_scale = optional_buffer(op.weights);
    args.slot_scale_stride = stride(op.weights);
    args.counters = scratch_.counters;
    args.packed = op.arithmetic == M40_ARITHMETIC_PACKED;
    args.scratch = scratch_.memory;
    return args;
  }

  ExpertSumArgs expert_sum_args(const m40_op_expert_sum& op) const {
    const float* const residual = op.residual == M40_NONE ? nullptr : buffer(op.residual) + op.output_column;
    return {buffer(op.input), stride(op.input), optional_buffer(op.weights), stride(op.weights), residual,
            stride(op.residual), buffer(op.output) + op.output_column, stride(op.output), step_.n_tokens, op.n_used, op.columns, op.scale};
  }
};

}  // namespace m40::cuda

#endif
