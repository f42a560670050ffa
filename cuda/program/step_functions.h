// The functions of m40.h that run a step. A library includes this behind its objects, in the one source that defines
// what it does in its own way.
#ifndef M40_PROGRAM_STEP_FUNCTIONS_H
#define M40_PROGRAM_STEP_FUNCTIONS_H

#include "../common/error.h"
#include "../include/m40.h"
#include "program.h"
#include "results.h"

namespace m40 {

// ---- a library's own: what has been checked ----------------------------------------------------------------------

// A step as a whole: its results go to the memory.
void run_step(m40_program* program, const void* block, const Step& step, const ResultMemory& memory);
// The same, operation by operation: microseconds of each go to times.
void profile_step(m40_program* program, const void* block, const Step& step, float* times);
// Begins a step, waits for it, and gives its results. Where one of the latter two throws, the step is over, except for
// M40_NOT_READY.
void begin_step(m40_program* program, const void* block, const Step& step);
void wait_for_step(m40_program* program);
void finish_step(m40_program* program, const ResultMemory& memory);

}  // namespace m40

// ---- every library's ---------------------------------------------------------------------------------------------

extern "C" m40_status m40_step(m40_program* program, const void* block, uint64_t block_bytes, m40_result* results, uint32_t n_results, float* values,
                               uint64_t n_values, m40_error* error) {
  return m40::guarded(error, [&] {
    const m40::Step step = m40::parse_next_step(program, block, block_bytes);
    const m40::ResultMemory memory = {results, n_results, values, n_values};
    m40::check_result_memory(m40::find_sample(program->ops), step, memory);
    m40::run_step(program, block, step, memory);
  });
}

extern "C" m40_status m40_step_profile(m40_program* program, const void* block, uint64_t block_bytes, float* times, uint32_t n_times, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::check_alive(program);
    m40::check_times(program, times, n_times);
    m40::profile_step(program, block, m40::parse_next_step(program, block, block_bytes), times);
  });
}

extern "C" m40_status m40_step_begin(m40_program* program, const void* block, uint64_t block_bytes, m40_error* error) {
  return m40::guarded(error, [&] {
    const m40::Step step = m40::parse_next_step(program, block, block_bytes);
    m40::check_all_samples(step);
    m40::begin_step(program, block, step);
    program->step_under_way = true;
  });
}

extern "C" m40_status m40_step_wait(m40_program* program, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require_step(program);
    m40::wait_for_step(program);
  });
}

extern "C" m40_status m40_step_finish(m40_program* program, m40_result* results, uint32_t n_results, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require_step(program);
    m40::finish_step(program, {results, n_results, nullptr, 0});
  });
}

#endif
