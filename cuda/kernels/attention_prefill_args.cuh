// What the attention of prompts' chunks is told, and the shapes of its tiles.
#ifndef M40_KERNELS_ATTENTION_PREFILL_ARGS_CUH
#define M40_KERNELS_ATTENTION_PREFILL_ARGS_CUH

#include <math.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../runtime/device.h"
#include "kv_cache.cuh"

namespace m40::cuda {

constexpr uint32_t prefill_threads = 128;
constexpr uint32_t prefill_keys = 64;    // positions of a tile
constexpr uint64_t no_place = ~uint64_t{0};
constexpr uint32_t prefill_slice = 16;   // dimensions of K, or positions of V, that are staged at a time

struct AttentionArgsPrefill {
  CacheLayer cache;
  const float* qkv;      // row 0 is the first prompt token's
  uint32_t qkv_stride;
  float* output;
  uint32_t output_stride;
  const uint32_t* positions;
  const uint32_t* sequences;
  const uint32_t* page_table;
  uint32_t page_stride;
  uint32_t n_tokens;
  uint32_t group;        // query heads of a KV head
  uint32_t tile_tokens;  // tokens of a tile: their group heads each are its rows
  uint32_t tile_heads;   // of group, in a tile
  uint32_t head_tiles;   // tiles that share a KV head's query heads
  uint32_t window;
  float scale;
  float softcap;
  bool aligned;          // rows of q and of the output may be read 16 bytes at a time
  uint32_t span;         // positions
  uint32_t tile_slots;   // the spans that a tile has at most where thread blocks share them, else 1
  float* partials;       // [tiles][tile_slots] slots of PrefillShape::slot_floats
  uint32_t* counters;    // of tiles, 0 before and after
};

// 128 threads as 8 x 16: a thread has Rows rows, of the scores 4 positions, of the result 4 * Groups dimensions
// (4 of each 64).
template <int Rows, int Groups>
struct PrefillShape {
  static constexpr int rows = 8 * Rows;
  static constexpr int head_dim = 64 * Groups;  // at most
  static constexpr int query_values = prefill_slice * rows / prefill_threads;  // of a slice, a thread
  static constexpr int value_loads = prefill_slice * head_dim / 8 / prefill_threads;
  static constexpr int product_floats = prefill_slice * (rows + prefill_keys);
  static constexpr int value_floats = prefill_slice * head_dim;
  static constexpr int stage_floats = product_floats > value_floats ? product_floats : value_floats;
  static constexpr int slot_floats = rows * (2 + head_dim);
};

}  // namespace m40::cuda

#endif
