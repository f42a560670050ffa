// output[t] = residual[t] + scale * sum over slots of weights[t, slot] * input[t * n_used + slot], both from
// output_column on
#include "execution.h"

namespace m40::reference {

void run_expert_sum(const Execution& execution, const m40_op_expert_sum& op) {
  execution.for_each_value(execution.step.n_tokens, op.columns, [&](uint64_t t, uint64_t first, uint64_t end) {
    const float* weights = op.weights == M40_NONE ? nullptr : execution.row(op.weights, t);
    const float* residual = op.residual == M40_NONE ? nullptr : execution.row(op.residual, t) + op.output_column;
    const float* input = execution.row(op.input, t * op.n_used);
    const uint64_t stride = execution.desc(op.input).columns;
    float* output = execution.row(op.output, t) + op.output_column;
    for (uint64_t i = first; i < end; i++) {
      float sum = 0;
      for (uint32_t slot = 0; slot < op.n_used; slot++) {
        const float value = input[slot * stride + i];
        sum += weights == nullptr ? value : weights[slot] * value;
      }
      sum *= op.scale;
      output[i] = residual == nullptr ? sum : residual[i] + sum;
    }
  });
}

}  // namespace m40::reference
