// Where the device keeps what it needs to know of a run.
#ifndef M40_RUNTIME_RUN_STATE_H
#define M40_RUNTIME_RUN_STATE_H

#include <stdint.h>

#include "../include/m40.h"
#include "../kernels/advance_run_args.cuh"

namespace m40::cuda {

// Bytes from a RunState's start.
struct RunPlaces {
  uint64_t rows, left, end_tokens, end;

  RunPlaces(uint32_t n_rows, uint32_t n_end_tokens) {
    rows = sizeof(RunState);
    left = rows + uint64_t{n_rows} * sizeof(m40_run_row);
    end_tokens = left + uint64_t{n_rows} * sizeof(uint32_t);
    end = end_tokens + uint64_t{n_end_tokens} * sizeof(int32_t);
  }
};

inline uint64_t run_state_bytes(const m40_limits& limits) { return RunPlaces(limits.n_outputs, M40_MAX_RUN_END_TOKENS).end; }

}  // namespace m40::cuda

#endif
