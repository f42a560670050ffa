// As matmul, each row with the weights of the expert that it was routed to.
#include "execution.h"
#include "packed_chains.h"

namespace m40::reference {

namespace {

constexpr uint64_t chunk_rows = 64;  // weight rows that a thread takes at a time

// The experts of the weights, then the shared one.
uint32_t all_experts(const m40_op_expert_matmul& op) { return op.n_experts + op.n_shared; }

void check_experts(const Execution& execution, const m40_op_expert_matmul& op) {
  const uint32_t n_experts = all_experts(op);
  for (uint64_t t = 0; t < execution.step.n_tokens; t++) {
    const uint32_t* experts = execution.row_u32(op.experts, t);
    for (uint32_t slot = 0; slot < op.n_used; slot++) {
      if (experts[slot] >= n_experts) {
        fail(M40_INVALID_ARGUMENT, "expert_matmul: token %llu of the step goes to expert %u: wanted one below %u",
             static_cast<unsigned long long>(t), experts[slot], n_experts);
      }
    }
  }
}

// What a product of rows [begin, end) of weight w becomes: its expert's factor and bias, and the slot's weight.
void finish(const Execution& execution, const m40_op_expert_matmul& op, uint32_t w, uint64_t token, uint32_t slot, uint64_t begin, uint64_t end,
            float* output) {
  const uint32_t expert = execution.row_u32(op.experts, token)[slot];
  const float* factors = execution.vector(op.factor[w]);
  const float* bias = execution.vector(op.bias[w]);
  const float* weights = op.weights == M40_NONE ? nullptr : execution.row(op.weights, token);
  if (factors == nullptr && bias == nullptr && weights == nullptr) return;
  for (uint64_t r = begin; r < end; r++) {
    float value = output[r - begin];
    if (factors != nullptr) value *= factors[expert];
    if (bias != nullptr) value += bias[uint64_t{expert} * op.rows[w] + r];
    if (weights != nullptr) value *= weights[slot];
    output[r - begin] = value;
  }
}

void finish_packed(const Execution& execution, const m40_op_expert_matmul& op, uint32_t w, uint64_t token, uint32_t slot, uint64_t begin,
                   uint64_t end, float* output) {
  const uint32_t expert = execution.row_u32(op.experts, token)[slot];
  const float* factors = execution.vector(op.factor[w]);
  const float* bias = execution.vector(op.bias[w]);
  const float scale = op.weights == M40_NONE ? 1 : execution.row(op.weights, token)[slot];
  for (uint64_t r = begin; r < end; r++) {
    output[r - begin] = finished_sum(output[r - begin], factors == nullptr ? nullptr : factors + expert,
                                     bias == nullptr ? 0 : bias[uint64_t{expert} * op.rows[w] + r], scale, 0);
  }
}

// Rows [begin, end) of weight w of one expert, for all rows that go to it.
void multiply(const Execution& execution, const m40_op_expert_matmul& op, uint32_t w, uint32_t expert, uint64_t begin, uint64_t end,
              float* scratch) {
  const bool is_shared = expert == op.n_experts;
  const Tensor& weight = execution.tensor(is_shared ? op.shared[w] : op.weight[w]);
  const uint64_t first_row = is_shared ? begin : uint64_t{expert} * op.rows[w] + begin;
  const bool packed = op.arithmetic == M40_ARITHMETIC_PACKED && packed_room(weight.type) != 0;
  const bool shared_input = execution.desc(op.input).rows == M40_ROWS_TOKENS;
  for (uint64_t t = 0; t < execution.step.n_tokens; t++) {
    const uint32_t* experts = execution.row_u32(op.experts, t);
    for (uint32_t slot = 0; slot < op.n_used; slot++) {
      if (experts[slot] != expert) continue;
      const uint64_t row = t * op.n_used + slot;
      float* output = execution.row(op.output, row) + op.output_column[w] + begin;
      if (packed) {
        const uint8_t* input = execution.packed_row(shared_input ? t : row, packed_row_bytes(op.columns));
        execution.kernels.packed_matmul(weight.type, weight.row(first_row), weight.row_bytes, op.columns, end - begin, input, 1,
                                        expert_chains(t < execution.step.n_decode), output, op.rows[w], scratch);
        finish_packed(execution, op, w, t, slot, begin, end, output);
        continue;
      }
      execution.kernels.matmul(weight.type, weight.row(first_row), weight.row_bytes, op.columns, end - begin,
                               execution.row(op.input, shared_input ? t : row), op.columns, 1,
                               output, op.rows[w], scratch);
      finish(execution, op, w, t, slot, begin, end, output);
    }
  }
}

}  // namespace

uint64_t expert_matmul_scratch_bytes(const m40_op_expert_matmul& op) { return scratch_floats(op.columns) * sizeof(float); }

void run_expert_matmul(const Execution& execution, const m40_op_expert_matmul& op) {
  check_experts(execution, op);
  for (uint32_t w = 0; w < op.n_weights; w++) {
    const float room = op.arithmetic == M40_ARITHMETIC_PACKED ? packed_room(execution.tensor(op.weight[w]).type) : 0;
    const bool there = w == 1 && room == packed_room(execution.tensor(op.weight[0]).type);
    if (room != 0 && !there) pack_rows(execution, op.input, op.columns, room);
    const uint64_t chunks = (op.rows[w] + chunk_rows - 1) / chunk_rows;
    execution.pool.parallel(all_experts(op) * chunks, 1, [&](uint64_t first, uint64_t last, uint32_t thread) {
      for (uint64_t item = first; item < last; item++) {
        const uint64_t begin = item % chunks * chunk_rows;
        multiply(execution, op, w, static_cast<uint32_t>(item / chunks), begin, std::min<uint64_t>(begin + chunk_rows, op.rows[w]),
                 execution.scratch(thread));
      }
    });
  }
}

}  // namespace m40::reference
