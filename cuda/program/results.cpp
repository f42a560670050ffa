#include "results.h"

#include <math.h>

#include <algorithm>

#include "sample_weights.h"

namespace m40 {

const m40_op_sample* find_sample(const std::vector<m40_op>& ops) {
  const auto found = std::find_if(ops.begin(), ops.end(), [](const m40_op& op) { return op.kind == M40_OP_SAMPLE; });
  return found == ops.end() ? nullptr : &found->sample;
}

uint64_t output_values(const m40_op_sample& sample, uint32_t kind) {
  return kind == M40_OUTPUT_LOGITS ? sample.columns : kind == M40_OUTPUT_HIDDEN ? sample.hidden_columns : 0;
}

void check_result_memory(const m40_op_sample* sample, const Step& step, const ResultMemory& memory) {
  if (sample == nullptr) {
    if (memory.results != nullptr) fail(M40_INVALID_ARGUMENT, "results are asked for: the program has no sample operation");
    if (memory.values != nullptr) fail(M40_INVALID_ARGUMENT, "values are asked for: the program has no sample operation");
    return;
  }
  if (step.n_outputs != 0) require(memory.results, "results");
  if (memory.results != nullptr && memory.n_results < step.n_outputs) {
    fail(M40_INVALID_ARGUMENT, "room for %u results: the step has %u outputs", memory.n_results, step.n_outputs);
  }
  uint64_t wanted = 0;
  for (uint32_t i = 0; i < step.n_outputs; i++) wanted += output_values(*sample, step.outputs[i].kind);
  if (wanted != 0) require(memory.values, "values");
  if (memory.n_values < wanted) {
    fail(M40_INVALID_ARGUMENT, "room for %llu values: the step's outputs give %llu", static_cast<unsigned long long>(memory.n_values),
         static_cast<unsigned long long>(wanted));
  }
}

void check_all_samples(const Step& step) {
  for (uint32_t i = 0; i < step.n_outputs; i++) {
    if (step.outputs[i].kind == M40_OUTPUT_SAMPLE) continue;
    fail(M40_INVALID_ARGUMENT, "output %u is of kind %u: wanted samples alone, or m40_step", i, step.outputs[i].kind);
  }
}

void write_results(const m40_op_sample& sample, const Step& step, const uint32_t* statuses, const m40_sample* samples, const ResultMemory& memory) {
  const float* values = memory.values;
  for (uint32_t i = 0; i < step.n_outputs; i++) {
    m40_result& result = memory.results[i];
    result = {};
    result.kind = step.outputs[i].kind;
    result.sample.token = -1;
    const uint64_t n_values = output_values(sample, result.kind);
    if (result.kind == M40_OUTPUT_HIDDEN) {
      const bool finite = std::all_of(values, values + n_values, [](float value) { return isfinite(value); });
      result.status = finite ? M40_OUTPUT_OK : M40_OUTPUT_NOT_FINITE;
    } else {
      result.status = statuses[i];
      if (result.kind == M40_OUTPUT_SAMPLE && result.status == M40_OUTPUT_OK) {
        result.sample = samples[i];
        if (!is_shaped(step.sampling[i])) result.sample.surprise = 0;  // nothing else writes it
      }
    }
    values += n_values;
  }
}

}  // namespace m40
