// The functions of m40.h that run steps by themselves. A library includes this behind its objects, in the one source
// that defines what it does in its own way.
#ifndef M40_PROGRAM_RUN_FUNCTIONS_H
#define M40_PROGRAM_RUN_FUNCTIONS_H

#include "../common/error.h"
#include "../include/m40.h"
#include "program.h"
#include "run.h"

namespace m40 {

// A run as the caller gave it, checked: its arrays are in the caller's memory.
struct GivenRun {
  const void* block;
  uint64_t block_bytes;
  const void* run;
  uint64_t run_bytes;
  const Step& step;
  const RunInput& input;
  void* ring;
};

// A library's own: starts the thread of the program's run, whose ring is open.
void begin_run(m40_program* program, const GivenRun& given);

}  // namespace m40

extern "C" m40_status m40_run_begin(m40_program* program, const void* block, uint64_t block_bytes, const void* run, uint64_t run_bytes, void* ring,
                                    uint64_t ring_bytes, m40_error* error) {
  return m40::guarded(error, [&] {
    const m40::Step step = m40::parse_next_step(program, block, block_bytes);
    const m40::RunInput input = m40::parse_run(run, run_bytes, step, program->limits);
    program->context->host_areas.require_within(ring, ring_bytes, "ring");
    program->run.open(m40::Ring(ring, ring_bytes), step.n_tokens, program->exchange.runs());
    m40::begin_run(program, {block, block_bytes, run, run_bytes, step, input, ring});
    program->run_under_way = true;
  });
}

extern "C" m40_status m40_run_wait(m40_program* program, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require_run(program);
    program->run_under_way = false;  // where it has failed
    program->run_under_way = !program->run.wait();
  });
}

#endif
