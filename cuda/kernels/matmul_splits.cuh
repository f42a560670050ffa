// Which piece of a product a thread block computes, and where its sums go: to the output or, with split-K, to scratch.
// The last thread block of a set of rows to finish adds the splits' sums in their order.
#ifndef M40_KERNELS_MATMUL_SPLITS_CUH
#define M40_KERNELS_MATMUL_SPLITS_CUH

#include "last_block.cuh"
#include "matmul_decode_args.cuh"
#include "matmul_finish.cuh"

namespace m40::cuda {

__device__ __forceinline__ uint32_t decode_weight_of(const MatmulDecodeArgs& args, uint32_t block) {
  uint32_t which = 0;
  if (args.n_weights > 1 && block >= args.weights[1].first_block) which = 1;
  if (args.n_weights > 2 && block >= args.weights[2].first_block) which = 2;
  return which;
}

// Which piece of a launch a thread block does.
struct DecodeTile {
  uint32_t which, row_set, split, token_block;
};

template <int kTokens>
__device__ __forceinline__ DecodeTile decode_tile_of(const MatmulDecodeArgs& args, uint32_t block, uint32_t token_blocks) {
  const uint32_t which = decode_weight_of(args, block);
  const DecodeWeight& w = args.weights[which];
  const uint32_t at = block - w.first_block;
  if constexpr (kTokens == 1) return {which, at >> (31 - __clz(w.splits)), at & (w.splits - 1), 0};  // splits: a power of two
  const uint32_t rest = at / token_blocks;
  return {which, rest / w.splits, rest % w.splits, at % token_blocks};
}

__device__ __forceinline__ void decode_finish(const MatmulDecodeArgs& args, const DecodeWeight& w, uint32_t row, uint32_t token, float value) {
  const size_t at = size_t{token} * args.output_stride + w.output_column + row;
  const float residual = args.residual == nullptr ? 0.0f : args.residual[at];
  args.output[at] = finished_sum(value, value_or(w.factor, 0, 1.0f), value_or(w.bias, row, 0.0f), args.scale, residual);
}

// A split's sum: to the output where there is one split, else to scratch.
__device__ __forceinline__ void decode_take(const MatmulDecodeArgs& args, const DecodeWeight& w, uint32_t split, uint32_t row, uint32_t token, float sum) {
  const uint32_t rows = w.weight.rows;
  if (row >= rows || token >= args.n_tokens) return;
  if (w.splits == 1) {
    decode_finish(args, w, row, token, sum);
  } else {
    args.partials[w.partials + (size_t{split} * args.n_tokens + token) * rows + row] = sum;
  }
}

// Adds the splits' sums, kWide rows of a thread at a time and kEach such groups. All loads of the groups are under way
// at once: one after the other, they would cost more time than all else here.
template <int kWide, int kEach, uint32_t kRows, uint32_t kSums>
__device__ __forceinline__ void add_split_sums(const MatmulDecodeArgs& args, const DecodeWeight& w, uint32_t first_row, uint32_t first_token) {
  constexpr uint32_t kThreads = decode_split_parts * 32;
  const uint32_t rows = w.weight.rows;
  const size_t stride = size_t{args.n_tokens} * rows;
  const float factor = value_or(w.factor, 0, 1.0f);
#pragma unroll 1
  for (uint32_t from = threadIdx.x * kWide; from < kSums; from += kThreads * kWide * kEach) {
    float sums[kEach][kWide], added[kEach][kWide];
    size_t at[kEach];
    bool inside[kEach];
#pragma unroll
    for (int e = 0; e < kEach; e++) {
      const uint32_t i = from + e * (kThreads * kWide), row = first_row + i % kRows, token = first_token + i / kRows;
      inside[e] = i < kSums && row < rows && token < args.n_tokens;
      at[e] = size_t{token} * args.output_stride + w.output_column + row;
      const float* const partials = args.partials + w.partials + size_t{token} * rows + row;
      float parts[most_splits][kWide];
#pragma unroll
      for (uint32_t s = 0; s < most_splits; s++) {
        const bool wanted = inside[e] && s < w.splits;
        if constexpr (kWide == 4) {
          const float4 v = wanted ? __ldcg(reinterpret_cast<const float4*>(partials + s * stride)) : make_float4(0, 0, 0, 0);
          parts[s][0] = v.x, parts[s][1] = v.y, parts[s][2] = v.z, parts[s][3] = v.w;
        } else {
          parts[s][0] = wanted ? __ldcg(partials + s * stride) : 0.0f;
        }
      }
#pragma unroll
      for (int k = 0; k < kWide; k++) {
        added[e][k] = inside[e] && args.residual != nullptr ? args.residual[at[e] + k] : 0.0f;
        sums[e][k] = parts[0][k];
#pragma unroll
        for (uint32_t s = 1; s < most_splits; s++) {
          if (s < w.splits) sums[e][k] += parts[s][k];
        }
        sums[e][k] = finished_sum(sums[e][k], factor, inside[e] ? value_or(w.bias, row + k, 0.0f) : 0.0f, args.scale, added[e][k]);
      }
    }
#pragma unroll
    for (int e = 0; e < kEach; e++) {
      if (!inside[e]) continue;
#pragma unroll
      for (int k = 0; k < kWide; k++) args.output[at[e] + k] = sums[e][k];
    }
  }
}

// The last thread block of a tile to get here adds the splits' sums.
template <int kRows, int kTokens>
__device__ __forceinline__ void decode_add_splits(const MatmulDecodeArgs& args, const DecodeWeight& w, const DecodeTile& tile, uint32_t token_blocks, bool& is_last) {
  if (w.splits == 1) return;
  if (!is_last_block(args.counters + w.first_counter + tile.row_set * token_blocks + tile.token_block, w.splits, is_last)) return;
  const uint32_t first_row = tile.row_set * kRows, first_token = tile.token_block * kTokens;
  constexpr uint32_t kSums = kRows * kTokens, kThreads = decode_split_parts * 32, kOnes = (kSums + kThreads - 1) / kThreads;
  if (kSums >= 4 * kThreads && w.weight.rows % 4 == 0) {
    add_split_sums<4, (kSums + 4 * kThreads - 1) / (4 * kThreads), kRows, kSums>(args, w, first_row, first_token);
  } else {
    add_split_sums<1, kOnes < 4 ? kOnes : 4, kRows, kSums>(args, w, first_row, first_token);
  }
}

}  // namespace m40::cuda

#endif
