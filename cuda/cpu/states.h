// The states of a step's sequences: where they are read and written, a sequence's rows and its slots.
#ifndef M40_REFERENCE_STATES_H
#define M40_REFERENCE_STATES_H

#include <string.h>

#include "execution.h"

namespace m40::reference {

// What a part of an operation, of one sequence's rows, has of the sequence's state.
struct SequenceState {
  const float* from;  // nullptr where the sequence begins
  float* to;          // may be from

  // n values from number `first` on, as they were, at the place where they are written.
  float* begin(uint64_t first, uint64_t n) const {
    float* values = to + first;
    if (from == nullptr) {
      memset(values, 0, n * sizeof(float));
    } else if (from != to) {
      memcpy(values, from + first, n * sizeof(float));
    }
    return values;
  }
};

inline SequenceState state_of(const Execution& execution, uint32_t state, uint32_t sequence) {
  const m40_cache& cache = *execution.program.cache;
  const uint32_t from = execution.step.slot_from(sequence), to = execution.step.slot_to(sequence);
  const auto values = [&](uint32_t slot) { return reinterpret_cast<float*>(cache.slot(slot) + cache.states[state]); };
  return {from == M40_NONE ? nullptr : values(from), values(to)};
}

// body(rows, part, thread) for each of n_parts parts of an operation, which do not see each other's state, and for each
// sequence that has rows in the step.
template <class Body>
void for_each_sequence_part(const Execution& execution, uint64_t n_parts, const Body& body) {
  const auto& sequences = execution.program.sequence_rows;
  execution.pool.parallel(sequences.size() * n_parts, 1, [&](uint64_t begin, uint64_t end, uint32_t thread) {
    for (uint64_t item = begin; item < end; item++) body(sequences[item / n_parts], static_cast<uint32_t>(item % n_parts), thread);
  });
}

}  // namespace m40::reference

#endif
