// Programs: placing them, their buffers, and the loop over their records that is a step.
#include <string.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "../common/checks.h"
#include "../program/program_api.h"
#include "../program/results.h"
#include "../program/rope_angles.h"
#include "execution.h"

using m40::fail;
using m40::guarded;
using m40::ProgramDescription;
using m40::require;
using m40::ResultMemory;
using m40::Step;
using m40::reference::Execution;
using m40::reference::plan_program;
using m40::rope_angles;

namespace {

// The program, one operation after the other. after: called with the number of each that is done.
template <class After>
void execute(Execution execution, const After& after) {
  const m40_program& program = execution.program;
  for (size_t i = 0; i < program.ops.size(); i++) {
    execution.operation = i;
    const m40_op& op = program.ops[i];
    switch (op.kind) {
#define OPERATION(KIND, name) \
  case M40_OP_##KIND: m40::reference::run_##name(execution, op.name); break;
      M40_OPERATIONS(OPERATION)
#undef OPERATION
    }
    after(i);
  }
}

void begin_step(m40_program* program, const void* block, uint64_t block_bytes) {
  program->step = m40::parse_next_step(program, block, block_bytes);
  program->step_computed = false;
  m40::reference::find_sequence_rows(program);
}

void compute_step(m40_program* program) {
  if (program->step_computed) return;
  program->step_under_way = false;  // unless all goes well
  m40::reference::run_program({*program, program->step, program->context->kernels, program->context->pool});
  program->step_computed = true;
  program->step_under_way = true;
}

void finish_step(m40_program* program, const ResultMemory& memory) {
  program->step_under_way = false;  // however it ends
  const m40_op_sample* sample = m40::find_sample(program->ops);
  const Step& step = program->step;
  m40::check_result_memory(sample, step, memory);
  compute_step(program);
  program->step_under_way = false;
  if (sample == nullptr) return;
  const Execution execution = {*program, step, program->context->kernels, program->context->pool};
  m40::for_each_run_of_values(*sample, step, memory.values, [&](uint32_t kind, uint32_t first, uint32_t n, float* values) {
    const uint32_t buffer = kind == M40_OUTPUT_LOGITS ? sample->logits : sample->hidden;
    const uint64_t columns = m40::output_values(*sample, kind);
    for (uint32_t i = 0; i < n; i++) memcpy(values + i * columns, execution.row(buffer, first + i), columns * sizeof(float));
  });
  m40::write_results(*sample, step, reinterpret_cast<const uint32_t*>(execution.memory(program->plan.statuses)),
                     reinterpret_cast<const m40_sample*>(execution.memory(program->plan.samples)), memory);
}

// Plans a program's memory and fills it.
void place(m40_program& program, const ProgramDescription& description) {
  program.plan = plan_program(description, program.context->pool.n_threads());
  if (description.limits->lane != M40_LANE_MAIN) {
    fail(M40_UNSUPPORTED, "a program of lane %u: the CPU has lane 0 alone, as concurrent steps would only share its processors", description.limits->lane);
  }
  program.memory = program.arena->next(program.plan.n_bytes, "a program");
  if (program.limits.n_slots != 0) program.sequence_rows.reserve(std::min(description.limits->n_sequences, description.limits->n_tokens));
  for (size_t i = 0; i < program.ops.size(); i++) {
    const m40_op& op = program.ops[i];
    if (op.kind != M40_OP_ROPE_STORE || op.rope_store.rope == M40_ROPE_NONE) continue;
    const uint32_t factors = op.rope_store.factors;
    rope_angles(op.rope_store, factors == M40_NONE ? nullptr : program.context->tensors[factors].values(),
                reinterpret_cast<double*>(program.memory + program.plan.angles[i]));
  }
}

}  // namespace

void m40::reference::find_sequence_rows(m40_program* program) {
  if (program->limits.n_slots == 0) return;
  auto& found = program->sequence_rows;
  found.clear();
  const Step& step = program->step;
  for (uint32_t t = 0; t < step.n_tokens; t++) {
    if (found.empty() || step.sequences[t] != found.back().sequence) found.push_back({step.sequences[t], t, 0});
    found.back().n++;
  }
}

void m40::reference::run_program(const Execution& execution) {
  execute(execution, [](size_t) {});
}

extern "C" m40_status m40_program_bytes(m40_context* context, const m40_limits* limits, const m40_cache_desc* cache,
                                        const m40_buffer_desc* buffers, uint32_t n_buffers, const m40_op* ops, uint32_t n_ops,
                                        uint64_t* n_bytes, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(n_bytes, "n_bytes");
    const ProgramDescription description = m40::describe_program(limits, cache, buffers, n_buffers, ops, n_ops);
    validate_program(description, nullptr);
    *n_bytes = plan_program(description, context->pool.n_threads()).n_bytes;
  });
}

