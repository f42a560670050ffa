// A step's input as the device gets it, in one copy.
//
// The place of each array follows only from the step's shape, so that a CUDA graph captured for one step of a shape
// serves all of them. The arrays of varying length (masks, counts, biases) share one base, and the indices in the
// sampling records are shifted to count from there.
#ifndef M40_RUNTIME_STEP_INPUT_H
#define M40_RUNTIME_STEP_INPUT_H

#include <tuple>

#include "../ops/ops.h"
#include "../program/step.h"

namespace m40::cuda {

struct StepShape {
  uint32_t n_tokens;
  uint32_t n_sequences;
  uint32_t n_outputs;
  uint32_t n_decode;
  uint32_t n_groups;  // of the KV cache: always a program's
  uint32_t kv_block_stride;
  uint32_t most_tokens;
  bool hidden;  // hidden states are wanted: they are written where they would not have to be
  bool shaped;  // some outputs are sampled with shaping, by a launch of its own
  bool states;  // sequences have states: always a program's
  uint32_t prefill_share;  // of prompts' rows, which no graph has

  // Tiles of sequence_tile_rows that any sequences of so many rows are cut into, at most.
  uint64_t n_tiles() const { return states ? (n_tokens + uint64_t{n_sequences} * (sequence_tile_rows - 1)) / sequence_tile_rows : 0; }

  auto key() const { return std::make_tuple(n_tokens, n_sequences, n_outputs, n_decode, kv_block_stride, most_tokens, hidden, shaped); }
  bool operator<(const StepShape& other) const { return key() < other.key(); }
};

// The KV block stride is rounded up, so that few shapes are met as sequences grow.
StepShape shape_of(const Step& step, const StepLimits& limits);

// Bytes of the input of any step within the limits. n_groups: of the KV cache. states: the program has some.
uint64_t input_bytes(const m40_limits& limits, uint32_t n_groups, bool states);

// Bytes of this step's.
uint64_t input_bytes(const Step& step, const StepShape& shape, const m40_step_header& header);

// Writes the input; memory has input_bytes() of it.
void write_input(const Step& step, const StepShape& shape, const m40_step_header& header, uint8_t* memory);

// The input of a step of that shape at a place of the device's memory.
StepView view_input(const StepShape& shape, const m40_limits& limits, uint8_t* memory);

}  // namespace m40::cuda

#endif
