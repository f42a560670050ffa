// As matmul, each row with the weights of the expert that it was routed to.
#include "execution.h"

namespace m40::reference {

namespace {

constexpr uint64_t chunk_rows = 64;  // weight rows that a thread takes at a time

void check_experts(const Execution& execution, const m40_op_expert_matmul& op) {
  for (uint64_t t = 0; t < execution.step.n_tokens; t++) {
    const uint32_t* experts = execution.row_u32(op.experts, t);
    for (uint32_t slot = 0; slot < op.n_used; slot++) {
      if (experts[slot] >= op.n_experts) {
        fail(M40_INVALID_ARGUMENT, "expert_matmul: token %llu of the step goes to expert %u: wanted one below %u",
             static_cast<unsigned long long>(t), experts[slot], op.n_experts);
      }
    }
  }
}

// Rows [begin, end) of weight w of one expert, for all rows that go to it.
void multiply(const Execution& execution, const m40_op_expert_matmul& op, uint32_t w, uint32_t expert, uint64_t begin, uint64_t end,
              float* scratch) {
  const Tensor& weight = execution.tensor(op.weight[w]);
  const bool shared_input = execution.desc(op.input).rows == M40_ROWS_TOKENS;
  for (uint64_t t = 0; t < execution.step.n_tokens; t++) {
    const uint32_t* experts = execution.row_u32(op.experts, t);
    for (uint32_t slot = 0; slot < op.n_used; slot++) {
      if (experts[slot] != expert) continue;
      const uint64_t row = t * op.n_used + slot;
      execution.kernels.matmul(weight.type, weight.row(uint64_t{expert} * op.rows[w] + begin), weight.row_bytes, op.columns, end - begin,
                               execution.row(op.input, shared_input ? t : row), op.columns, 1,
                               execution.row(op.output, row) + op.output_column[w] + begin, op.rows[w], scratch);
    }
  }
}

}  // namespace

uint64_t expert_matmul_scratch_bytes(const m40_op_expert_matmul& op) { return scratch_floats(op.columns) * sizeof(float); }

void run_expert_matmul(const Execution& execution, const m40_op_expert_matmul& op) {
  check_experts(execution, op);
  for (uint32_t w = 0; w < op.n_weights; w++) {
    const uint64_t chunks = (op.rows[w] + chunk_rows - 1) / chunk_rows;
    execution.pool.parallel(op.n_experts * chunks, 1, [&](uint64_t first, uint64_t last, uint32_t thread) {
      for (uint64_t item = first; item < last; item++) {
        const uint64_t begin = item % chunks * chunk_rows;
        multiply(execution, op, w, static_cast<uint32_t>(item / chunks), begin, std::min<uint64_t>(begin + chunk_rows, op.rows[w]),
                 execution.scratch(thread));
      }
    });
  }
}

}  // namespace m40::reference
