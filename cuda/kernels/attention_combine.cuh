// How a decoded token's positions are cut into chunks, and how the partial results of warps and of chunks are added, each
// in its order.
#ifndef M40_KERNELS_ATTENTION_COMBINE_CUH
#define M40_KERNELS_ATTENTION_COMBINE_CUH

#include "attention_score.cuh"

namespace m40::cuda {

constexpr uint32_t decode_chunk = 128;       // positions of the smallest chunk
constexpr uint32_t decode_most_chunks = 32;  // of a sequence: chunks double with its length

// How many positions a chunk has, where `length` of them are attended to.
__device__ __forceinline__ uint32_t chunk_positions(uint32_t length) {
  uint32_t chunk = decode_chunk;
  while (uint64_t{chunk} * decode_most_chunks < length) chunk *= 2;
  return chunk;
}

// Adds the warps' sums [Warps][Heads][stride] in their order, where `statistics` has each warp's and head's largest
// score and sum of weights: the result of a chunk, or (whole) the token's. sinks: of the first of the heads, or nullptr.
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
  static_assert(decode_most_chunks == 32, "a lane has a chunk");
  const uint32_t partial_floats = heads * (padded + 2);
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t h = threadIdx.x / 32; h < n_heads; h += n_warps) {
    const float* statistics = partials + lane * partial_floats + heads * padded + h * 2;
    const float chunk_largest = lane < n_chunks ? __ldcg(statistics) : -INFINITY;
    const float chunk_sum = lane < n_chunks ? __ldcg(statistics + 1) : 0;
    float largest = chunk_largest;
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, offset));
    const float factor = lane < n_chunks ? attention_shrink(chunk_largest, largest) : 0;
    float sum = __fmul_rn(chunk_sum, factor);
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum = __fadd_rn(sum, __shfl_xor_sync(~0u, sum, offset));
    work[h * (decode_most_chunks + 1) + lane] = factor;
    if (lane == 0) work[h * (decode_most_chunks + 1) + 32] = with_sink(sinks, h, largest, sum);
  }
  __syncthreads();
  // Two values a thread at a time, eight chunks in flight; those that there are not count 0 times the last.
  const uint32_t total = n_heads * padded / 2;
  for (uint32_t i = threadIdx.x; i < total; i += n_warps * 32) {
    const uint32_t head = 2 * i / padded;
    const uint32_t d = 2 * i - head * padded;
    const float* factors = work + head * (decode_most_chunks + 1);
    const float* values = partials + head * padded + d;
    float x = 0;
    float y = 0;
    for (uint32_t c = 0; c < n_chunks; c += 8) {
      float2 loaded[8];
#pragma unroll
      for (uint32_t j = 0; j < 8; j++) loaded[j] = __ldcg(reinterpret_cast<const float2*>(values + min(c + j, n_chunks - 1) * partial_floats));
#pragma unroll
      for (uint32_t j = 0; j < 8; j++) {
        x = __fmaf_rn(loaded[j].x, factors[c + j], x);
        y = __fmaf_rn(loaded[j].y, factors[c + j], y);
      }
    }
    if (d < head_dim) output[head * head_dim + d] = __fdiv_rn(x, factors[32]);
    if (d + 1 < head_dim) output[head * head_dim + d + 1] = __fdiv_rn(y, factors[32]);
  }
}

}  // namespace m40::cuda

#endif
