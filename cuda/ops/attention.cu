// Chooses the attention kernels: by what is decoded and what is a prompt's, by the cache's type, the dimensions of K
// and V and the query heads of a KV head.
#include <algorithm>
#include <type_traits>

#include "../kernels/attention_decode.cuh"
#include "../kernels/attention_prefill.cuh"
#include "../kernels/attention_wide.cuh"
#include "../common/error.h"
#include "launch_list.h"
#include "cache_layer.h"
#include "multiprocessors.h"
#include "ops.h"
#include "rope_parameters.h"

namespace m40::cuda {

namespace {

constexpr uint32_t most_head_dim = 256;        // of the kernels for K and V of one length; the wide ones take what is beyond
constexpr uint32_t decode_blocks = 12;         // a multiprocessor: beyond, blocks take several chunks
constexpr uint32_t most_fused_tokens = 8;      // beyond, rotating queries in every block costs more than a launch
constexpr uint64_t most_span_floats = uint64_t{8} << 20;  // of scratch that spans of a prompt's positions may take

uint32_t tiles(uint32_t n, uint32_t tile) { return (n + tile - 1) / tile; }

// Whether the wide kernels compute it: decoded tokens those of attention_wide.cuh.
bool is_wide(const m40_op_attention& op) { return op.head_dim > most_head_dim || op.value_dim != op.head_dim; }

// How many positions a token attends to at most.
uint32_t reach(const m40_op_attention& op) { return op.chunk != 0 ? op.chunk : op.window != 0 ? op.window : UINT32_MAX; }

// How the query heads of a KV head go over the thread blocks and warps of decoded tokens.
struct DecodeTiles {
  uint32_t tile_heads;  // that a block computes, or has room for
  uint32_t head_tiles;  // blocks that share a KV head's
  // Of the wide kernel: warps for the same heads, and those that share a block's.
  uint32_t key_warps = 1, head_warps = 1;

  explicit DecodeTiles(const m40_op_attention& op) {
    const uint32_t group = op.n_heads / op.n_kv_heads;
    if (is_wide(op)) {
      using Few = AttentionWideShape<M40_TYPE_F16, 4>;
      using Many = AttentionWideShape<M40_TYPE_F16, 1>;
      key_warps = group <= Few::heads * Few::warps / 4 ? 4 : 1;
      head_tiles = key_warps == 1 ? tiles(group, Many::heads * Many::warps) : 1;
      tile_heads = tiles(group, head_tiles);
      head_warps = key_warps == 1 ? Many::warps : tiles(group, Few::heads);
    } else {
      tile_heads = group <= 1 ? 1 : group <= 2 ? 2 : group <= 4 ? 4 : 8;
      head_tiles = tiles(group, tile_heads);
    }
  }
  uint64_t slot_floats(uint32_t value_dim) const { return uint64_t{decode_most_chunks} * chunk_floats(tile_heads, padded_head_dim(value_dim)); }
};

// The kernels of decoded tokens, by the cache's type, the lanes of a row and the heads of a block.
struct AttentionDecodeKernels {
  const AttentionDecodeArgs& args;
  uint32_t heads;
  dim3 grid;
  cudaStream_t stream;

