// A product of each head's values with the head's own weight, and the values that are copied after it.
#include <string.h>

#include "execution.h"

namespace m40::reference {

namespace {

constexpr uint64_t chunk_rows = 64;  // weight rows that a thread takes at a time

// Rows [begin, end) of a head's weight, for all tokens.
void multiply(const Execution& execution, const m40_op_head_matmul& op, uint32_t head, uint64_t begin, uint64_t end, float* scratch) {
  const Tensor& weight = execution.tensor(op.weight);
  execution.kernels.matmul(weight.type, weight.row(uint64_t{head} * op.rows + begin), weight.row_bytes, op.columns, end - begin,
                           execution.row(op.input, 0) + uint64_t{head} * op.input_stride, execution.desc(op.input).columns,
                           execution.step.n_tokens, execution.row(op.output, 0) + uint64_t{head} * op.output_stride + begin,
                           execution.desc(op.output).columns, scratch);
}

void copy(const Execution& execution, const m40_op_head_matmul& op, uint32_t head) {
  for (uint64_t t = 0; t < execution.step.n_tokens; t++) {
    const float* from = execution.row(op.input, t) + uint64_t{head} * op.input_stride + op.columns;
    memcpy(execution.row(op.output, t) + uint64_t{head} * op.output_stride + op.rows, from, op.copied * sizeof(float));
  }
}

}  // namespace

uint64_t head_matmul_scratch_bytes(const m40_op_head_matmul& op) { return scratch_floats(op.columns) * sizeof(float); }

void run_head_matmul(const Execution& execution, const m40_op_head_matmul& op) {
  const uint64_t chunks = (op.rows + chunk_rows - 1) / chunk_rows;
  execution.pool.parallel(op.n_heads * chunks, 1, [&](uint64_t first, uint64_t last, uint32_t thread) {
    for (uint64_t item = first; item < last; item++) {
      const uint32_t head = static_cast<uint32_t>(item / chunks);
      const uint64_t begin = item % chunks * chunk_rows;
      multiply(execution, op, head, begin, std::min<uint64_t>(begin + chunk_rows, op.rows), execution.scratch(thread));
      if (begin == 0) copy(execution, op, head);
    }
  });
}

}  // namespace m40::reference
