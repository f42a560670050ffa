// The arguments of prefill attention, and the shapes of its tiles.
#ifndef M40_KERNELS_ATTENTION_PREFILL_ARGS_CUH
#define M40_KERNELS_ATTENTION_PREFILL_ARGS_CUH

#include <stdint.h>

#include "../include/m40.h"
#include "../gpu/device.h"
#include "attention_args.cuh"
#include "block.cuh"

namespace m40::cuda {

constexpr uint32_t attention_prefill_threads = 128;
constexpr uint32_t attention_prefill_residency = 2;  // blocks a multiprocessor that there are registers for
constexpr uint32_t attention_prefill_keys = 64;    // positions of a tile
constexpr uint32_t attention_prefill_slice = 16;   // dimensions of q and K that are staged at a time

// partials: [tiles][tile_slots] slots of AttentionPrefillShape::slot_floats.
struct AttentionPrefillArgs : AttentionKernelArgs {
  uint32_t n_tokens;
  uint32_t tile_tokens;  // tokens of a tile: their group heads each are its rows
  uint32_t tile_heads;   // of group, in a tile
  bool aligned;          // rows of q and of the output may be read 16 bytes at a time
  uint32_t span;         // positions
  GridSize grid;         // of all tiles, where fewer thread blocks go through them
  uint32_t tile_slots;   // the spans that a tile has at most where thread blocks share them, else 1
};

// 128 threads as 8 x 16: a thread has Rows rows, of the scores 4 positions, of the result 4 * Groups dimensions
// (4 of each 64). Wide: K and V may be of different lengths, K of any.
template <int Rows, int Groups, bool Wide = false>
struct AttentionPrefillShape {
  static constexpr bool wide = Wide;
  static constexpr int thread_rows = Rows, groups = Groups;
  static constexpr int rows = 8 * Rows;
  static constexpr int value_dim = 64 * Groups;  // at most
  static constexpr int value_slice = value_dim > 256 ? 8 : 16;  // positions of V that are staged at a time
  static constexpr int query_values = attention_prefill_slice * rows / attention_prefill_threads;  // of a slice, a thread
  static constexpr int value_loads = value_slice * value_dim / 8 / attention_prefill_threads;
  static constexpr int product_floats = attention_prefill_slice * (rows + attention_prefill_keys);
  static constexpr int value_floats = value_slice * value_dim;
  static constexpr int stage_floats = product_floats > value_floats ? product_floats : value_floats;
  static constexpr int slot_floats = rows * (2 + value_dim);
};

template <uint32_t Type, class Shape>
struct AttentionPrefillShared {
  __align__(16) float stages[2][Shape::stage_floats];
  __align__(16) float weights[attention_prefill_keys * Shape::rows];  // [position][row]
  uint32_t queries[Shape::rows];  // elements from args.q to a row's query, or to another's
  uint2 bounds[Shape::rows];      // the positions that a row attends to: from x up to y, without y
  float2 running[Shape::rows];    // of a span, a row's largest score, and its sum of weights
  // Bytes from KV block 0's K to the rows of a tile's positions, and to their scales: of this tile and of the next, in
  // turn.
  uint64_t places[2][attention_prefill_keys];
  uint64_t scale_places[2][KvValues<Type>::scaled ? attention_prefill_keys : 1];
  // The same of V, where they are not those of K and a constant.
  uint64_t value_places[2][Shape::wide ? attention_prefill_keys : 1];
  uint64_t value_scale_places[2][Shape::wide && KvValues<Type>::scaled ? attention_prefill_keys : 1];
  struct {
    uint32_t sequence;
    uint32_t begin, end;  // positions that are read: from begin up to end, without end
    uint32_t next;        // the next segment's first token
  } segment;
  bool is_last;
};

// The tokens and heads of a tile's rows. They are computed where they are needed, as registers are short. Tiles of
// tokens are numbered from the last, which has the most work.
struct AttentionPrefillTile {
  const AttentionPrefillArgs& args;
  const BlockIndex& block;
  const GridSize& grid;

  __device__ __forceinline__ uint32_t kv_head() const { return block.y / args.head_tiles; }
  __device__ __forceinline__ uint32_t first_in_group() const { return block.y % args.head_tiles * args.tile_heads; }
  __device__ __forceinline__ uint32_t first_head() const { return kv_head() * args.group + first_in_group(); }
  __device__ __forceinline__ uint32_t n_heads() const { return min(args.tile_heads, args.group - first_in_group()); }
  __device__ __forceinline__ uint32_t first_token() const { return (grid.x - 1 - block.x) * args.tile_tokens; }
  __device__ __forceinline__ uint32_t end_token() const { return min(first_token() + args.tile_tokens, args.n_tokens); }
  __device__ __forceinline__ uint32_t index() const { return block.y * grid.x + block.x; }
  // Scratch for a span's sums.
  template <class Shape>
  __device__ __forceinline__ float* slot(uint32_t i) const {
    return args.partials + (index() * args.tile_slots + i) * uint64_t{Shape::slot_floats};
  }
};

}  // namespace m40::cuda

#endif
