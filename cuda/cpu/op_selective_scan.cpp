// The state space of Mamba-2. A head's state lies here as [state_dim, head_dim], so that lanes are values of the
// output.
#include <math.h>

#include "states.h"

namespace m40::reference {

namespace {

// One head of one sequence.
void run_head(const Execution& execution, const m40_op_selective_scan& op, const SequenceRows& rows, uint32_t head) {
  const uint64_t values = uint64_t{op.head_dim} * op.state_dim;
  float* state = state_of(execution, op.state, rows.sequence).begin(head * values, values);
  const uint64_t group = uint64_t{head / (op.n_heads / op.n_groups)} * op.state_dim, column = uint64_t{head} * op.head_dim;
  const float decay = execution.vector(op.decay)[head], skip = execution.vector(op.skip)[head], dt_bias = execution.vector(op.dt_bias)[head];
  for (uint64_t t = rows.first; t < uint64_t{rows.first} + rows.n; t++) {
    const float* input = execution.row(op.input, t);
    const float step_size = softplus(execution.row(op.steps, t)[op.dt_column + head] + dt_bias);
    execution.kernels.scan_step(state, op.state_dim, op.head_dim, input + op.x_column + column, input + op.b_column + group,
                                input + op.c_column + group, expf(step_size * decay), step_size, skip, execution.row(op.output, t) + column);
  }
}

}  // namespace

void run_selective_scan(const Execution& execution, const m40_op_selective_scan& op) {
  for_each_sequence_part(execution, op.n_heads,
                         [&](const SequenceRows& rows, uint32_t head, uint32_t) { run_head(execution, op, rows, head); });
}

}  // namespace m40::reference
