// Products of few tokens with packed pairs of activations. Rows, splits and parts are those of matmul_decode.cuh: a sum
// is added up in one order, whatever T and the number of tokens are.
#ifndef M40_KERNELS_MATMUL_DECODE_PACKED_CUH
#define M40_KERNELS_MATMUL_DECODE_PACKED_CUH

#include "matmul_decode.cuh"
#include "packed_walk.cuh"

namespace m40::cuda {

// Shared memory of a thread block: what its warps need to walk, and afterwards their sums, kSlots of a lane at a time.
template <uint32_t kType, int T, int R>
struct PackedSplitShared {
  static constexpr int kSlots = R * T < 16 ? R * T : 16;
  static constexpr int kWalk = packed_walk_floats<kType, T, R>();
  static constexpr int kFloats = static_cast<int>(decode_split_parts) * (kWalk > kSlots * 32 ? kWalk : kSlots * 32);
};

// Grid: pieces, as decode_tile_of() numbers them. args.input: the packed pairs, of which args.n_tokens are left.
template <uint32_t kType, int T, int R>
__device__ __forceinline__ void matmul_decode_packed(const MatmulDecodeArgs& args, BlockIndex block, float (&shared)[PackedSplitShared<kType, T, R>::kFloats], DecodeTile& tile,
                                                     bool& is_last) {
  using Shared = PackedSplitShared<kType, T, R>;
  const uint32_t token_blocks = (args.n_tokens + T - 1) / T, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) tile = decode_tile_of<T>(args, block.x, token_blocks);
  __syncthreads();
  float sums[R][T];
  clear(sums);
  {
    const DecodeWeight& w = args.weights[tile.which];
    const uint32_t n_blocks = packed_blocks(args.columns), n_parts = w.splits * decode_split_parts, part = tile.split * decode_split_parts + warp;
    const float* const pairs = args.input + size_t{tile.token_block} * n_blocks * PackedBlock<T, PackedFormat<kType>::kMinimums>::kFloats;
    packed_walk<kType, T, R>(w.weight, tile.row_set * (32 * R) + lane, pairs, part_start(n_blocks, part, n_parts), part_start(n_blocks, part + 1, n_parts),
                             shared + warp * Shared::kWalk, sums);
  }
#pragma unroll
  for (int from = 0; from < R * T; from += Shared::kSlots) {
    __syncthreads();
#pragma unroll
    for (int s = 0; s < Shared::kSlots; s++) shared[(warp * Shared::kSlots + s) * 32 + lane] = sums[(from + s) / T][(from + s) % T];
    __syncthreads();
    for (int s = warp; s < Shared::kSlots; s += decode_split_parts) {
      float sum = shared[s * 32 + lane];
#pragma unroll
      for (int p = 1; p < static_cast<int>(decode_split_parts); p++) sum += shared[(p * Shared::kSlots + s) * 32 + lane];
      const uint32_t row = tile.row_set * (32 * R) + (from + s) / T * 32 + lane, token = tile.token_block * T + (from + s) % T;
      decode_take(args, args.weights[tile.which], tile.split, row, token, sum);
    }
  }
  decode_add_splits<32 * R, T>(args, args.weights[tile.which], tile, token_blocks, is_last);
}

template <uint32_t kType, int T, int R, int kResidency>
__global__ __launch_bounds__(decode_split_parts * 32, kResidency) void matmul_decode_packed_kernel(MatmulDecodeArgs args) {
  __shared__ __align__(16) float shared[PackedSplitShared<kType, T, R>::kFloats];
  __shared__ DecodeTile tile;
  __shared__ bool is_last;
  matmul_decode_packed<kType, T, R>(args, launched_block(), shared, tile, is_last);
}

}  // namespace m40::cuda

#endif
