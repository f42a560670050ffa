// The arguments that decode and prefill attention have in common.
#ifndef M40_KERNELS_ATTENTION_ARGS_CUH
#define M40_KERNELS_ATTENTION_ARGS_CUH

#include <stdint.h>

#include "kv_cache.cuh"

namespace m40::cuda {

struct AttentionKernelArgs {
  CacheLayer cache;
  const float* q;        // row 0 is the first token's that this launch computes
  uint32_t q_stride;
  float* output;
  uint32_t output_stride;
  const uint32_t* positions;
  const uint32_t* sequences;
  const uint32_t* kv_block_table;
  uint32_t kv_block_stride;
  uint32_t group;        // query heads of a KV head
  uint32_t head_tiles;   // thread blocks that share a KV head's query heads
  uint32_t window;       // 0: none
  uint32_t chunk;        // 0: none
  const float* sinks;    // [n_heads], natural logarithms; or nullptr
  float scale;           // of base-2 logarithms where there is no cap
  float softcap;
  float* partials;       // scratch; each kernel says how it lies
  uint32_t* counters;    // of tiles; 0 between launches
};

// The first position that the token at end - 1 attends to.
__device__ __forceinline__ uint32_t attention_start(const AttentionKernelArgs& args, uint32_t end) {
  if (args.chunk != 0) return (end - 1) / args.chunk * args.chunk;
  return args.window != 0 && args.window < end ? end - args.window : 0;
}

}  // namespace m40::cuda

#endif
