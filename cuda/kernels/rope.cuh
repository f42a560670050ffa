// Rotary positions (Su et al. 2021), the norms of heads, and the way of k and v into the cache.
//
// Angles are whole numbers: a pair's share of a turn a position, as a fraction of 2^64, times the position, modulo
// 2^64. The product drops whole turns exactly, so that no double-precision arithmetic (1/32 of the rate) and no range
// reduction is needed, and position 131072 is as accurate as position 1.
#ifndef M40_KERNELS_ROPE_CUH
#define M40_KERNELS_ROPE_CUH

#include <stdint.h>

#include "../include/m40.h"
#include "../gpu/device.h"
#include "block.cuh"
#include "kv_cache.cuh"

namespace m40::cuda {

struct RopeParameters {
  const uint64_t* turns;  // [rope_dim / 2]
  const float* q_norm;    // [head_dim], or nullptr
  const float* k_norm;
  uint32_t rope;          // M40_ROPE_*
  uint32_t rope_dim;      // values that are rotated; 0 without a rotation
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

// The parts below work on a head in shared memory of the warp's own, of which a lane has values lane, lane + 32 and so
// on.

// Copies a head [dim]. The result is the lane's share of the sum of its squares.
__device__ __forceinline__ float copy_head(const float* input, uint32_t dim, float* head, uint32_t lane) {
  float sum = 0;
  for (uint32_t d = lane; d < dim; d += 32) {
    const float x = input[d];
    head[d] = x;
    sum = __fmaf_rn(x, x, sum);
  }
  return sum;
}

// Root-mean-square norm. sum: as copy_head() gives it. weight: [dim], or nullptr for ones.
__device__ __forceinline__ void normalise_head(float sum, float epsilon, const float* weight, uint32_t dim, float* head, uint32_t lane) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, offset));
  const float scale = __fdiv_rn(1, __fsqrt_rn(__fadd_rn(__fdiv_rn(sum, static_cast<float>(dim)), epsilon)));
  for (uint32_t d = lane; d < dim; d += 32) {
    const float x = __fmul_rn(head[d], scale);
    head[d] = weight == nullptr ? x : __fmul_rn(x, weight[d]);
  }
}

// Rotates the first rope_dim values from `head` on. It reads and writes other lanes' values: a warp barrier has to come
// before and after.
__device__ __forceinline__ void rotate_pairs(const RopeParameters& rope, float* head, const float* table, uint32_t lane) {
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
}

// A warp normalises and rotates one head of q or k: from input [head_dim] to head [head_dim]. norm: [head_dim], or
// nullptr for none. That is all that an operation which is fused with attention may ask for.
__device__ __forceinline__ void rotate_head(const RopeParameters& rope, const float* norm, const float* input, float* head,
                                            const float* table, uint32_t lane) {
  const float sum = copy_head(input, rope.head_dim, head, lane);
  if (norm != nullptr) normalise_head(sum, rope.norm_epsilon, norm, rope.head_dim, head, lane);
  __syncwarp();
  if (rope.rope != M40_ROPE_NONE) {
    rotate_pairs(rope, head, table, lane);
    __syncwarp();
  }
}

struct RopeKernelArgs {
  RopeParameters rope;
  CacheLayer cache;
  float* q;
  uint32_t q_stride;
  const float* kv;  // nullptr: nothing is stored
  uint32_t kv_stride;
  uint32_t k_column;
  uint32_t v_column;     // M40_NONE: V are the first values of K
  uint32_t n_heads;
  uint32_t n_kv_heads;   // that are stored: 0 without kv
  uint32_t rope_offset;  // of the values that are rotated, in a head
  uint32_t head_norm;    // M40_HEAD_NORM_*
  bool v_norm;
  // The temperature of q; 0: 1.
  float temperature_scale;
  uint32_t temperature_length;
  uint32_t temperature_offset;
  const uint32_t* positions;
  const uint32_t* sequences;
  const uint32_t* kv_block_table;
  uint32_t kv_block_stride;
};

constexpr uint32_t rope_warps = 8;

// Heads of a token that are worked on, those of q first, then of k, then of v.
__host__ __device__ inline uint32_t rope_heads(const RopeKernelArgs& args) {
  return args.n_heads + args.n_kv_heads * (args.v_column == M40_NONE ? 1 : 2);
}

