// Root-mean-square and layer normalisation of rows, or of groups of their columns; sums in double.
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

// The values of a buffer's row from a column on; nullptr for M40_NONE.
float* columns_from(const Execution& execution, uint32_t buffer, uint64_t row, uint64_t column) {
  return buffer == M40_NONE ? nullptr : execution.row(buffer, row) + column;
}

void normalise_group(const Execution& execution, const m40_op_norm& op, uint64_t row, uint32_t group) {
  const uint64_t first = uint64_t{group} * op.columns;
  const uint64_t first_weight = op.weight_per_group ? first : 0;
  const float* input = execution.row(op.input, row) + op.input_column + first;
  const float* residual = columns_from(execution, op.residual, row, op.output_column + first);
  float* output = execution.row(op.output, row) + op.output_column + first;
  const float* weight = execution.vector(op.weight);
  const float* bias = execution.vector(op.bias);
  const float* factor = execution.vector(op.factor);
  const double mean = op.norm == M40_NORM_LAYER ? mean_of(input, op.columns) : 0;
  const double variance = sum_of_squares(input, op.columns, mean) / op.columns;
  const double scale = 1 / sqrt(variance + static_cast<double>(op.epsilon));
  for (uint32_t i = 0; i < op.columns; i++) {
    float value = static_cast<float>((static_cast<double>(input[i]) - mean) * scale);
    if (weight != nullptr) value *= weight[first_weight + i];
    if (bias != nullptr) value += bias[first_weight + i];
    if (residual != nullptr) value = residual[i] + value;
    output[i] = factor == nullptr ? value : *factor * value;
  }
}

}  // namespace

void run_norm(const Execution& execution, const m40_op_norm& op) {
  execution.pool.parallel(execution.rows(op.input) * op.n_groups, 4, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t item = begin; item < end; item++) {
      normalise_group(execution, op, item / op.n_groups, static_cast<uint32_t>(item % op.n_groups));
    }
  });
}

void normalise_head(float* head, const float* weight, uint32_t n, float epsilon) {
  const double scale = 1 / sqrt(sum_of_squares(head, n, 0) / n + static_cast<double>(epsilon));
  for (uint32_t i = 0; i < n; i++) {
    const float value = static_cast<float>(static_cast<double>(head[i]) * scale);
    head[i] = weight == nullptr ? value : value * weight[i];
  }
}

}  // namespace m40::reference
