// The arguments of what runs between two steps of a run (advance_run.cuh).
#ifndef M40_KERNELS_ADVANCE_RUN_ARGS_CUH
#define M40_KERNELS_ADVANCE_RUN_ARGS_CUH

#include "../program/run_row.h"
#include "state_args.cuh"

namespace m40::cuda {

constexpr uint32_t advance_run_threads = 256;

// A run on the device, followed by m40_run_row [n_rows], uint32_t left [n_rows] (tokens that each row still samples)
// and its end tokens.
struct RunState {
  uint32_t step;    // the one that is computed, or comes next
  uint32_t number;  // of its first entry in the ring
  uint32_t fault;   // not 0: a step had an invalid input, or was given up; nothing is sampled from then on
  uint32_t reserved;
};

struct AdvanceRunArgs {
  RunState* state;
  const m40_run_row* rows;
  uint32_t* left;
  const int32_t* end_tokens;
  uint32_t n_rows;
  uint32_t n_entries;       // of the ring, a power of two
  m40_ring_entry* entries;  // in the host's memory
  // The step's input.
  int32_t* tokens;
  uint32_t* positions;
  m40_sampling* sampling;
  SequenceRows* sequence_rows;  // that of a row stands where the row does; nullptr where the program has no states
  // What it gave.
  const uint32_t* fault;           // not 0: its input was wrong
  const uint32_t* exchange_fault;  // not 0: another card did not come to an exchange
  const uint32_t* statuses;
  const m40_sample* samples;
};

}  // namespace m40::cuda

#endif
