// What a product itself does to a token's values before it multiplies them.
#ifndef M40_KERNELS_MATMUL_PROLOGUE_CUH
#define M40_KERNELS_MATMUL_PROLOGUE_CUH

#include "elementwise.cuh"
#include "matmul_decode_args.cuh"
#include "norm.cuh"

namespace m40::cuda {

// As MatmulPrologue's kinds.
enum : int { no_prologue = 0, norm_prologue = 1, activation_prologue = 2 };

// activated() of elementwise.cuh, of the two that gated layers of models have: all that stand here are in a product's
// loop.
__device__ __forceinline__ float prologue_activated(uint32_t activation, float x) { return activation == M40_ACTIVATION_GELU_TANH ? gelu_tanh(x) : silu(x); }

// What a norm multiplies a token's values by. The sum is norm.cuh's, to the bit: each warp here does the work of
// several of its warps, one after the other.
template <int T>
__device__ __forceinline__ void norm_scales(const MatmulDecodeArgs& args, uint32_t first_token, float (*sums)[norm_warps], float (&scales)[T]) {
  constexpr int kParts = norm_warps / static_cast<int>(decode_split_parts);
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int t = 0; t < T; t++) {
    const uint32_t token = first_token + t < args.n_tokens ? first_token + t : args.n_tokens - 1;
    const float* const from = args.input + size_t{token} * args.input_stride;
    float squares[kParts] = {};
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < args.columns; i += norm_threads) {
#pragma unroll
      for (int p = 0; p < kParts; p++) {
        const uint32_t k = i + p * (decode_split_parts * 32);
        const float value = k < args.columns ? from[k] : 0.0f;
        squares[p] = fmaf(value, value, squares[p]);
      }
    }
#pragma unroll
    for (int p = 0; p < kParts; p++) {
      const float sum = warp_sum(squares[p]);
      if (lane == 0) sums[t][p * decode_split_parts + warp] = sum;
    }
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < T; t++) {
    const float sum = warp_sum(lane < norm_warps ? sums[t][lane] : 0.0f);
    scales[t] = norm_scale(sum / static_cast<float>(args.columns), args.epsilon);
  }
}

// Each thread block writes a share of what the norm gives for the one token.
__device__ __forceinline__ void keep_normed(const MatmulDecodeArgs& args, uint32_t block, float scale) {
#pragma unroll 1
  for (uint32_t i = block * (decode_split_parts * 32) + threadIdx.x; i < args.columns; i += args.n_blocks * (decode_split_parts * 32)) {
    args.normed[i] = args.input[i] * scale * args.norm_weight[i];
  }
}

}  // namespace m40::cuda

#endif
