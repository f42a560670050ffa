// How a decoded token's positions are cut into chunks, and how the partial results of warps and of chunks are added,
// each in its order.
#ifndef M40_KERNELS_ATTENTION_COMBINE_CUH
#define M40_KERNELS_ATTENTION_COMBINE_CUH

#include "attention_score.cuh"

namespace m40::cuda {

constexpr uint32_t decode_chunk = 128;       // positions of the smallest chunk
constexpr uint32_t decode_most_chunks = 64;  // of a sequence
constexpr uint32_t decode_whole_rounds = 48;  // the same, of rows that are not long: blocks that an M40 has at a time
constexpr uint32_t decode_chunk_unit = 64;    // positions: runs of all shapes begin inside a chunk where a KV block's do

// Floats of a chunk's partial results, of so many heads: sums [heads][padded], then largest score and sum of weights
// [heads][2]. Rounded up, so that four can be read at a time. padded: the head dimension, a multiple of 8.
__host__ __device__ constexpr uint32_t chunk_floats(uint32_t heads, uint32_t padded) { return (heads * (padded + 2) + 3) / 4 * 4; }

// How many positions a chunk has, where `length` of them are attended to. Of long rows (wide), which have much to do in
// each, there are up to 64 chunks. Of others up to 48, so that 1, 2, 4 and 8 KV heads fill whole rounds of an M40's 48
// blocks; until there are so many with chunks of 128 positions, up to 32: shorter ones cost more in sums that are added
// than they win.
__device__ __forceinline__ uint32_t chunk_positions(uint32_t length, bool wide) {
  if (!wide && length > decode_whole_rounds * decode_chunk) {
    return ((length + decode_whole_rounds - 1) / decode_whole_rounds + decode_chunk_unit - 1) / decode_chunk_unit * decode_chunk_unit;
  }
  uint32_t chunk = decode_chunk;
  while (uint64_t{chunk} * (wide ? decode_most_chunks : decode_most_chunks / 2) < length) chunk *= 2;
  return chunk;
}

// Adds the warps' sums [Warps][Heads][stride] in their order, where `statistics` has each warp's and head's largest
// score and sum of weights: the result of a chunk, or (whole) the token's. sinks: of the first of the heads, or
// nullptr.
template <int Warps, int Heads>
__device__ __forceinline__ void combine_warps(const float* sums, const float* statistics, uint32_t stride, uint32_t n_heads, uint32_t head_dim,
                                              bool whole, const float* sinks, float* output, uint32_t output_stride, float* output_statistics) {
  const uint32_t total = n_heads * head_dim;
  for (uint32_t i = threadIdx.x; i < total; i += Warps * 32) {
    const uint32_t head = i / head_dim;
    const uint32_t d = i - head * head_dim;
    float largest = -INFINITY;
#pragma unroll
    for (int w = 0; w < Warps; w++) largest = fmaxf(largest, statistics[(w * Heads + head) * 2]);
    float value = 0;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < Warps; w++) {
      const float factor = attention_shrink(statistics[(w * Heads + head) * 2], largest);
      sum = __fmaf_rn(statistics[(w * Heads + head) * 2 + 1], factor, sum);
      value = __fmaf_rn(sums[(w * Heads + head) * stride + d], factor, value);
    }
    if (whole) {
      output[uint64_t{head} * output_stride + d] = __fdiv_rn(value, with_sink(sinks, head, largest, sum));
    } else {
      output[uint64_t{head} * output_stride + d] = value;
      if (d == 0) {
        output_statistics[head * 2] = largest;
        output_statistics[head * 2 + 1] = sum;
      }
    }
  }
}

// Adds the chunks' partial results, of `heads` heads of which n_heads are there, in their order. work: [n_heads]
// [decode_most_chunks + 1] floats. head_dim: of V.
__device__ __forceinline__ void combine_chunks(const float* partials, uint32_t n_warps, uint32_t heads, uint32_t n_chunks, uint32_t n_heads,
                                               uint32_t head_dim, uint32_t padded, const float* sinks, float* work, float* output) {
  constexpr uint32_t kEach = decode_most_chunks / 32;  // of a lane
  const uint32_t stride = chunk_floats(heads, padded);
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t h = threadIdx.x / 32; h < n_heads; h += n_warps) {
    float chunk_largest[kEach], chunk_sum[kEach];
    float largest = -INFINITY;
#pragma unroll
    for (uint32_t k = 0; k < kEach; k++) {
      const uint32_t c = lane + k * 32;
      const float* statistics = partials + c * stride + heads * padded + h * 2;
      chunk_largest[k] = c < n_chunks ? __ldcg(statistics) : -INFINITY;
      chunk_sum[k] = c < n_chunks ? __ldcg(statistics + 1) : 0;
      largest = fmaxf(largest, chunk_largest[k]);
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, offset));
    float sum = 0;
#pragma unroll
    for (uint32_t k = 0; k < kEach; k++) {
      const uint32_t c = lane + k * 32;
      const float factor = c < n_chunks ? attention_shrink(chunk_largest[k], largest) : 0;
      sum = __fmaf_rn(chunk_sum[k], factor, sum);
      work[h * (decode_most_chunks + 1) + c] = factor;
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, offset));
    if (lane == 0) work[h * (decode_most_chunks + 1) + decode_most_chunks] = with_sink(sinks, h, largest, sum);
  }
  __syncthreads();
  // Four values a thread at a time, sixteen chunks in flight; those that there are not count 0 times the last.
  const uint32_t total = n_heads * padded / 4;
  for (uint32_t i = threadIdx.x; i < total; i += n_warps * 32) {
    const uint32_t head = 4 * i / padded;
    const uint32_t d = 4 * i - head * padded;
    const float* factors = work + head * (decode_most_chunks + 1);
    const float* values = partials + head * padded + d;
    float sums[4] = {};
    for (uint32_t c = 0; c < n_chunks; c += 16) {
      float4 loaded[16];
#pragma unroll
      for (uint32_t j = 0; j < 16; j++) loaded[j] = __ldcg(reinterpret_cast<const float4*>(values + min(c + j, n_chunks - 1) * stride));
#pragma unroll
      for (uint32_t j = 0; j < 16; j++) {
        sums[0] = __fmaf_rn(loaded[j].x, factors[c + j], sums[0]);
        sums[1] = __fmaf_rn(loaded[j].y, factors[c + j], sums[1]);
        sums[2] = __fmaf_rn(loaded[j].z, factors[c + j], sums[2]);
        sums[3] = __fmaf_rn(loaded[j].w, factors[c + j], sums[3]);
      }
    }
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) {
      if (d + k < head_dim) output[head * head_dim + d + k] = __fdiv_rn(sums[k], factors[decode_most_chunks]);
    }
  }
}

}  // namespace m40::cuda

#endif
