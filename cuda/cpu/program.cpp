// Programs: placing them, their buffers, and the loop over their records that is a step.
#include <string.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "execution.h"
#include "../program/program_functions.h"
#include "../program/results.h"
#include "../program/rope_angles.h"
#include "../program/step_functions.h"

using m40::fail;
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

void take_step(m40_program* program, const Step& step) {
  program->step = step;
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

extern "C" void m40_program_destroy(m40_program* program) {
  if (program != nullptr) m40::drop_program(program);
}

uint64_t m40::planned_bytes(m40_context* context, const ProgramDescription& description) {
  return plan_program(description, context->pool.n_threads()).n_bytes;
}

void m40::place_program(m40_program& program, const ProgramDescription& description) {
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

m40_inbox m40::name_inbox(const m40_program&) { fail(M40_UNSUPPORTED, "the CPU's memory is the host's: wanted no inboxes"); }

void m40::begin_exchanges(m40_program& program, void* memory, const m40_inbox*, uint32_t n_inboxes) {
  if (n_inboxes != 0) fail(M40_UNSUPPORTED, "%u inboxes: the CPU's memory is the host's, wanted none", n_inboxes);
  program.exchange.begin(memory, false);
  program.exchange_number = 0;
}

void m40::end_exchanges(m40_program& program) { program.exchange.end(); }

uint32_t m40::executor_of(const m40_program&, uint32_t) { return M40_EXECUTOR_LAUNCHES; }
std::string m40::why_no_persistent_kernel(const m40_program&) { return "a CPU has none"; }

// Without bytes the caller's pointer may be none.
void m40::write_buffer(m40_program&, uint8_t* memory, const void* data, uint64_t n_bytes) {
  if (n_bytes != 0) memcpy(memory, data, n_bytes);
}
void m40::read_buffer(const m40_program&, const uint8_t* memory, void* data, uint64_t n_bytes) {
  if (n_bytes != 0) memcpy(data, memory, n_bytes);
}

void m40::finish_step(m40_program* program, const ResultMemory& memory) {
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

void m40::run_step(m40_program* program, const void*, const Step& step, const ResultMemory& memory) {
  take_step(program, step);
  finish_step(program, memory);
}

void m40::profile_step(m40_program* program, const void*, const Step& step, float* times) {
  take_step(program, step);
  using Clock = std::chrono::steady_clock;
  std::vector<float> taken(program->ops.size());
  Clock::time_point last = Clock::now();
  execute({*program, program->step, program->context->kernels, program->context->pool}, [&](size_t i) {
    const Clock::time_point now = Clock::now();
    taken[i] = std::chrono::duration<float, std::micro>(now - last).count();
    last = now;
  });
  std::copy(taken.begin(), taken.end(), times);
}

void m40::begin_step(m40_program* program, const void*, const Step& step) { take_step(program, step); }

void m40::wait_for_step(m40_program* program) { compute_step(program); }
