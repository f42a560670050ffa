// Products of prompts with packed pairs of activations.
//
// A warp has 128 rows and T tokens, and walks all columns of a split alone (packed_walk.cuh). The warps of a thread
// block have groups of tokens of the same rows, as many as there are: they read the same weights, which stay in the
// cache of a multiprocessor. Where there are fewer groups than warps, others have the next rows. Splits are those of
// matmul_prefill.cuh: a sum goes over each split from its first column to its last, then over the splits.
#ifndef M40_KERNELS_MATMUL_PREFILL_PACKED_CUH
#define M40_KERNELS_MATMUL_PREFILL_PACKED_CUH

#include "block.cuh"
#include "matmul_splits.cuh"
#include "packed_walk.cuh"

namespace m40::cuda {

constexpr uint32_t packed_prefill_warps = decode_split_parts;  // whose threads add the splits' sums
constexpr int packed_prefill_row_groups = 4;

// Tokens of a thread block at most.
__host__ __device__ constexpr uint32_t packed_prefill_tile(int tokens) { return packed_prefill_warps * static_cast<uint32_t>(tokens); }

struct MatmulPrefillPackedArgs {
  MatmulDecodeArgs product;  // its input: the packed pairs
  uint32_t groups;           // of T tokens that a thread block has: 1, 2, 4 or 8
};

template <uint32_t kType, int T>
struct MatmulPrefillPackedShared {
  __align__(16) float floats[packed_prefill_warps * packed_walk_floats<kType, T, packed_prefill_row_groups>()];
  DecodeTile tile;
  bool is_last;
};

// What is added to sums, and where sums go: of four tokens at a time all loads are under way at once.
template <int T, int R>
__device__ __forceinline__ void packed_prefill_finish(const MatmulDecodeArgs& args, const DecodeWeight& w, uint32_t first_row, uint32_t first_token, const float (&sums)[R][T]) {
  constexpr int kFew = T < 4 ? T : 4;
  const float factor = value_or(w.factor, 0, 1.0f);
  float bias[R];
#pragma unroll
  for (int r = 0; r < R; r++) bias[r] = w.bias != nullptr && first_row + 32 * r < w.weight.rows ? __ldg(w.bias + first_row + 32 * r) : 0.0f;
#pragma unroll
  for (int from = 0; from < T; from += kFew) {
    float residual[R][kFew] = {};
    if (args.residual != nullptr) {
#pragma unroll
      for (int t = 0; t < kFew; t++) {
#pragma unroll
        for (int r = 0; r < R; r++) {
          const uint32_t row = first_row + 32 * r, token = first_token + from + t;
          if (row < w.weight.rows && token < args.n_tokens) residual[r][t] = args.residual[size_t{token} * args.output_stride + w.output_column + row];
        }
      }
    }
#pragma unroll
    for (int t = 0; t < kFew; t++) {
#pragma unroll
      for (int r = 0; r < R; r++) {
        const uint32_t row = first_row + 32 * r, token = first_token + from + t;
        if (row >= w.weight.rows || token >= args.n_tokens) continue;
        args.output[size_t{token} * args.output_stride + w.output_column + row] = finished_sum(sums[r][from + t], factor, bias[r], args.scale, residual[r][t]);
      }
    }
  }
}

// Grid: pieces, as decode_tile_of() numbers them for tiles of groups * T tokens and of the rows of all warps.
template <uint32_t kType, int T>
__device__ __forceinline__ void matmul_prefill_packed(const MatmulPrefillPackedArgs& given, uint32_t block, MatmulPrefillPackedShared<kType, T>& shared) {
  constexpr int R = packed_prefill_row_groups;
  constexpr uint32_t kTokens = packed_prefill_tile(T);
  const MatmulDecodeArgs& args = given.product;
  const uint32_t tile_tokens = given.groups * T, token_tiles = (args.n_tokens + tile_tokens - 1) / tile_tokens, sets = packed_prefill_warps / given.groups;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (threadIdx.x == 0) shared.tile = decode_tile_of<static_cast<int>(kTokens)>(args, block, token_tiles);
  __syncthreads();
  const uint32_t first_token = shared.tile.token_block * tile_tokens + warp % given.groups * T, row_set = shared.tile.row_set * sets + warp / given.groups;
  if (first_token < args.n_tokens && row_set * (32 * R) < args.weights[shared.tile.which].weight.rows) {
    float sums[R][T];
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
      for (int t = 0; t < T; t++) sums[r][t] = 0.0f;
    }
    {
      const DecodeWeight& w = args.weights[shared.tile.which];
      const uint32_t n_blocks = packed_blocks(args.columns), split = shared.tile.split;
      const float* const pairs = args.input + size_t{first_token / T} * n_blocks * PackedBlock<T, PackedFormat<kType>::kMinimums>::kFloats;
      packed_walk<kType, T, R>(w.weight, row_set * (32 * R) + lane, pairs, n_blocks * split / w.splits, n_blocks * (split + 1) / w.splits,
                               shared.floats + warp * packed_walk_floats<kType, T, R>(), sums);
    }
    const DecodeWeight& w = args.weights[shared.tile.which];
    const uint32_t first_row = row_set * (32 * R) + lane;
    if (w.splits == 1) {
      packed_prefill_finish<T, R>(args, w, first_row, first_token, sums);
    } else {
#pragma unroll
      for (int t = 0; t < T; t++) {
#pragma unroll
        for (int r = 0; r < R; r++) {
          const uint32_t row = first_row + 32 * r, token = first_token + t;
          if (row < w.weight.rows && token < args.n_tokens) args.partials[w.partials + (size_t{shared.tile.split} * args.n_tokens + token) * w.weight.rows + row] = sums[r][t];
        }
      }
    }
  }
  const DecodeWeight& w = args.weights[shared.tile.which];
  if (w.splits == 1 || !is_last_block(args.counters + w.first_counter + shared.tile.row_set * token_tiles + shared.tile.token_block, w.splits, shared.is_last)) return;
#pragma unroll 1
  for (uint32_t set = 0; set < sets; set++) {
    const uint32_t first_row = (shared.tile.row_set * sets + set) * (32 * R), first = shared.tile.token_block * tile_tokens;
    if (w.weight.rows % 4 == 0) {
      add_split_sums<4, 2, 32 * R, 32 * R * kTokens>(args, w, first_row, first);
    } else {
      add_split_sums<1, 4, 32 * R, 32 * R * kTokens>(args, w, first_row, first);
    }
  }
}

template <uint32_t kType, int T, int kResidency>
__global__ __launch_bounds__(packed_prefill_warps * 32, kResidency) void matmul_prefill_packed_kernel(MatmulPrefillPackedArgs args) {
  __shared__ MatmulPrefillPackedShared<kType, T> shared;
  __shared__ uint32_t at;
  walk_blocks(args.product.n_blocks, at, [&](uint32_t block) { matmul_prefill_packed<kType, T>(args, block, shared); });
}

}  // namespace m40::cuda

#endif
