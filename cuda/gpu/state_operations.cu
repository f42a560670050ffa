#include "state_operations.h"

#include "step_operands.h"

namespace m40::cuda {

namespace {

class StateOperations : StepOperands {
 public:
  StateOperations(const m40_program& program, const StepShape& shape) : StepOperands(program, shape) {}

  void conv(const m40_op_conv& op) const {
    const auto column = [&](uint32_t at) { return at == M40_NONE ? nullptr : buffer(op.input) + at; };
    ConvArgs args = {};
    args.state = state(op.state);
    args.input = column(op.input_column);
    args.factor = column(op.factor_column);
    args.gate = column(op.gate_column);
    args.input_stride = stride(op.input);
    args.output = buffer(op.output) + op.output_column;
    args.output_stride = stride(op.output);
    args.weight = vector(op.weight);
    args.bias = vector(op.bias);
    args.columns = op.columns;
    args.activation = op.activation;
    launch_conv(args, op.kernel, step_, stream_);
  }

  void delta_rule(const m40_op_delta_rule& op) const {
    DeltaRuleArgs args = {};
    args.state = state(op.state);
    args.q = buffer(op.qkv) + op.q_column;
    args.k = buffer(op.qkv) + op.k_column;
    args.v = buffer(op.qkv) + op.v_column;
    args.stride = stride(op.qkv);
    args.a = buffer(op.gates) + op.a_column;
    args.b = buffer(op.gates) + op.b_column;
    args.gates_stride = stride(op.gates);
    args.gate_heads = op.gate_heads;
    args.gate_step = op.gate_stride;
    args.output = buffer(op.output);
    args.output_stride = stride(op.output);
    args.decay = vector(op.decay);
    args.a_bias = vector(op.a_bias);
    args.n_k_heads = op.n_k_heads;
    args.k_head_group = op.k_heads == M40_K_HEADS_GROUPED ? op.n_heads / op.n_k_heads : 0;
    args.key_dim = op.key_dim;
    args.value_dim = op.value_dim;
    args.scale = op.scale;
    args.epsilon = op.epsilon;
    launch_delta_rule(args, op.n_heads, step_, stream_);
  }

  void selective_scan(const m40_op_selective_scan& op) const {
    SelectiveScanArgs args = {};
    args.state = state(op.state);
    args.x = buffer(op.input) + op.x_column;
    args.b = buffer(op.input) + op.b_column;
    args.c = buffer(op.input) + op.c_column;
    args.stride = stride(op.input);
    args.steps = buffer(op.steps) + op.dt_column;
    args.steps_stride = stride(op.steps);
    args.output = buffer(op.output);
    args.output_stride = stride(op.output);
    args.decay = vector(op.decay);
    args.skip = vector(op.skip);
    args.dt_bias = vector(op.dt_bias);
    args.group_heads = op.n_heads / op.n_groups;
    args.head_dim = op.head_dim;
    args.state_dim = op.state_dim;
    launch_selective_scan(args, op.n_heads, step_, stream_);
  }

 private:
  StateArgs state(uint32_t index) const {
    const m40_cache& cache = *program_.cache;
    return {nullptr, reinterpret_cast<float*>(cache.slots + cache.state_offsets[index]), cache.slot_bytes / sizeof(float)};
  }
};

void check_keys(const char* operation, uint32_t keys) {
  if (keys > most_recurrence_keys()) fail(M40_UNSUPPORTED, "%s with %u values of a state a column: this library has kernels up to %u", operation, keys, most_recurrence_keys());
}

}  // namespace

void check_state_operation(const m40_op& op) {
  if (op.kind == M40_OP_DELTA_RULE) check_keys("delta_rule", op.delta_rule.key_dim);
  if (op.kind == M40_OP_SELECTIVE_SCAN) check_keys("selective_scan", op.selective_scan.state_dim);
}

void launch_state_operation(const m40_program& program, const StepShape& shape, const m40_op& op) {
  const StateOperations operations(program, shape);
  switch (op.kind) {
    case M40_OP_CONV: return operations.conv(op.conv);
    case M40_OP_DELTA_RULE: return operations.delta_rule(op.delta_rule);
    case M40_OP_SELECTIVE_SCAN: return operations.selective_scan(op.selective_scan);
  }
}

}  // namespace m40::cuda
