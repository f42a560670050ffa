// Runs: a thread of the library makes each step's tokens the next step's input.
#include <string.h>

#include "execution.h"
#include "../program/results.h"
#include "../program/run_functions.h"
#include "../program/run_row.h"

using m40::Run;
using m40::RunInput;
using m40::Step;
using m40::reference::Execution;

namespace {

// As what is aligned like the blocks that were checked.
const void* copy_to(std::vector<uint32_t>& words, const void* from, uint64_t n_bytes) {
  words.resize((n_bytes + 3) / 4);
  if (n_bytes != 0) memcpy(words.data(), from, n_bytes);
  return words.data();
}

// Puts what a step gave into the ring, and makes it the next step's input.
void advance(const Execution& execution, const RunInput& input, uint32_t step_index) {
  m40_program& program = const_cast<m40_program&>(execution.program);
  const Run& run = program.run;
  const Step& step = program.step;
  const m40_op_sample* sample = m40::find_sample(program.ops);
  std::vector<m40_result> results(step.n_outputs);
  m40::write_results(*sample, step, reinterpret_cast<const uint32_t*>(execution.memory(program.plan.statuses)),
                     reinterpret_cast<const m40_sample*>(execution.memory(program.plan.samples)), {results.data(), step.n_outputs, nullptr, 0});
  for (uint32_t row = 0; row < step.n_tokens; row++) {
    const m40_result& result = results[row];
    const uint32_t number = run.number(step_index, row);
    m40_ring_entry& entry = run.ring().entry(number);
    uint32_t& left = program.run_blocks.left[row];
    entry.step = step_index;
    entry.row = row;
    entry.status = left == 0 ? uint32_t{M40_OUTPUT_ENDED} : result.status;
    entry.sample = result.sample;
    // The step's arrays are those of the run's own copy.
    uint32_t* const states = step.states == nullptr ? nullptr : const_cast<uint32_t*>(step.states) + 2 * uint64_t{step.sequences[row]};
    const m40::RunRowSlots slots = states == nullptr ? m40::RunRowSlots{} : m40::RunRowSlots{states, states + 1};
    entry.goes_on = m40::advance_row(input.rows[row], input.end_tokens, step_index, result.status, result.sample.token, &left,
                                     {const_cast<int32_t*>(step.tokens) + row, const_cast<uint32_t*>(step.positions) + row,
                                      const_cast<m40_sampling*>(step.sampling) + row, slots});
    run.ring().publish(number);
  }
}

void compute(m40_program* program, const RunInput& input) {
  Run& run = program->run;
  const Execution execution = {*program, program->step, program->context->kernels, program->context->pool};
  for (uint32_t i = 0; i < input.n_steps; i++) {
    run_program(execution);
    advance(execution, input, i);
    // The end of the run is news as well.
    if (i + 1 == input.n_steps || !run.goes_on(i) || !run.next(i + 1)) return;
    run.notify();
  }
}

}  // namespace

void m40::begin_run(m40_program* program, const GivenRun& given) {
  auto& blocks = program->run_blocks;
  program->step = parse_next_step(program, copy_to(blocks.step, given.block, given.block_bytes), given.block_bytes);
  const RunInput input = parse_run(copy_to(blocks.run, given.run, given.run_bytes), given.run_bytes, program->step, program->limits);
  reference::find_sequence_rows(program);
  blocks.left.resize(program->step.n_tokens);
  for (uint32_t i = 0; i < program->step.n_tokens; i++) blocks.left[i] = input.rows[i].n_tokens;
  program->run.start([program, input] { compute(program, input); });
}
