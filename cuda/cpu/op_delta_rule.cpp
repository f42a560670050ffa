// The gated delta rule: a head's state [key_dim, value_dim] from token to token.
#include <math.h>

#include "states.h"

namespace m40::reference {

namespace {

// values / sqrt(sum of squares + epsilon)
void unit(const Execution& execution, const float* values, uint32_t n, float epsilon, float* result) {
  const float scale = 1 / sqrtf(execution.kernels.dot(values, values, n) + epsilon);
  for (uint32_t i = 0; i < n; i++) result[i] = values[i] * scale;
}

// One head of one sequence. scratch: 2 * key_dim floats.
void run_head(const Execution& execution, const m40_op_delta_rule& op, const SequenceRows& rows, uint32_t head, float* scratch) {
  const uint64_t values = uint64_t{op.key_dim} * op.value_dim;
  float* state = state_of(execution, op.state, rows.sequence).begin(head * values, values);
  const uint32_t k_head = op.k_heads == M40_K_HEADS_CYCLED ? head % op.n_k_heads : head / (op.n_heads / op.n_k_heads);
  const uint64_t gate = head / op.gate_heads * uint64_t{op.gate_stride} + head % op.gate_heads;
  const float decay = execution.vector(op.decay)[head], a_bias = execution.vector(op.a_bias)[head];
  float *q = scratch, *k = scratch + op.key_dim;
  for (uint64_t t = rows.first; t < uint64_t{rows.first} + rows.n; t++) {
    const float* qkv = execution.row(op.qkv, t);
    const float* gates = execution.row(op.gates, t) + gate;
    const uint64_t key = uint64_t{k_head} * op.key_dim, value = uint64_t{head} * op.value_dim;
    unit(execution, qkv + op.q_column + key, op.key_dim, op.epsilon, q);
    unit(execution, qkv + op.k_column + key, op.key_dim, op.epsilon, k);
    const float g = expf(decay * softplus(gates[op.a_column] + a_bias));
    execution.kernels.delta_step(state, op.key_dim, op.value_dim, q, k, qkv + op.v_column + value, g, sigmoid(gates[op.b_column]), op.scale,
                                 execution.row(op.output, t) + value);
  }
}

}  // namespace

float softplus(float x) { return x > 20 ? x : log1pf(expf(x)); }

uint64_t delta_rule_scratch_bytes(const m40_op_delta_rule& op) { return uint64_t{2} * op.key_dim * sizeof(float); }

void run_delta_rule(const Execution& execution, const m40_op_delta_rule& op) {
  for_each_sequence_part(execution, op.n_heads, [&](const SequenceRows& rows, uint32_t head, uint32_t thread) {
    run_head(execution, op, rows, head, execution.scratch(thread));
  });
}

}  // namespace m40::reference
