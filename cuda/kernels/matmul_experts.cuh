// Products of rows with the weights of an expert each.
#ifndef M40_KERNELS_MATMUL_EXPERTS_CUH
#define M40_KERNELS_MATMUL_EXPERTS_CUH

#include "matmul_decode.cuh"

namespace m40::cuda {

// Each row of the output with the weights of its own expert.
struct MatmulExpertsArgs {
  MatmulDecodeArgs decode;  // n_tokens: rows of the output
  const uint32_t* experts;
  uint32_t experts_stride;
  uint32_t n_used;
  bool input_per_slot;
};

template <uint32_t kType, int R>
struct MatmulExpertsShared {
  __align__(16) float split[DecodeSplitShared<kType, 1, R>::kFloats];
};

// Grid: sets of 32 * R rows, rows of the output. A block does all splits of its rows, one after the other.
template <uint32_t kType, int R>
__device__ __forceinline__ void matmul_experts(const MatmulExpertsArgs& args, BlockIndex block, MatmulExpertsShared<kType, R>& shared) {
  const DecodeWeight& w = args.decode.weights[0];
  const uint32_t slot = block.y, token = slot / args.n_used;
  const uint32_t expert = __ldg(args.experts + size_t{token} * args.experts_stride + slot % args.n_used);
  if (expert >= w.weight.n_experts) return;
  const PackedWeight weight = packed_expert(w.weight, expert);
  const uint32_t first_row = block.x * (32 * R);
  static_assert(R <= static_cast<int>(decode_split_parts), "a thread has one sum at most");
  float total = 0;
  for (uint32_t split = 0; split < w.splits; split++) {
    if (split > 0) __syncthreads();
    decode_split<kType, 1, R, no_prologue>(args.decode, weight, first_row, args.input_per_slot ? slot : token, split, w.splits, shared.split, [](float(&)[1]) {},
                              [&](uint32_t, float sum) { total = split == 0 ? sum : total + sum; });
  }
  const uint32_t row = first_row + threadIdx.x;
  if (threadIdx.x < 32 * R && row < weight.rows) decode_finish(args.decode, w, row, slot, total);
}

template <uint32_t kType, int R, int kResidency>
__global__ __launch_bounds__(decode_split_parts * 32, kResidency) void matmul_experts_kernel(MatmulExpertsArgs args) {
  __shared__ MatmulExpertsShared<kType, R> shared;
  matmul_experts<kType, R>(args, launched_block(), shared);
}

}  // namespace m40::cuda

#endif
