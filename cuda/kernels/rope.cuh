// Rotary positions (Su et al. 2021), the norms of q and k a head, and the way of k and v into the cache.
//
// Angles are whole numbers: a pair's share of a turn a position, as a fraction of 2^64, times the position, modulo
// 2^64. The product drops whole turns exactly, so that no double-precision arithmetic (1/32 of the rate) and no range
// reduction is needed, and position 131072 is as accurate as position 1.
#ifndef M40_KERNELS_ROPE_CUH
#define M40_KERNELS_ROPE_CUH

#include <stdint.h>

#include "../include/m40.h"
#include "../runtime/device.h"
#include "block.cuh"
#include "kv_cache.cuh"

namespace m40::cuda {

struct RopeParameters {
  const uint64_t* turns;  // [rope_dim / 2]
  const float* q_norm;    // [head_dim], or nullptr
  const float* k_norm;
  uint32_t rope;          // M40_ROPE_*
  uint32_t rope_dim;
  uint32_t head_dim;
  float norm_epsilon;
  float attention_factor;
};

// Sine and cosine of angle / 2^64 turns, within 1e-7. The quarter turn goes by whole numbers, the rest, at most an
// eighth of a turn either way, by Taylor's series.
__device__ __forceinline__ void sine_and_cosine(uint64_t angle, float& sine, float& cosine) {
  const uint32_t quarter = static_cast<uint32_t>((angle + (uint64_t{1} << 61)) >> 62);
  const int64_t rest = static_cast<int64_t>(angle - (static_cast<uint64_t>(quarter) << 62));
  // 2^62 is a quarter turn: pi / 2.
  const float x = static_cast<float>(static_cast<int32_t>(rest >> 32)) * (1.5707963267948966f / 1073741824.0f);
  const float x2 = __fmul_rn(x, x);
  float s = __fmaf_rn(x2, 2.7557319e-6f, -1.9841270e-4f);
  s = __fmaf_rn(s, x2, 8.3333333e-3f);
  s = __fmaf_rn(s, x2, -1.6666667e-1f);
  s = __fmaf_rn(__fmul_rn(s, x2), x, x);
  float c = __fmaf_rn(x2, -2.7557319e-7f, 2.4801587e-5f);
  c = __fmaf_rn(c, x2, -1.3888889e-3f);
  c = __fmaf_rn(c, x2, 4.1666668e-2f);
  c = __fmaf_rn(c, x2, -0.5f);
  c = __fmaf_rn(c, x2, 1.0f);
  const bool swap = quarter & 1;
  const float sine_part = swap ? c : s;
  const float cosine_part = swap ? s : c;
  sine = quarter & 2 ? -sine_part : sine_part;
  cosine = (quarter + 1) & 2 ? -cosine_part : cosine_part;
}

// table: cosines [rope_dim / 2], then sines, of a position. Thread `thread` of n_threads does its share.
__device__ __forceinline__ void rope_table(const RopeParameters& rope, uint32_t position, float* table, uint32_t thread, uint32_t n_threads) {
  if (rope.rope == M40_ROPE_NONE) return;
  const uint32_t half = rope.rope_dim / 2;
  for (uint32_t i = thread; i < half; i += n_threads) {
    float sine, cosine;
    sine_and_cosine(position * rope.turns[i], sine, cosine);
    table[i] = __fmul_rn(cosine, rope.attention_factor);
    table[half + i] = __fmul_rn(sine, rope.attention_factor);
  }
}

// A warp normalises and rotates one head of q or k: from input [head_dim] to head [head_dim], in shared memory of the
// warp's own. norm: [head_dim], or nullptr.
__device__ __forceinline__ void rotate_head(const RopeParameters& rope, const float* norm, const float* input, float* head,
                                            const float* table, uint32_t lane) {
  float sum = 0;
  for (uint32_t d = lane; d < rope.head_dim; d += 32) {
    const float x = input[d];
    head[d] = x;
    sum = __fmaf_rn(x, x, sum);
  }
  if (norm != nullptr) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, offset));
    const float scale = __fdiv_rn(1, __fsqrt_rn(__fadd_rn(__fdiv_rn(sum, static_cast<float>(rope.head_dim)), rope.norm_epsilon)));
    for (uint32_t d = lane; d < rope.head_dim; d += 32) head[d] = __fmul_rn(__fmul_rn(head[d], scale), norm[d]);
  }
  __syncwarp();
  if (rope.rope != M40_ROPE_NONE) {
    const uint32_t half = rope.rope_dim / 2;
    for (uint32_t i = lane; i < half; i += 32) {
      const uint32_t first = rope.rope == M40_ROPE_HALVES ? i : 2 * i;
      const uint32_t second = rope.rope == M40_ROPE_HALVES ? i + half : 2 * i + 1;
      const float x = head[first];
      const float y = head[second];
      const float cosine = table[i];
      const float sine = table[half + i];
      head[first] = __fmaf_rn(x, cosine, -__fmul_rn(y, sine));
      head[second] = __fmaf_rn(x, sine, __fmul_rn(y, cosine));
    }
    __syncwarp();
  }
}

