// Root-mean-square and layer normalisation of rows; sums in double.
#include <math.h>

#include "execution.h"

namespace m40::reference {

namespace {

double sum_of_squares(const float* values, uint32_t n, double mean) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) {
    const double value = static_cast<double>(values[i]) - mean;
    sum += value * value;
  }
  return sum;
}

double mean_of(const float* values, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += static_cast<double>(values[i]);
  return sum / n;
}

}  // namespace

void run_norm(const Execution& execution, const m40_op_norm& op) {
  const float* weight = execution.vector(op.weight);
  const float* bias = execution.vector(op.bias);
  execution.pool.parallel(execution.rows(op.input), 4, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t r = begin; r < end; r++) {
      const float* input = execution.row(op.input, r);
      const float* residual = op.residual == M40_NONE ? nullptr : execution.row(op.residual, r);
      float* output = execution.row(op.output, r);
      const double mean = op.norm == M40_NORM_LAYER ? mean_of(input, op.columns) : 0;
      const double variance = sum_of_squares(input, op.columns, mean) / op.columns;
      const double scale = 1 / sqrt(variance + static_cast<double>(op.epsilon));
      for (uint32_t i = 0; i < op.columns; i++) {
        float value = static_cast<float>((static_cast<double>(input[i]) - mean) * scale) * weight[i];
        if (bias != nullptr) value += bias[i];
        output[i] = residual == nullptr ? value : residual[i] + value;
      }
    }
  });
}

void normalise_head(float* head, const float* weight, uint32_t n, float epsilon) {
  const double scale = 1 / sqrt(sum_of_squares(head, n, 0) / n + static_cast<double>(epsilon));
  for (uint32_t i = 0; i < n; i++) head[i] = static_cast<float>(static_cast<double>(head[i]) * scale) * weight[i];
}

}  // namespace m40::reference
