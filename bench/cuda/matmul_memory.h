// Device memory of the matmul bench.
#ifndef M40_BENCH_CUDA_MATMUL_MEMORY_H
#define M40_BENCH_CUDA_MATMUL_MEMORY_H

#include "../../cuda/ops/ops.h"
#include "bench.h"

using namespace m40;
using namespace m40::cuda;

namespace {

void* device_alloc(size_t n_bytes, int fill = 0) {
  void* memory = nullptr;
  must(cudaMalloc(&memory, n_bytes + 256), "cudaMalloc");
  must(cudaMemset(memory, fill, n_bytes + 256), "cudaMemset");
  return memory;
}

Scratch make_scratch(uint64_t n_bytes) { return {static_cast<uint32_t*>(device_alloc(scratch_counters * 4, 0)), device_alloc(n_bytes, 0xFF)}; }

}  // namespace

#endif