struct RopeKernelArgs {
  RopeParameters rope;
  CacheLayer cache;
  float* qkv;
  uint32_t stride;
  uint32_t n_heads;
  uint32_t n_kv_heads;
  const uint32_t* positions;
  const uint32_t* sequences;
  const uint32_t* page_table;
  uint32_t page_stride;
};

constexpr uint32_t rope_warps = 8;

// Floats of shared memory that a block wants: a table [rope_dim], then a head [head_dim] a warp.
__host__ __device__ inline uint32_t rope_shared_floats(const RopeParameters& rope) { return rope.rope_dim + rope_warps * rope.head_dim; }

// Rotates q and k in place and puts k and v into the cache. Grid: tokens, and the heads of q, k and v by rope_warps; a warp
// does a head. shared: rope_shared_floats().
template <uint32_t Type>
__device__ __forceinline__ void rope_to_cache(const RopeKernelArgs& args, BlockIndex block, float* shared) {
  const uint32_t token = block.x;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t position = args.positions[token];
  rope_table(args.rope, position, shared, threadIdx.x, rope_warps * 32);
  __syncthreads();
  const uint32_t h = block.y * rope_warps + warp;
  if (h >= args.n_heads + 2 * args.n_kv_heads) return;
  float* row = args.qkv + uint64_t{token} * args.stride + uint64_t{h} * args.rope.head_dim;
  const float* head = row;
  if (h < args.n_heads + args.n_kv_heads) {
    const float* norm = h < args.n_heads ? args.rope.q_norm : args.rope.k_norm;
    if (norm != nullptr || args.rope.rope != M40_ROPE_NONE) {
      float* rotated = shared + args.rope.rope_dim + warp * args.rope.head_dim;
      rotate_head(args.rope, norm, row, rotated, shared, lane);
      for (uint32_t d = lane; d < args.rope.head_dim; d += 32) row[d] = rotated[d];
      head = rotated;
    }
  }
  if (h < args.n_heads) return;
  const bool is_value = h >= args.n_heads + args.n_kv_heads;
  const uint32_t kv_head = h - args.n_heads - (is_value ? args.n_kv_heads : 0);
  const uint32_t page = args.page_table[uint64_t{args.sequences[token]} * args.page_stride + (position >> args.cache.page_shift)];
  uint8_t* region = args.cache.keys + page * args.cache.page_bytes + (is_value ? args.cache.values : 0);
  store_head<Type>(args.cache, region, cache_row(args.cache, kv_head, position), head, lane);
}

template <uint32_t Type>
__global__ void __launch_bounds__(rope_warps * 32) rope_to_cache_kernel(RopeKernelArgs args) {
  M40_DYNAMIC_SHARED(float, shared);
  rope_to_cache<Type>(args, launched_block(), shared);
}

}  // namespace m40::cuda

#endif
