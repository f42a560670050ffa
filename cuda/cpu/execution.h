// The operations, one op_*.cpp each, and what they are given to work on: a program, a step and the threads.
//
// Each token's results are computed from that token's inputs in an order that neither the other tokens nor
// the threads change: work is split by rows and columns, never inside a sum.
#ifndef M40_REFERENCE_EXECUTION_H
#define M40_REFERENCE_EXECUTION_H

#include <stdint.h>

#include <algorithm>

#include "../program/operations.generated.h"
#include "objects.h"

namespace m40::reference {

struct Execution {
  const m40_program& program;
  const Step& step;
  const Kernels& kernels;
  ThreadPool& pool;
  // The number of the operation that is computed.
  size_t operation = 0;

  const m40_buffer_desc& desc(uint32_t buffer) const { return program.buffers[buffer]; }
  // Rows of a buffer in this step.
  uint64_t rows(uint32_t buffer) const { return buffer_rows(desc(buffer), step.n_tokens, step.n_outputs); }
  float* row(uint32_t buffer, uint64_t index) const {
    return reinterpret_cast<float*>(memory(program.plan.buffers[buffer])) + index * desc(buffer).columns;
  }
  uint32_t* row_u32(uint32_t buffer, uint64_t index) const {
    return reinterpret_cast<uint32_t*>(memory(program.plan.buffers[buffer])) + index * desc(buffer).columns;
  }
  const Tensor& tensor(uint32_t index) const { return program.context->tensors[index]; }
  // The values of a vector; nullptr for M40_NONE.
  const float* vector(uint32_t index) const { return index == M40_NONE ? nullptr : tensor(index).values(); }
  float* scratch(uint32_t thread) const {
    return reinterpret_cast<float*>(memory(program.plan.scratch + thread * program.plan.scratch_bytes));
  }
  // Where the operation's input has its integers in packed arithmetic.
  uint8_t* packed_row(uint64_t index, uint64_t row_bytes) const { return memory(program.plan.packed_rows) + index * row_bytes; }
  uint8_t* memory(uint64_t offset) const { return program.memory + offset; }

  // body(row, first_column, end_column), for operations that compute each value by itself.
  template <class Body>
  void for_each_value(uint64_t n_rows, uint64_t columns, const Body& body) const {
    constexpr uint64_t block = 1024;
    const uint64_t blocks = (columns + block - 1) / block;
    pool.parallel(n_rows * blocks, 4, [&](uint64_t begin, uint64_t end, uint32_t) {
      for (uint64_t item = begin; item < end; item++) {
        const uint64_t first = item % blocks * block;
        body(item / blocks, first, std::min(first + block, columns));
      }
    });
  }
};

#define OPERATION(KIND, name) void run_##name(const Execution& execution, const m40_op_##name& op);
M40_OPERATIONS(OPERATION)
#undef OPERATION

// Finds the rows of each sequence of the program's step, where it has states. Within the room that was reserved for
// them.
void find_sequence_rows(m40_program* program);
// The whole program, over the program's step, whose rows are grouped by sequence.
void run_program(const Execution& execution);

// Bytes of scratch memory a thread for those that need any.
uint64_t embed_scratch_bytes(const m40_op_embed& op);
uint64_t matmul_scratch_bytes(const m40_op_matmul& op, uint64_t n_rows);
uint64_t head_matmul_scratch_bytes(const m40_op_head_matmul& op);
uint64_t rope_store_scratch_bytes(const m40_op_rope_store& op);
uint64_t attention_scratch_bytes(const m40_op_attention& op, const m40_cache_desc& cache);
uint64_t route_scratch_bytes(const m40_op_route& op);
uint64_t expert_matmul_scratch_bytes(const m40_op_expert_matmul& op);
uint64_t sample_scratch_bytes(const m40_op_sample& op);
uint64_t delta_rule_scratch_bytes(const m40_op_delta_rule& op);

// Makes integers of all rows of a buffer, for weights with that packed_room().
void pack_rows(const Execution& execution, uint32_t buffer, uint64_t columns, float room);
// (sum * factor + bias) * scale + residual, each step rounded once, in packed arithmetic; factor may be nullptr.
float finished_sum(float sum, const float* factor, float bias, float scale, float residual);

// cap(x) of m40.h.
float soft_capped(float value, float softcap);

float sigmoid(float x);
float silu(float x);
float softplus(float x);

// Divides by the root of the mean square, in place: attention heads. weight: [n], or nullptr for ones.
void normalise_head(float* head, const float* weight, uint32_t n, float epsilon);

}  // namespace m40::reference

#endif
