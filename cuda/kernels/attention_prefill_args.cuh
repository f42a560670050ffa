// What the attention of prompts' chunks is told, and the shapes of its tiles.
#ifndef M40_KERNELS_ATTENTION_PREFILL_ARGS_CUH
#define M40_KERNELS_ATTENTION_PREFILL_ARGS_CUH

#include <stdint.h>

#include "../include/m40.h"
#include "../runtime/device.h"
#include "attention_args.cuh"

namespace m40::cuda {

constexpr uint32_t attention_prefill_threads = 128;
constexpr uint32_t attention_prefill_keys = 64;    // positions of a tile
constexpr uint64_t not_read = ~uint64_t{0};
constexpr uint32_t attention_prefill_slice = 16;   // dimensions of K, or positions of V, that are staged at a time

// partials: [tiles][tile_slots] slots of AttentionPrefillShape::slot_floats.
struct AttentionPrefillArgs : AttentionKernelArgs {
  uint32_t n_tokens;
  uint32_t tile_tokens;  // tokens of a tile: their group heads each are its rows
  uint32_t tile_heads;   // of group, in a tile
  bool aligned;          // rows of q and of the output may be read 16 bytes at a time
  uint32_t span;         // positions
  uint32_t tile_slots;   // the spans that a tile has at most where thread blocks share them, else 1
};

// 128 threads as 8 x 16: a thread has Rows rows, of the scores 4 positions, of the result 4 * Groups dimensions
// (4 of each 64).
template <int Rows, int Groups>
struct AttentionPrefillShape {
  static constexpr int rows = 8 * Rows;
  static constexpr int head_dim = 64 * Groups;  // at most
  static constexpr int query_values = attention_prefill_slice * rows / attention_prefill_threads;  // of a slice, a thread
  static constexpr int value_loads = attention_prefill_slice * head_dim / 8 / attention_prefill_threads;
  static constexpr int product_floats = attention_prefill_slice * (rows + attention_prefill_keys);
  static constexpr int value_floats = attention_prefill_slice * head_dim;
  static constexpr int stage_floats = product_floats > value_floats ? product_floats : value_floats;
  static constexpr int slot_floats = rows * (2 + head_dim);
};

}  // namespace m40::cuda

#endif
