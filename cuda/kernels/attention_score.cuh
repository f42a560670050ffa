// Scores of attention and the weights that they become, in base-2 logarithms: of decoded tokens and of prompts.
#ifndef M40_KERNELS_ATTENTION_SCORE_CUH
#define M40_KERNELS_ATTENTION_SCORE_CUH

#include <math.h>
#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

// m40.h's cap, in base-2 logarithms. A call: it is rare, and long.
__device__ M40_NOINLINE inline float capped_score(float score, float softcap) {
  return __fmul_rn(__fmul_rn(softcap, tanhf(__fdiv_rn(score, softcap))), 1.4426950408889634f);
}

// The score of a product, in base-2 logarithms.
__device__ __forceinline__ float attention_score(float product, float scale, float softcap) {
  const float score = __fmul_rn(product, scale);
  return softcap == 0 ? score : capped_score(score, softcap);
}

// 2^(score - largest); 0 for what is masked, also where all is.
__device__ __forceinline__ float attention_weight(float score, float largest) {
  return score == -INFINITY ? 0 : exp2f(__fsub_rn(score, largest));
}

// The factor that makes sums relative to `before` relative to `after`.
__device__ __forceinline__ float attention_shrink(float before, float after) {
  return before == after ? 1 : exp2f(__fsub_rn(before, after));
}

// A row's sum of weights, which are relative to `largest`, with the share of its head's sink.
__device__ __forceinline__ float with_sink(const float* sinks, uint32_t head, float largest, float sum) {
  return sinks == nullptr ? sum : __fadd_rn(sum, exp2f(__fmaf_rn(__ldg(sinks + head), 1.4426950408889634f, -largest)));
}

// Adds N values over lanes that differ in the bits below 2 * Offset, and spreads the sums. Afterwards lane l of such a
// group holds, in values[0 .. max(1, N / lanes)), the sums with l's bits as the top bits of their index.
template <int N, int Offset>
__device__ __forceinline__ void spread_sums(float* values, uint32_t lane) {
  if constexpr (Offset > 0) {
    if constexpr (N > 1) {
      const bool upper = lane & Offset;
#pragma unroll
      for (int i = 0; i < N / 2; i++) {
        const float mine = upper ? values[i + N / 2] : values[i];
        const float other = upper ? values[i] : values[i + N / 2];
        values[i] = __fadd_rn(mine, __shfl_xor_sync(~0u, other, Offset));
      }
      spread_sums<N / 2, Offset / 2>(values, lane);
    } else {
      values[0] = __fadd_rn(values[0], __shfl_xor_sync(~0u, values[0], Offset));
      spread_sums<1, Offset / 2>(values, lane);
    }
  }
}

}  // namespace m40::cuda

#endif