  template <uint32_t Type, int Lanes, int Heads>
  void launch() const {
    M40_LAUNCH_BODY(body_key(Body::kAttention, Type, Type, Lanes * 16 + Heads), (attention_decode_kernel<Type, Lanes, Heads>), grid, (AttentionDecodeShape<Type, Lanes, Heads>::warps * 32), 0, stream, args);
  }
  template <uint32_t Type, int Lanes>
  void launch_heads() const {
    switch (heads) {
      case 1: return launch<Type, Lanes, 1>();
      case 2: return launch<Type, Lanes, 2>();
      case 4: return launch<Type, Lanes, 4>();
      default: return launch<Type, Lanes, 8>();
    }
  }
  template <uint32_t Type>
  void launch_type() const {
    if (args.cache.head_dim <= 64) return launch_heads<Type, 8>();
    if (args.cache.head_dim <= 128) return launch_heads<Type, 16>();
    return launch_heads<Type, 32>();
  }
};

template <uint32_t Type>
void launch_wide(const AttentionWideArgs& args, uint32_t key_warps, dim3 grid, cudaStream_t stream) {
  const dim3 threads(args.head_warps * key_warps * 32);
  if (key_warps == 1) {
    M40_LAUNCH((attention_wide_kernel<Type, 1>), grid, threads, 0, stream, args);
  } else {
    M40_LAUNCH((attention_wide_kernel<Type, 4>), grid, threads, 0, stream, args);
  }
}

// The tiles of a prompt: their kernels by the head dimension. Calls f with a shape's template arguments.
template <class Function>
auto for_prefill_shape(const m40_op_attention& op, const Function& f) {
  if (is_wide(op)) return f(AttentionPrefillShape<4, 8, true>());
  if (op.head_dim <= 64) return f(AttentionPrefillShape<8, 1>());
  if (op.head_dim <= 128) return f(AttentionPrefillShape<8, 2>());
  return f(AttentionPrefillShape<4, 4>());
}

// How the tokens and heads of a prompt's chunk are cut into tiles, and its positions into spans.
struct PrefillTiles {
  uint32_t tile_heads, tile_tokens, head_tiles, span;
  uint32_t most_spans;  // of a tile
  uint64_t slot_floats;

