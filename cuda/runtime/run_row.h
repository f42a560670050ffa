// What one step of a run makes of a row, for every library and for kernels alike.
#ifndef M40_RUNTIME_RUN_ROW_H
#define M40_RUNTIME_RUN_ROW_H

#include <stdint.h>

#include "../include/m40.h"
#include "sample_weights.h"

namespace m40 {

// A row's place in the step's input, which the next step finds advanced.
struct RunRowInput {
  int32_t* token;
  uint32_t* position;
  m40_sampling* sampling;
};

// left: how many tokens the row draws yet, 0 once it has ended. status, token: what it drew now. The answer is whether it
// goes on; where it does not, its input stays, so that steps to come compute it to the same bits.
M40_ANYWHERE bool advance_row(const m40_run_row& row, const int32_t* end_tokens, uint32_t status, int32_t token, uint32_t* left, const RunRowInput& input) {
  if (*left == 0) return false;
  bool ends = status != M40_OUTPUT_OK || *left == 1;
  for (uint32_t i = 0; i < row.n_end_tokens; i++) ends = ends || end_tokens[row.first_end_token + i] == token;
  *left = ends ? 0 : *left - 1;
  if (ends) return false;
  *input.token = token;
  *input.position += 1;
  input.sampling->counter += 1;
  return true;
}

}  // namespace m40

#endif
