// The arguments of decode attention over long rows, the shapes of its thread blocks, and the query heads that each
// takes.
#ifndef M40_KERNELS_ATTENTION_WIDE_ARGS_CUH
#define M40_KERNELS_ATTENTION_WIDE_ARGS_CUH

#include "attention_decode_args.cuh"

namespace m40::cuda {

constexpr uint32_t wide_key_dim = 576;     // at most
constexpr uint32_t wide_value_dim = 512;   // at most
constexpr int wide_fours = wide_value_dim / 128;  // loads of four values that a lane's share of 512 takes

// partials: [tokens][n_kv_heads * head_tiles][decode_most_chunks][chunk_floats(tile_heads, padded_head_dim(V))].
struct AttentionWideArgs : AttentionKernelArgs {
  uint32_t tile_heads;  // query heads of a block, at most
  uint32_t head_warps;  // warps that share them
  uint32_t warp_heads;  // of them, a warp's, at most
};

// KeyWarps: warps for the same heads. A multiprocessor has registers for eight warps, two for each of its schedulers,
// so that a block of many heads has four, of five heads each.
template <uint32_t Type, int KeyWarps>
struct AttentionWideShape {
  static constexpr int keys = Type == M40_TYPE_F32 ? 4 : 8;  // positions in shared memory
  static constexpr int rows = keys / KeyWarps;               // of them, a warp's
  static constexpr int part = rows < 4 ? rows : 4;           // of those, whose products are added together
  static constexpr int warps = KeyWarps == 1 ? 4 : 8;        // of a block, at most
  static constexpr int heads = KeyWarps == 1 ? 5 : 4;        // of a warp, at most
  // Of a tile, what a thread has under way: rows, and pieces of 8 values of each.
  static constexpr int staged_rows = keys / 4, staged_pieces = KeyWarps == 1 ? 3 : 4;
};

// Weights of a row for each head stand this far apart.
constexpr uint32_t wide_weight_stride = 8;

template <class Shape>
struct AttentionWideShared {
  __align__(16) float keys[Shape::keys][wide_key_dim];
  __align__(16) float values[Shape::keys][wide_value_dim];  // where V are not the first values of K; sums at a chunk's end
  __align__(16) float weights[Shape::warps][Shape::rows][wide_weight_stride];
  float shrinks[Shape::warps][wide_weight_stride];
  float statistics[Shape::warps][Shape::heads][2];
  __align__(8) float query_ends[Shape::warps][Shape::heads][wide_key_dim - wide_value_dim];  // for which there are no registers
  DecodePositions positions;
  uint32_t kv_blocks[2][Shape::keys];  // of the positions of a tile and of the next, in turn
  bool is_last;
};

// The query heads of a block.
struct WideHeads {
  const AttentionWideArgs& args;
  const BlockIndex& block;

  __device__ __forceinline__ uint32_t kv_head() const { return block.y / args.head_tiles; }
  __device__ __forceinline__ uint32_t first_in_group() const { return block.y % args.head_tiles * args.tile_heads; }
  __device__ __forceinline__ uint32_t first() const { return kv_head() * args.group + first_in_group(); }
  __device__ __forceinline__ uint32_t count() const { return min(args.tile_heads, args.group - first_in_group()); }
  __device__ __forceinline__ const float* sinks() const { return args.sinks == nullptr ? nullptr : args.sinks + first(); }
  __device__ __forceinline__ float* output() const {
    return args.output + uint64_t{block.z} * args.output_stride + uint64_t{first()} * args.cache.value_dim;
  }
};

}  // namespace m40::cuda

#endif