  PrefillTiles(const m40_op_attention& op, uint32_t max_positions) {
    uint32_t rows = 0;
    for_prefill_shape(op, [&](auto shape) {
      rows = shape.rows;
      slot_floats = shape.slot_floats;
    });
    const uint32_t group = op.n_heads / op.n_kv_heads;
    tile_heads = heads_of(group, rows);
    tile_tokens = rows / tile_heads;
    head_tiles = tiles(group, tile_heads);
    span = span_positions(max_positions);
    const uint64_t reached = uint64_t{reach(op)} + tile_tokens;
    most_spans = reached >= max_positions ? tiles(max_positions, span) : tiles(static_cast<uint32_t>(reached), span) + 1;
  }
  // Heads of a tile: all of a KV head, or the largest number that leaves at most an eighth of the rows empty: 20 heads
  // would leave 12 of 32 rows empty.
  static uint32_t heads_of(uint32_t group, uint32_t rows) {
    for (uint32_t heads = std::min(group, rows); heads > 1; heads--) {
      const uint64_t used = uint64_t{group} * (rows / heads), room = uint64_t{tiles(group, heads)} * rows;
      if (8 * used >= 7 * room) return heads;
    }
    return 1;
  }
  uint64_t count(const m40_op_attention& op, uint32_t n_tokens) const { return uint64_t{tiles(n_tokens, tile_tokens)} * op.n_kv_heads * head_tiles; }
  // Thread blocks that share the spans of a tile: as many as fill the device, where scratch has room for their sums.
  uint32_t shares(uint64_t n_tiles) const {
    const uint64_t wanted = 2 * uint64_t{multiprocessors()} / n_tiles;
    const bool fits = n_tiles * most_spans * slot_floats <= most_span_floats && n_tiles <= scratch_counters;
    return fits && wanted > 1 ? static_cast<uint32_t>(std::min<uint64_t>(most_spans, wanted)) : 1;
  }
};

// The factor that makes scores of products: in base-2 logarithms, unless a cap comes between.
float score_scale(const m40_op_attention& op) { return op.softcap == 0 ? op.scale * 1.4426950408889634f : op.scale; }

// The arguments of all kernels for the tokens from number `first` on. head_tiles: blocks that share a KV head's query
// heads.
AttentionKernelArgs kernel_args(const AttentionArgs& args, const StepView& step, const CacheView& cache, uint32_t first, uint32_t head_tiles) {
  const m40_op_attention& op = args.op;
  AttentionKernelArgs kernel = {};
  kernel.cache = cache_layer(cache, op.layer);
  kernel.cache.value_dim = op.value_dim;  // of a latent cache, too
  kernel.q = args.q + uint64_t{first} * args.q_stride;
  kernel.q_stride = args.q_stride;
  kernel.output = args.output + uint64_t{first} * args.output_stride;
  kernel.output_stride = args.output_stride;
  kernel.positions = step.positions + first;
  kernel.sequences = step.sequences + first;
  const LayerKvBlocks kv_blocks = layer_kv_blocks(cache, step, op.layer);
  kernel.kv_block_table = kv_blocks.table;
  kernel.kv_block_stride = kv_blocks.stride;
  kernel.group = op.n_heads / op.n_kv_heads;
  kernel.head_tiles = head_tiles;
  kernel.window = op.window;
  kernel.chunk = op.chunk;
  kernel.sinks = args.sinks;
  kernel.scale = score_scale(op);
  kernel.softcap = op.softcap;
  kernel.partials = static_cast<float*>(args.scratch.memory);
  kernel.counters = args.scratch.counters;
  return kernel;
}

template <class Function>
void for_cache_type(const CacheView& cache, const Function& f) {
  switch (cache.desc->type) {
    case M40_TYPE_F16: return f(std::integral_constant<uint32_t, M40_TYPE_F16>());
    case M40_TYPE_F32: return f(std::integral_constant<uint32_t, M40_TYPE_F32>());
    default: return f(std::integral_constant<uint32_t, M40_TYPE_Q8_0>());
  }
}

void decode(const AttentionArgs& args, const RopeStoreArgs* rope, const StepView& step, const CacheView& cache, cudaStream_t stream) {
  const m40_op_attention& op = args.op;
  const DecodeTiles shape(op);
  const uint32_t head_blocks = op.n_kv_heads * shape.head_tiles;
  const uint64_t reached = uint64_t{reach(op)} + decode_chunk;
  const uint32_t most_positions = reached < args.max_positions ? static_cast<uint32_t>(reached) : args.max_positions;
  const uint32_t most_chunks = std::min(decode_most_chunks, tiles(most_positions, decode_chunk));
  const uint32_t most_rows = std::min(args.decode_rows, scratch_counters / head_blocks);
  for (uint32_t first = 0; first < step.n_decode; first += most_rows) {
    const uint32_t n_tokens = std::min(step.n_decode - first, most_rows);
    const AttentionKernelArgs common = kernel_args(args, step, cache, first, shape.head_tiles);
    // The grid is for the longest sequences, whatever they have: blocks without a chunk cost 9 ns each (H100, 24
    // multiprocessors). With many tokens there are enough blocks without those of one being many.
    const uint32_t least_blocks = n_tokens > most_fused_tokens ? 4 : 8;
    const uint32_t chunk_blocks = std::min(most_chunks, std::max(least_blocks, decode_blocks * multiprocessors() / (head_blocks * n_tokens)));
    const dim3 grid(chunk_blocks, head_blocks, n_tokens);
    if (is_wide(op)) {
      AttentionWideArgs kernel = {};
      static_cast<AttentionKernelArgs&>(kernel) = common;
      kernel.tile_heads = shape.tile_heads;
      kernel.head_warps = shape.head_warps;
      kernel.warp_heads = tiles(shape.tile_heads, shape.head_warps);
      for_cache_type(cache, [&](auto type) { launch_wide<decltype(type)::value>(kernel, shape.key_warps, grid, stream); });
      continue;
    }
    AttentionDecodeArgs kernel = {};
    static_cast<AttentionKernelArgs&>(kernel) = common;
    if (rope != nullptr) {
      kernel.rope = rope_parameters(*rope);
      kernel.rotates = true;
    }
    kernel.n_heads = op.n_heads;
    kernel.n_kv_heads = op.n_kv_heads;
    const AttentionDecodeKernels kernels = {kernel, shape.tile_heads, grid, stream};
    for_cache_type(cache, [&](auto type) { kernels.launch_type<decltype(type)::value>(); });
  }
}

void prefill(const AttentionArgs& args, const StepView& step, const CacheView& cache, cudaStream_t stream) {
  const m40_op_attention& op = args.op;
  const PrefillTiles shape(op, args.max_positions);
  AttentionPrefillArgs kernel = {};
  static_cast<AttentionKernelArgs&>(kernel) = kernel_args(args, step, cache, step.n_decode, shape.head_tiles);
  kernel.n_tokens = step.n_tokens - step.n_decode;
  kernel.tile_heads = shape.tile_heads;
  kernel.tile_tokens = shape.tile_tokens;
  kernel.aligned = op.head_dim % 4 == 0 && args.q_stride % 4 == 0 && reinterpret_cast<uintptr_t>(args.q) % 16 == 0;
  kernel.span = shape.span;
  const uint32_t shares = shape.shares(shape.count(op, kernel.n_tokens));
  kernel.tile_slots = shares > 1 ? shape.most_spans : 1;
  const dim3 grid(tiles(kernel.n_tokens, kernel.tile_tokens), op.n_kv_heads * kernel.head_tiles, shares);
  kernel.grid = {grid.x, grid.y, grid.z};
  const uint64_t n_all = uint64_t{grid.x} * grid.y * grid.z;
  const uint32_t n_blocks = limited_blocks(n_all, attention_prefill_residency, step.prefill_share);
  for_cache_type(cache, [&](auto type) {
    for_prefill_shape(op, [&](auto tile) {
      using Shape = decltype(tile);
      if (n_blocks < n_all) {
        M40_LAUNCH((attention_prefill_part_kernel<decltype(type)::value, Shape::thread_rows, Shape::groups, Shape::wide>), dim3(n_blocks), attention_prefill_threads, 0, stream, kernel);
      } else {
        M40_LAUNCH((attention_prefill_kernel<decltype(type)::value, Shape::thread_rows, Shape::groups, Shape::wide>), grid, attention_prefill_threads, 0, stream, kernel);
      }
    });
  });
}

}  // namespace

uint32_t attention_decode_rows(const m40_limits& limits) { return std::min(limits.n_tokens, limits.n_sequences); }

uint64_t attention_scratch_bytes(const m40_op_attention& op, const m40_limits& limits, const m40_cache_desc& cache) {
  if (op.head_dim > wide_key_dim || op.value_dim > wide_value_dim) {
    fail(M40_UNSUPPORTED, "attention with K of %u values and V of %u: this library has kernels up to %u and %u", op.head_dim, op.value_dim, wide_key_dim,
         wide_value_dim);
  }
  const DecodeTiles tiling(op);
  const uint32_t head_blocks = op.n_kv_heads * tiling.head_tiles;
  if (head_blocks > scratch_counters) fail(M40_UNSUPPORTED, "attention with %u KV heads: this library has memory for %u", op.n_kv_heads, scratch_counters);
  const uint64_t decode_rows = std::min(attention_decode_rows(limits), scratch_counters / head_blocks);
  const uint64_t decoded = decode_rows * head_blocks * tiling.slot_floats(op.value_dim);
  const uint64_t positions = uint64_t{limits.n_sequence_kv_blocks} * cache.kv_block_tokens;
  const PrefillTiles shape(op, static_cast<uint32_t>(std::min<uint64_t>(positions, UINT32_MAX)));
  if (shape.most_spans <= 1) return decoded * sizeof(float);
  // A slot a tile, or one for each of its spans.
  const uint64_t one_each = shape.count(op, limits.n_tokens) * shape.slot_floats;
  return std::max({decoded, one_each, std::min(most_span_floats, one_each * shape.most_spans)}) * sizeof(float);
}

void launch_attention(const AttentionArgs& args, const StepView& step, const CacheView& cache, cudaStream_t stream) {
  if (step.n_decode > 0) decode(args, nullptr, step, cache, stream);
  if (step.n_decode < step.n_tokens) prefill(args, step, cache, stream);
}

bool rope_attention_fuses(const RopeStoreArgs& rope, const AttentionArgs& attention, const StepView& step) {
  return step.n_decode == step.n_tokens && step.n_tokens <= most_fused_tokens && step.most_tokens == 1 && rope.q == attention.q && rope.op.layer == attention.op.layer &&
         rope.op.n_heads == attention.op.n_heads && rope.op.n_kv_heads == attention.op.n_kv_heads && rope.op.head_dim == attention.op.head_dim && !is_wide(attention.op);
}

void launch_rope_attention(const RopeStoreArgs& rope, const AttentionArgs& attention, const StepView& step, const CacheView& cache, cudaStream_t stream) {
  decode(attention, &rope, step, cache, stream);
}

}  // namespace m40::cuda
