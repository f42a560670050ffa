// Where the operands of a step's operations lie on the device: buffers, weights, cache, scratch memory, results.
#ifndef M40_RUNTIME_STEP_OPERANDS_H
#define M40_RUNTIME_STEP_OPERANDS_H

#include "device_objects.h"
#include "../program/operations.h"
#include "../program/results.h"
#include "step_input.h"

namespace m40::cuda {

class StepOperands {
 protected:
  StepOperands(const m40_program& program, const StepShape& shape)
      : program_(program), step_(view_input(shape, program.limits.limits, program.memory + program.plan.input)), stream_(program.stream) {
    scratch_ = {reinterpret_cast<uint32_t*>(memory(program.plan.counters)), memory(program.plan.scratch)};
    results_ = reinterpret_cast<StepResults*>(memory(program.plan.results));
    if (program.cache != nullptr) {
      const m40_cache& cache = *program.cache;
      cache_ = {cache.memory, cache.kv_block_bytes, &cache.desc, cache.layer_offsets};
    }
  }

  uint8_t* memory(uint64_t offset) const { return program_.memory + offset; }
  float* buffer(uint32_t index) const { return reinterpret_cast<float*>(memory(program_.plan.buffers[index])); }
  uint32_t* indices(uint32_t index) const { return indices_at(program_.plan.buffers[index]); }
  uint32_t* indices_at(uint64_t offset) const { return reinterpret_cast<uint32_t*>(memory(offset)); }
  const float* optional_buffer(uint32_t index) const { return index == M40_NONE ? nullptr : buffer(index); }
  uint32_t stride(uint32_t index) const { return index == M40_NONE ? 0 : program_.buffers[index].columns; }
  uint32_t rows(uint32_t index) const {
    return static_cast<uint32_t>(buffer_rows(program_.buffers[index], step_.n_tokens, step_.n_outputs));
  }
  // How many of the first rows of a buffer are computed as decode: logits always are.
  uint32_t decode_rows(uint32_t index) const {
    const m40_buffer_desc& desc = program_.buffers[index];
    if (desc.rows == M40_ROWS_OUTPUTS) return rows(index);
    return desc.rows == M40_ROWS_EXPERTS ? step_.n_decode * desc.rows_factor : step_.n_decode;
  }
  const Tensor& tensor(uint32_t index) const { return program_.context->tensors[index]; }
  const float* vector(uint32_t index) const { return index == M40_NONE ? nullptr : tensor(index).values; }

  // Weights of one row lie in the program's memory, one after the other.
  PackedWeight packed(uint32_t index, uint32_t columns, uint64_t* next_row) const {
    const Tensor& found = tensor(index);
    if (found.values == nullptr) return found.packed;
    const PackedWeight row = packed_view(M40_TYPE_F32, 1, 1, columns, memory(*next_row));
    *next_row += packed_bytes(M40_TYPE_F32, 1, 1, columns);
    return row;
  }

  const m40_program& program_;
  StepView step_;
  cudaStream_t stream_;
  CacheView cache_ = {};
  Scratch scratch_ = {};
  StepResults* results_ = nullptr;
};

}  // namespace m40::cuda

#endif
