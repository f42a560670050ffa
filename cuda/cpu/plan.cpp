// Where a program's buffers and scratch memory lie. m40_program_bytes and m40_program_create both ask here, so
// they cannot differ.
#include "execution.h"

namespace m40::reference {

namespace {

uint64_t thread_scratch_bytes(const ProgramDescription& program, const m40_op& op) {
  switch (op.kind) {
    case M40_OP_EMBED: return embed_scratch_bytes(op.embed);
    case M40_OP_MATMUL: {
      const m40_buffer_desc& input = program.buffers[op.matmul.input];
      return matmul_scratch_bytes(op.matmul, buffer_rows(input, program.limits->n_tokens, program.limits->n_outputs));
    }
    case M40_OP_HEAD_MATMUL: return head_matmul_scratch_bytes(op.head_matmul);
    case M40_OP_ROPE_STORE: return rope_store_scratch_bytes(op.rope_store);
    case M40_OP_ATTENTION: return attention_scratch_bytes(op.attention, *program.cache);
    case M40_OP_ROUTE: return route_scratch_bytes(op.route);
    case M40_OP_EXPERT_MATMUL: return expert_matmul_scratch_bytes(op.expert_matmul);
    case M40_OP_SAMPLE: return sample_scratch_bytes(op.sample);
    case M40_OP_DELTA_RULE: return delta_rule_scratch_bytes(op.delta_rule);
    default: return 0;
  }
}

// Of the integers of an operation's input.
uint64_t packed_rows_bytes(const ProgramDescription& program, const m40_op& op) {
  const auto bytes = [&](uint32_t input, uint32_t columns) {
    return buffer_rows(program.buffers[input], program.limits->n_tokens, program.limits->n_outputs) * packed_row_bytes(columns);
  };
  if (op.kind == M40_OP_MATMUL && op.matmul.arithmetic == M40_ARITHMETIC_PACKED) return bytes(op.matmul.input, op.matmul.columns);
  if (op.kind == M40_OP_EXPERT_MATMUL && op.expert_matmul.arithmetic == M40_ARITHMETIC_PACKED) return bytes(op.expert_matmul.input, op.expert_matmul.columns);
  return 0;
}

}  // namespace

ProgramPlan plan_program(const ProgramDescription& program, uint32_t n_threads) {
  const m40_limits& limits = *program.limits;
  ProgramPlan plan = {};
  // Far below where sums and a product with the number of threads would overflow.
  constexpr uint64_t most = uint64_t{1} << 52;
  const auto place = [&plan](uint64_t bytes) {
    const uint64_t offset = plan.n_bytes;
    if (bytes > most || offset > most) fail(M40_INVALID_ARGUMENT, "the program would take more than 2^52 bytes");
    plan.n_bytes += align_up(bytes);
    return offset;
  };
  for (uint32_t i = 0; i < program.n_buffers; i++) plan.buffers.push_back(place(checked_buffer_bytes(program.buffers[i], limits)));
  uint64_t packed_bytes = 0;
  for (uint32_t i = 0; i < program.n_ops; i++) {
    const m40_op& op = program.ops[i];
    const bool rotates = op.kind == M40_OP_ROPE_STORE && op.rope_store.rope != M40_ROPE_NONE;
    plan.angles.push_back(rotates ? place(op.rope_store.rope_dim / 2 * sizeof(double)) : 0);
    plan.scratch_bytes = std::max(plan.scratch_bytes, align_up(thread_scratch_bytes(program, op)));
    packed_bytes = std::max(packed_bytes, packed_rows_bytes(program, op));
  }
  plan.packed_rows = place(packed_bytes);
  plan.samples = place(uint64_t{limits.n_outputs} * sizeof(m40_sample));
  plan.statuses = place(uint64_t{limits.n_outputs} * sizeof(uint32_t));
  if (plan.scratch_bytes > most / n_threads) fail(M40_INVALID_ARGUMENT, "the program's scratch would take more than 2^52 bytes");
  plan.scratch = place(plan.scratch_bytes * n_threads);
  return plan;
}

}  // namespace m40::reference
