// What one step of a run makes of a row, for every library and for kernels alike.
#ifndef M40_RUNTIME_RUN_ROW_H
#define M40_RUNTIME_RUN_ROW_H

#include <stdint.h>

#include "../include/m40.h"
#include "sample_weights.h"

namespace m40 {

// The slots of a row's states.
struct RunRowSlots {
  uint32_t* from;
  uint32_t* to;
};

// A row's place in the step's input, which the next step finds advanced.
struct RunRowInput {
  int32_t* token;
  uint32_t* position;
  m40_sampling* sampling;
  RunRowSlots slots;  // nullptr where the program has no states
};

// left: how many tokens the row still samples, 0 once it has ended. status, token: its sample in this step of the run.
// Returns whether the row continues. Where it does not, its input stays, so that later steps compute it to the same
// bits. Later steps would advance a state again, and so write other K and V to the row's last position, which may be
// kept. So a row with a state continues after its end, where nothing reads its K and V.
M40_ANYWHERE bool advance_row(const m40_run_row& row, const int32_t* end_tokens, uint32_t step, uint32_t status, int32_t token, uint32_t* left,
                              const RunRowInput& input) {
  bool ends = *left <= 1 || status != M40_OUTPUT_OK;
  for (uint32_t i = 0; i < row.n_end_tokens; i++) ends = ends || end_tokens[row.first_end_token + i] == token;
  *left = ends ? 0 : *left - 1;
  const bool has_states = input.slots.to != nullptr;
  if (ends && !has_states) return false;
  // An output that failed has no token.
  if (status == M40_OUTPUT_OK) *input.token = token;
  *input.position += 1;
  input.sampling->counter += 1;
  if (has_states) {
    *input.slots.from = *input.slots.to;
    if (row.later_slot != M40_NONE && row.later_from == step + 1) *input.slots.to = row.later_slot;
  }
  return !ends;
}

}  // namespace m40

#endif
