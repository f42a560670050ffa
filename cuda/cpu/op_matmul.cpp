// Products of rows with up to three weights, their factors and biases, scaled, and a residual.
#include "execution.h"

namespace m40::reference {

namespace {

constexpr uint64_t max_chunk = 64;  // weight rows that a thread takes at a time

// In all weights together; small enough that every thread gets several.
uint64_t chunk_rows(uint64_t n_rows, uint32_t n_threads) {
  const uint64_t chunk = n_rows / (uint64_t{n_threads} * 8) / 8 * 8;
  return std::clamp<uint64_t>(chunk, 8, max_chunk);
}

uint64_t product_floats(const m40_op_matmul& op) { return align_up(scratch_floats(op.columns) * sizeof(float)) / sizeof(float); }

// Rows [begin, end) of weight w, for all rows of the input.
void multiply(const Execution& execution, const m40_op_matmul& op, uint32_t w, uint64_t begin, uint64_t end, uint32_t thread) {
  const Tensor& weight = execution.tensor(op.weight[w]);
  const uint64_t n_rows = execution.rows(op.input);
  const uint64_t n = end - begin;
  const uint64_t column = op.output_column[w] + begin;
  const uint64_t stride = execution.desc(op.output).columns;
  float* scratch = execution.scratch(thread);
  float* output = execution.row(op.output, 0) + column;
  // The product may overwrite the output only where the residual is not to be read from it afterwards.
  const bool apart = op.residual == op.output;
  float* product = apart ? scratch + product_floats(op) : output;
  const uint64_t product_stride = apart ? n : stride;
  execution.kernels.matmul(weight.type, weight.row(begin), weight.row_bytes, op.columns, n, execution.row(op.input, 0),
                           execution.desc(op.input).columns, n_rows, product, product_stride, scratch);
  const float* bias = execution.vector(op.bias[w]);
  const float* factor = execution.vector(op.factor[w]);
  if (factor == nullptr && bias == nullptr && op.scale == 1 && op.residual == M40_NONE) return;
  for (uint64_t r = 0; r < n_rows; r++) {
    const float* residual = op.residual == M40_NONE ? nullptr : execution.row(op.residual, r) + column;
    for (uint64_t i = 0; i < n; i++) {
      float value = product[r * product_stride + i];
      if (factor != nullptr) value *= *factor;
      if (bias != nullptr) value += bias[begin + i];
      value *= op.scale;
      if (residual != nullptr) value += residual[i];
      output[r * stride + i] = value;
    }
  }
}

}  // namespace

uint64_t matmul_scratch_bytes(const m40_op_matmul& op, uint64_t n_rows) {
  const uint64_t product = op.residual == op.output ? n_rows * max_chunk : 0;
  return (product_floats(op) + product) * sizeof(float);
}

void run_matmul(const Execution& execution, const m40_op_matmul& op) {
  if (execution.rows(op.input) == 0) return;
  uint64_t total = 0;
  for (uint32_t w = 0; w < op.n_weights; w++) total += op.rows[w];
  execution.pool.parallel(total, chunk_rows(total, execution.pool.n_threads()), [&](uint64_t begin, uint64_t end, uint32_t thread) {
    uint64_t first = 0;  // of weight w among all weights' rows
    for (uint32_t w = 0; w < op.n_weights; first += op.rows[w++]) {
      const uint64_t from = std::max(begin, first);
      const uint64_t to = std::min(end, first + op.rows[w]);
      if (from < to) multiply(execution, op, w, from - first, to - first, thread);
    }
  });
}

}  // namespace m40::reference
