// What a step hands out: a result an output, and the values of those that are logits or hidden states.
#ifndef M40_RUNTIME_RESULTS_H
#define M40_RUNTIME_RESULTS_H

#include <stdint.h>

#include <vector>

#include "../include/m40.h"
#include "step.h"

namespace m40 {

// The caller's memory for them.
struct ResultMemory {
  m40_result* results;
  uint32_t n_results;
  float* values;
  uint64_t n_values;
};

// The sample operation of a program; nullptr where it has none.
const m40_op_sample* find_sample(const std::vector<m40_op>& ops);

// Floats that an output of that kind gives.
uint64_t output_values(const m40_op_sample& sample, uint32_t kind);

// Throws Failure with M40_INVALID_ARGUMENT where the memory has no room for what the step gives.
void check_result_memory(const m40_op_sample* sample, const Step& step, const ResultMemory& memory);

// Throws Failure with M40_INVALID_ARGUMENT where an output is no sample.
void check_all_samples(const Step& step);

// Calls copy(kind, first, n, values) for outputs of kind logits or hidden that stand in a row: [n, output_values()] go
// to values.
template <class Copy>
void for_each_run_of_values(const m40_op_sample& sample, const Step& step, float* values, const Copy& copy) {
  for (uint32_t first = 0, end; first < step.n_outputs; first = end) {
    const uint32_t kind = step.outputs[first].kind;
    for (end = first + 1; end < step.n_outputs && step.outputs[end].kind == kind;) end++;
    if (kind == M40_OUTPUT_SAMPLE) continue;
    copy(kind, first, end - first, values);
    values += (end - first) * output_values(sample, kind);
  }
}

// Writes the results once the values are there. statuses, samples: [n_outputs]; those of hidden states are found here.
void write_results(const m40_op_sample& sample, const Step& step, const uint32_t* statuses, const m40_sample* samples, const ResultMemory& memory);

}  // namespace m40

#endif
