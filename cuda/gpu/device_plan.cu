// Where a program's buffers and scratch memory lie. m40_program_bytes and m40_program_create both ask here, so they
// cannot differ.
#include <algorithm>

#include "../ops/ops.h"
#include "decode_executor.h"
#include "device_objects.h"
#include "state_operations.h"
#include "run_state.h"
#include "step_input.h"

namespace m40::cuda {

namespace {

// A weight of one row is uploaded as a vector: a program keeps it packed for its matrix products.
uint64_t packed_row_bytes(const m40_op& op) {
  uint64_t bytes = 0;
  if (op.kind == M40_OP_MATMUL) {
    for (uint32_t i = 0; i < op.matmul.n_weights; i++) {
      if (op.matmul.rows[i] == 1) bytes += packed_bytes(M40_TYPE_F32, 1, 1, op.matmul.columns);
    }
  } else if (op.kind == M40_OP_EXPERT_MATMUL && op.expert_matmul.n_experts == 1) {
    for (uint32_t i = 0; i < op.expert_matmul.n_weights; i++) {
      if (op.expert_matmul.rows[i] == 1) bytes += packed_bytes(M40_TYPE_F32, 1, 1, op.expert_matmul.columns);
    }
  } else if (op.kind == M40_OP_HEAD_MATMUL && op.head_matmul.n_heads == 1 && op.head_matmul.rows == 1) {
    bytes = packed_bytes(M40_TYPE_F32, 1, 1, op.head_matmul.columns);
  }
  return bytes;
}

uint64_t op_scratch_bytes(const ProgramDescription& program, const m40_op& op) {
  const m40_limits& limits = *program.limits;
  switch (op.kind) {
    case M40_OP_MATMUL: {
      const uint64_t rows = buffer_rows(program.buffers[op.matmul.input], limits.n_tokens, limits.n_outputs);
      if (rows > UINT32_MAX) fail(M40_INVALID_ARGUMENT, "a product of %llu rows", static_cast<unsigned long long>(rows));
      // Which types its weights have is not known when memory is planned.
      return matmul_scratch_bytes(nullptr, op.matmul.rows, op.matmul.n_weights, op.matmul.columns, static_cast<uint32_t>(rows), op.matmul.arithmetic == M40_ARITHMETIC_PACKED);
    }
    case M40_OP_ROUTE:
      if (op.route.n_groups > most_route_groups()) {
        fail(M40_UNSUPPORTED, "a routing among %u groups of experts: the CUDA library has room for %u", op.route.n_groups, most_route_groups());
      }
      return 0;
    case M40_OP_HEAD_MATMUL:
      if (heads_are_rows(op.head_matmul, program.buffers)) return 0;
      return matmul_scratch_bytes(nullptr, &op.head_matmul.rows, 1, op.head_matmul.columns, limits.n_tokens);
    case M40_OP_EXPERT_MATMUL: {
      const m40_op_expert_matmul& expert = op.expert_matmul;
      return expert_matmul_scratch_bytes(expert.n_experts + expert.n_shared, expert.n_used, expert.columns, limits.n_tokens, expert.arithmetic == M40_ARITHMETIC_PACKED);
    }
    case M40_OP_ROPE_STORE: check_rope_store(op.rope_store); return 0;
    case M40_OP_ATTENTION: return attention_scratch_bytes(op.attention, limits, *program.cache);
    case M40_OP_DELTA_RULE:
    case M40_OP_SELECTIVE_SCAN: check_state_operation(op); return 0;
    case M40_OP_SAMPLE: return sample_scratch_bytes(op.sample.columns, limits.n_outputs);
    default: return 0;
  }
}

}  // namespace

bool heads_are_rows(const m40_op_head_matmul& op, const m40_buffer_desc* buffers) {
  return buffers[op.input].columns == uint64_t{op.n_heads} * op.input_stride && buffers[op.output].columns == uint64_t{op.n_heads} * op.output_stride;
}

ProgramPlan plan_program(const ProgramDescription& program) {
  const m40_limits& limits = *program.limits;
  ProgramPlan plan = {};
  // Far below where sums overflow.
  constexpr uint64_t most = uint64_t{1} << 52;
  const auto place = [&plan](uint64_t bytes) {
    const uint64_t offset = plan.n_bytes;
    if (bytes > most || offset > most) fail(M40_INVALID_ARGUMENT, "the program would take more than 2^52 bytes");
    plan.n_bytes += placed_bytes(bytes);
    return offset;
  };
  for (uint32_t i = 0; i < program.n_buffers; i++) plan.buffers.push_back(place(checked_buffer_bytes(program.buffers[i], limits)));
  uint64_t groups_bytes = 0;
  for (uint32_t i = 0; i < program.n_ops; i++) {
    const m40_op& op = program.ops[i];
    const bool rotates = op.kind == M40_OP_ROPE_STORE && op.rope_store.rope != M40_ROPE_NONE;
    plan.turns.push_back(rotates ? place(op.rope_store.rope_dim / 2 * sizeof(uint64_t)) : 0);
    const uint64_t packed = packed_row_bytes(op);
    plan.packed_rows.push_back(packed != 0 ? place(packed) : 0);
    plan.scratch_bytes = std::max(plan.scratch_bytes, op_scratch_bytes(program, op));
    if (op.kind == M40_OP_EXPERT_MATMUL) {
      const uint32_t n_experts = op.expert_matmul.n_experts + op.expert_matmul.n_shared;
      groups_bytes = std::max(groups_bytes, expert_groups_bytes(n_experts, uint64_t{limits.n_tokens} * op.expert_matmul.n_used));
    } else if (op.kind == M40_OP_HEAD_MATMUL) {
      groups_bytes = std::max(groups_bytes, expert_groups_bytes(op.head_matmul.n_heads, uint64_t{limits.n_tokens} * op.head_matmul.n_heads));
      plan.n_heads = std::max(plan.n_heads, op.head_matmul.n_heads);
    }
  }
  plan.heads = plan.n_heads != 0 ? place(plan.n_heads * sizeof(uint32_t)) : 0;
  for (uint64_t& groups : plan.expert_groups) groups = groups_bytes != 0 ? place(groups_bytes) : 0;
  const m40_cache_desc* cache = program.cache;
  // Decode executors may copy it 16 bytes at a time.
  plan.input_bytes = (input_bytes(limits, cache == nullptr ? 0 : cache->n_groups, cache != nullptr && cache->n_states != 0) + 15) / 16 * 16;
  plan.input = place(plan.input_bytes);
  plan.results = place(StepResults::n_bytes(limits, limits.n_outputs));
  plan.run = place(run_state_bytes(limits));
  plan.counters = place(scratch_counters * sizeof(uint32_t));
  const bool exchanges = std::any_of(program.ops, program.ops + program.n_ops, [](const m40_op& op) { return op.kind == M40_OP_EXCHANGE; });
  plan.exchanged_steps = exchanges ? place(sizeof(uint64_t)) : 0;
  plan.inbox = exchanges ? place(Exchange(program).inbox_bytes()) : 0;
  plan.scratch = place(plan.scratch_bytes);
  const uint64_t executor_bytes = decode_executor_bytes(program);
  plan.executor = executor_bytes != 0 ? place(executor_bytes) : 0;
  return plan;
}

}  // namespace m40::cuda