extern "C" m40_status m40_program_create(m40_arena* arena, const m40_limits* limits, m40_cache* cache, const m40_buffer_desc* buffers,
                                         uint32_t n_buffers, const m40_op* ops, uint32_t n_ops, m40_program** program,
                                         m40_error* error) {
  return guarded(error, [&] { m40::create_program(arena, limits, cache, buffers, n_buffers, ops, n_ops, program, place); });
}

extern "C" void m40_program_destroy(m40_program* program) {
  if (program != nullptr) m40::drop_program(program);
}

extern "C" m40_status m40_program_exchange_bytes(m40_program* program, uint64_t* n_bytes, m40_error* error) {
  return guarded(error, [&] { m40::exchange_bytes(program, n_bytes); });
}

extern "C" m40_status m40_program_inbox(m40_program* program, m40_inbox* inbox, m40_error* error) {
  return guarded(error, [&] {
    m40::check_alive(program);
    require(inbox, "inbox");
    program->exchange.require_some();
    fail(M40_UNSUPPORTED, "the CPU's memory is the host's: wanted no inboxes");
  });
}

extern "C" m40_status m40_program_exchange(m40_program* program, void* memory, uint64_t n_bytes, const m40_inbox* inboxes, uint32_t n_inboxes,
                                           m40_error* error) {
  return guarded(error, [&] {
    m40::check_idle(program);
    program->exchange.require_some();
    if (memory == nullptr) return program->exchange.end();
    m40::check_exchange(program, memory, n_bytes, inboxes, n_inboxes);
    if (n_inboxes != 0) fail(M40_UNSUPPORTED, "%u inboxes: the CPU's memory is the host's, wanted none", n_inboxes);
    program->exchange.begin(memory, false);
    program->exchange_number = 0;
  });
}

extern "C" m40_status m40_program_executors(m40_program* program, uint32_t* executors, uint32_t n, char* why, uint32_t why_bytes, m40_error* error) {
  return guarded(error, [&] {
    m40::check_alive(program);
    if (n != 0) require(executors, "executors");
    std::fill_n(executors, n, uint32_t{M40_EXECUTOR_LAUNCHES});
    m40::copy_reason("a CPU has none", why, why_bytes);
  });
}

extern "C" m40_status m40_buffer_write(m40_program* program, uint32_t buffer, const void* data, uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    uint8_t* memory = m40::buffer_memory(program, buffer, data, n_bytes);
    if (n_bytes != 0) memcpy(memory, data, n_bytes);
  });
}

extern "C" m40_status m40_buffer_read(m40_program* program, uint32_t buffer, void* data, uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    const uint8_t* memory = m40::buffer_memory(program, buffer, data, n_bytes);
    if (n_bytes != 0) memcpy(data, memory, n_bytes);
  });
}

extern "C" m40_status m40_step(m40_program* program, const void* block, uint64_t block_bytes, m40_result* results,
                               uint32_t n_results, float* values, uint64_t n_values, m40_error* error) {
  return guarded(error, [&] {
    begin_step(program, block, block_bytes);
    finish_step(program, {results, n_results, values, n_values});
  });
}

extern "C" m40_status m40_step_profile(m40_program* program, const void* block, uint64_t block_bytes, float* times, uint32_t n_times,
                                       m40_error* error) {
  return guarded(error, [&] {
    m40::check_alive(program);
    m40::check_times(program, times, n_times);
    begin_step(program, block, block_bytes);
    using Clock = std::chrono::steady_clock;
    std::vector<float> taken(n_times);
    Clock::time_point last = Clock::now();
    execute({*program, program->step, program->context->kernels, program->context->pool}, [&](size_t i) {
      const Clock::time_point now = Clock::now();
      taken[i] = std::chrono::duration<float, std::micro>(now - last).count();
      last = now;
    });
    std::copy(taken.begin(), taken.end(), times);
  });
}

extern "C" m40_status m40_step_begin(m40_program* program, const void* block, uint64_t block_bytes, m40_error* error) {
  return guarded(error, [&] {
    begin_step(program, block, block_bytes);
    m40::check_all_samples(program->step);
    program->step_under_way = true;
  });
}

extern "C" m40_status m40_step_wait(m40_program* program, m40_error* error) {
  return guarded(error, [&] {
    m40::require_step(program);
    compute_step(program);
  });
}

extern "C" m40_status m40_step_finish(m40_program* program, m40_result* results, uint32_t n_results, m40_error* error) {
  return guarded(error, [&] {
    m40::require_step(program);
    finish_step(program, {results, n_results, nullptr, 0});
  });
}