// Floats of shared memory that a block wants: a table [rope_dim], then a head of q, k or v a warp.
__host__ __device__ inline uint32_t rope_head_floats(const RopeKernelArgs& args) {
  return args.cache.value_dim > args.rope.head_dim ? args.cache.value_dim : args.rope.head_dim;
}
__host__ __device__ inline uint32_t rope_shared_floats(const RopeKernelArgs& args) { return args.rope.rope_dim + rope_warps * rope_head_floats(args); }

// What q is multiplied by at a position.
__device__ __forceinline__ float query_temperature(const RopeKernelArgs& args, uint32_t position) {
  if (args.temperature_scale == 0) return 1;
  const uint64_t lengths = (uint64_t{position} + args.temperature_offset) / args.temperature_length;
  return __fmaf_rn(args.temperature_scale, logf(static_cast<float>(1 + lengths)), 1);
}

// A head of q or k as the operation wants it: from input to head.
__device__ __forceinline__ void prepare_head(const RopeKernelArgs& args, const float* weight, const float* input, float* head, const float* table, uint32_t lane) {
  const RopeParameters& rope = args.rope;
  float sum = copy_head(input, rope.head_dim, head, lane);
  if (args.head_norm == M40_HEAD_NORM_BEFORE) normalise_head(sum, rope.norm_epsilon, weight, rope.head_dim, head, lane);
  __syncwarp();
  if (rope.rope != M40_ROPE_NONE) {
    rotate_pairs(rope, head + args.rope_offset, table, lane);
    __syncwarp();
  }
  if (args.head_norm != M40_HEAD_NORM_AFTER) return;
  sum = 0;
  for (uint32_t d = lane; d < rope.head_dim; d += 32) sum = __fmaf_rn(head[d], head[d], sum);
  normalise_head(sum, rope.norm_epsilon, weight, rope.head_dim, head, lane);
  __syncwarp();
}

// Puts q in place, and k and v into the cache. Grid: tokens, and rope_heads() by rope_warps; a warp does a head.
// shared: rope_shared_floats().
template <uint32_t Type>
__device__ __forceinline__ void rope_to_cache(const RopeKernelArgs& args, BlockIndex block, float* shared) {
  const uint32_t token = block.x;
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  const uint32_t position = args.positions[token];
  rope_table(args.rope, position, shared, threadIdx.x, rope_warps * 32);
  __syncthreads();
  const uint32_t h = block.y * rope_warps + warp;
  if (h >= rope_heads(args)) return;
  float* head = shared + args.rope.rope_dim + warp * rope_head_floats(args);
  const bool prepares = args.head_norm != M40_HEAD_NORM_NONE || args.rope.rope != M40_ROPE_NONE;
  if (h < args.n_heads) {
    if (!prepares && args.temperature_scale == 0) return;
    float* row = args.q + uint64_t{token} * args.q_stride + uint64_t{h} * args.rope.head_dim;
    prepare_head(args, args.rope.q_norm, row, head, shared, lane);
    const float temperature = query_temperature(args, position);
    for (uint32_t d = lane; d < args.rope.head_dim; d += 32) row[d] = __fmul_rn(head[d], temperature);
    return;
  }
  const bool is_value = h >= args.n_heads + args.n_kv_heads;
  const uint32_t kv_head = h - args.n_heads - (is_value ? args.n_kv_heads : 0);
  const CacheRows rows = is_value ? value_rows(args.cache) : key_rows(args.cache);
  const float* input = args.kv + uint64_t{token} * args.kv_stride + (is_value ? args.v_column : args.k_column) + uint64_t{kv_head} * rows.dim;
  if (is_value && args.v_norm) {
    normalise_head(copy_head(input, rows.dim, head, lane), args.rope.norm_epsilon, nullptr, rows.dim, head, lane);
    __syncwarp();
    input = head;
  } else if (!is_value && prepares) {
    prepare_head(args, args.rope.k_norm, input, head, shared, lane);
    input = head;
  }
  const uint32_t kv_block = args.kv_block_table[uint64_t{args.sequences[token]} * args.kv_block_stride + (position >> args.cache.page_shift)];
  uint8_t* region = args.cache.keys + kv_block * args.cache.kv_block_bytes + (is_value ? args.cache.values : 0);
  store_head<Type>(rows, region, cache_row(args.cache, kv_head, position), input, lane);
}

template <uint32_t Type>
__global__ void __launch_bounds__(rope_warps * 32) rope_to_cache_kernel(RopeKernelArgs args) {
  M40_DYNAMIC_SHARED(float, shared);
  rope_to_cache<Type>(args, launched_block(), shared);
}

}  // namespace m40::cuda

#endif
