// Products of rows with the weights of an expert each, with packed pairs of activations: the tiles, parts and sums of
// matmul_experts.cuh, of decoded rows and, each warp over all columns, of prompts' rows.
//
// Which rows are partners follows from a tile's slots, so the pairs are made tile by tile, for as many slots as it has.
#ifndef M40_KERNELS_MATMUL_EXPERTS_PACKED_CUH
#define M40_KERNELS_MATMUL_EXPERTS_PACKED_CUH

#include "matmul_experts.cuh"
#include "packed_inputs.cuh"
#include "packed_walk.cuh"

namespace m40::cuda {

struct MatmulExpertsPackedArgs {
  MatmulExpertsArgs experts;
  float* pairs;         // [tiles][columns / 32][packed_expert_floats() of tile_slots], of which a tile's slots may take less
  uint32_t n_tiles;
  uint32_t tile_slots;  // that the pairs have room for: 1 where each slot is a tile, or expert_tile_rows
  uint32_t n_blocks;    // of the product; of the pairs' launch: packed_expert_inputs_blocks()
};

// Of so many slots: a power of two.
__host__ __device__ inline uint32_t packed_expert_tokens(uint32_t count) { return count > 4 ? 8 : count > 2 ? 4 : count > 1 ? 2 : 1; }

template <uint32_t kType>
__host__ __device__ constexpr int packed_expert_floats(uint32_t tile_slots) {
  return PackedLayoutOf(static_cast<int>(tile_slots), PackedFormat<kType>::kMinimums).floats;
}

__device__ __forceinline__ ExpertTile packed_expert_tile(const MatmulExpertsArgs& args, uint32_t number) {
  const ExpertGroups& groups = args.groups;
  if (groups.tiles != nullptr) return groups.tiles[number];
  return {__ldg(args.experts + size_t{number / groups.n_used} * args.experts_stride + number % groups.n_used), number, number + 1};
}

inline uint64_t packed_expert_inputs_blocks(uint32_t n_tiles, uint32_t tile_slots, uint32_t columns) {
  return (uint64_t{n_tiles} * (columns / 32) * ((tile_slots + 1) / 2) * 8 + packed_inputs_threads - 1) / packed_inputs_threads;
}

template <uint32_t kType>
__device__ __forceinline__ void packed_expert_inputs(const MatmulExpertsPackedArgs& args, uint32_t block) {
  const MatmulExpertsArgs& experts = args.experts;
  const uint32_t n_blocks = experts.decode.columns / 32, most_pairs = (args.tile_slots + 1) / 2;
  const uint64_t item = (uint64_t{block} * packed_inputs_threads + threadIdx.x) / 8, of = item / most_pairs;
  const uint32_t pair = static_cast<uint32_t>(item % most_pairs), in_row = static_cast<uint32_t>(of % n_blocks), number = static_cast<uint32_t>(of / n_blocks);
  ExpertTile tile = {};
  if (number < args.n_tiles) tile = packed_expert_tile(experts, number);
  const uint32_t count = tile.end - tile.first, tokens = packed_expert_tokens(count);
  const float* x[2];
#pragma unroll
  for (uint32_t h = 0; h < 2; h++) {
    x[h] = nullptr;
    if (2 * pair + h >= count) continue;
    const uint32_t place = tile.first + 2 * pair + h, slot = experts.groups.slots != nullptr ? __ldg(experts.groups.slots + place) : place;
    x[h] = experts.decode.input + size_t{experts.input_per_slot ? slot : slot / experts.groups.n_used} * experts.decode.input_stride + in_row * 32;
  }
  const int there = count == 0 ? 32 : static_cast<int>(pair);  // no tile has as many pairs
  pack_pair<kType>(x, loads_fours(experts.decode.input, experts.decode.input_stride), threadIdx.x % 8, static_cast<int>(tokens), there,
                   args.pairs + size_t{number} * n_blocks * packed_expert_floats<kType>(args.tile_slots) + in_row * packed_expert_floats<kType>(tokens));
}

template <uint32_t kType>
__global__ __launch_bounds__(packed_inputs_threads) void packed_expert_inputs_kernel(MatmulExpertsPackedArgs args) {
  __shared__ uint32_t at;
  walk_blocks(args.n_blocks, at, [&](uint32_t block) { packed_expert_inputs<kType>(args, block); });
}

// Floats of shared memory of T slots a tile.
template <uint32_t kType, int T, int R>
struct PackedExpertShared {
  static constexpr int kWalk = packed_walk_floats<kType, T, R>();
  static constexpr int kFloats = 2 * static_cast<int>(expert_parts) * larger(kWalk, expert_sum_slots<T, R>() * 32);
};

template <uint32_t kType, int R, int kMost>
struct MatmulExpertsPackedShared {
  __align__(16) float floats[larger(PackedExpertShared<kType, kMost, R>::kFloats, PackedExpertShared<kType, 1, R>::kFloats)];
  ExpertPiece piece;
};

template <uint32_t kType, int T, int R>
__device__ __forceinline__ void packed_expert_product(const MatmulExpertsArgs& args, const ExpertPiece& piece, const float* pairs, float* shared) {
  float sums[R][T];
  clear(sums);
  {
    const ExpertUnits units(args.parts, args.decode.n_weights);
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, unit = warp / units.warps, part = warp % units.warps;
    const uint32_t w = units.weight_of(unit);
    const PackedWeight& all = args.decode.weights[w].weight;
    const uint32_t n_blocks = packed_blocks(args.decode.columns), begin = part_start(n_blocks, part, args.parts), end = part_start(n_blocks, part + 1, args.parts);
    const uint32_t first_row = units.row_set_of(piece.row_block, unit) * (32 * R);
    if (begin < end && first_row < all.rows) {
      const PackedWeight weight = {kType, 1, all.rows, args.decode.columns, {piece.planes[w][0], piece.planes[w][1]}};
      packed_walk<kType, T, R>(weight, first_row + lane, pairs, begin, end, shared + warp * PackedExpertShared<kType, T, R>::kWalk, sums);
    }
  }
  store_expert_sums<T, R>(args, piece, shared, sums);
}

// Grid: tiles times row_blocks. kMost: 1 where tiles have one slot each, or expert_tile_rows.
template <uint32_t kType, int R, int kMost>
__device__ __forceinline__ void matmul_experts_packed(const MatmulExpertsPackedArgs& given, uint32_t block, MatmulExpertsPackedShared<kType, R, kMost>& shared) {
  const MatmulExpertsArgs& args = given.experts;
  ExpertPiece& piece = shared.piece;
  const uint32_t number = block / args.row_blocks;
  const ExpertTile tile = packed_expert_tile(args, number);
  if (tile.first == tile.end || tile.expert >= args.n_experts) return;
  if (threadIdx.x < args.decode.n_weights) {
    const PackedWeight weight = packed_expert(args.decode.weights[threadIdx.x].weight, args.shared[threadIdx.x], tile.expert);
    piece.planes[threadIdx.x][0] = weight.planes[0], piece.planes[threadIdx.x][1] = weight.planes[1];
  }
  if (threadIdx.x < expert_tile_rows) {
    const uint32_t place = min(tile.first + threadIdx.x, tile.end - 1);
    piece.slots[threadIdx.x] = args.groups.slots != nullptr ? __ldg(args.groups.slots + place) : place;
    if (threadIdx.x == 0) {
      piece.expert = tile.expert, piece.row_block = block % args.row_blocks;
      piece.first = tile.first, piece.count = tile.end - tile.first, piece.end = tile.end;
    }
  }
  if (args.copied != 0 && block % args.row_blocks == 0) copy_behind(args, tile);
  __syncthreads();
  const float* const pairs = given.pairs + size_t{number} * (args.decode.columns / 32) * packed_expert_floats<kType>(kMost);
  const uint32_t tokens = kMost == 1 ? 1 : packed_expert_tokens(piece.count);
  if (kMost > 4 && tokens == 8) {
    packed_expert_product<kType, kMost < 8 ? 1 : 8, R>(args, piece, pairs, shared.floats);
  } else if (kMost > 2 && tokens == 4) {
    packed_expert_product<kType, kMost < 4 ? 1 : 4, R>(args, piece, pairs, shared.floats);
  } else if (kMost > 1 && tokens == 2) {
    packed_expert_product<kType, kMost < 2 ? 1 : 2, R>(args, piece, pairs, shared.floats);
  } else {
    packed_expert_product<kType, 1, R>(args, piece, pairs, shared.floats);
  }
  if (args.sum.output != nullptr) add_slots<R>(args, piece);
}

template <uint32_t kType, int R, int kMost, int kResidency>
__global__ __launch_bounds__(expert_threads, kResidency) void matmul_experts_packed_kernel(MatmulExpertsPackedArgs args) {
  __shared__ MatmulExpertsPackedShared<kType, R, kMost> shared;
  __shared__ uint32_t at;
  walk_blocks(args.n_blocks, at, [&](uint32_t block) { matmul_experts_packed<kType, R, kMost>(args, block, shared); });
}

}  // namespace m40::cuda

#endif
