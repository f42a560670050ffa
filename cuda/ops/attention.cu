// Chooses the attention kernels: by what is decoded and what is a prompt's, by the cache's type, the head dimension and
// the query heads of a KV head.
#include <algorithm>

#include "../kernels/attention_decode.cuh"
#include "../kernels/attention_prefill.cuh"
#include "../runtime/error.h"
#include "cache_layer.h"
#include "multiprocessors.h"
#include "ops.h"
#include "rope_parameters.h"

namespace m40::cuda {

namespace {

constexpr uint32_t most_head_dim = 256;
constexpr uint32_t most_decode_blocks = 2048;  // beyond, blocks take several chunks
constexpr uint32_t most_fused_tokens = 8;      // beyond, rotating queries in every block costs more than a launch
constexpr uint64_t most_span_floats = uint64_t{8} << 20;  // of scratch that spans of a prompt's positions may take

// Query heads that one block of the decode kernel computes.
uint32_t decode_heads(uint32_t group) { return group <= 1 ? 1 : group <= 2 ? 2 : group <= 4 ? 4 : 8; }

uint32_t tiles(uint32_t n, uint32_t tile) { return (n + tile - 1) / tile; }

uint64_t slot_floats(uint32_t heads, uint32_t head_dim) { return uint64_t{decode_most_chunks} * heads * (padded_head_dim(head_dim) + 2); }

// The kernels of decoded tokens, by the cache's type, the lanes of a row and the heads of a block.
struct AttentionDecodeKernels {
  const AttentionDecodeArgs& args;
  dim3 grid;
  cudaStream_t stream;

  template <uint32_t Type, int Lanes, int Heads>
  void launch() const {
    M40_LAUNCH((attention_decode_kernel<Type, Lanes, Heads>), grid, (AttentionDecodeShape<Type, Lanes, Heads>::warps * 32), 0, stream, args);
  }
  template <uint32_t Type, int Lanes>
  void launch_heads() const {
    switch (decode_heads(args.group)) {
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
void launch_prefill(const AttentionPrefillArgs& args, dim3 grid, cudaStream_t stream) {
  if (args.cache.head_dim <= 64) {
    M40_LAUNCH((attention_prefill_kernel<Type, 8, 1>), grid, attention_prefill_threads, 0, stream, args);
  } else if (args.cache.head_dim <= 128) {
    M40_LAUNCH((attention_prefill_kernel<Type, 8, 2>), grid, attention_prefill_threads, 0, stream, args);
  } else {
    M40_LAUNCH((attention_prefill_kernel<Type, 4, 4>), grid, attention_prefill_threads, 0, stream, args);
  }
}

// How the tokens and heads of a prompt's chunk are cut into tiles, and its positions into spans.
struct PrefillTiles {
  uint32_t tile_heads, tile_tokens, head_tiles, span;
  uint32_t most_spans;  // of a tile
  uint64_t slot_floats;

  PrefillTiles(const m40_op_attention& op, uint32_t max_positions) {
    const uint32_t group = op.n_heads / op.n_kv_heads, rows = op.head_dim <= 128 ? 64 : 32;
    tile_heads = std::min(group, rows);
    tile_tokens = rows / tile_heads;
    head_tiles = tiles(group, tile_heads);
    span = span_positions(max_positions);
    const uint64_t windowed = uint64_t{op.window} + tile_tokens;
    most_spans = op.window == 0 || windowed >= max_positions ? tiles(max_positions, span) : tiles(static_cast<uint32_t>(windowed), span) + 1;
    slot_floats = op.head_dim <= 64 ? AttentionPrefillShape<8, 1>::slot_floats : op.head_dim <= 128 ? AttentionPrefillShape<8, 2>::slot_floats : AttentionPrefillShape<4, 4>::slot_floats;
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

// What both kernels are told of the tokens from number `first` on. A block of the one and a tile of the other has at most so
// many query heads of a KV head.
AttentionKernelArgs kernel_args(const AttentionArgs& args, const StepView& step, const CacheView& cache, uint32_t first, uint32_t most_heads) {
  const m40_op_attention& op = args.op;
  AttentionKernelArgs kernel = {};
  kernel.cache = cache_layer(cache, op.layer);
  kernel.qkv = args.qkv + uint64_t{first} * args.qkv_stride;
  kernel.qkv_stride = args.qkv_stride;
  kernel.output = args.output + uint64_t{first} * args.output_stride;
  kernel.output_stride = args.output_stride;
  kernel.positions = step.positions + first;
  kernel.sequences = step.sequences + first;
  const LayerPages pages = layer_pages(cache, step, op.layer);
  kernel.page_table = pages.table;
  kernel.page_stride = pages.stride;
  kernel.group = op.n_heads / op.n_kv_heads;
  kernel.head_tiles = tiles(kernel.group, most_heads);
  kernel.window = op.window;
  kernel.scale = score_scale(op);
  kernel.softcap = op.softcap;
  kernel.partials = static_cast<float*>(args.scratch.memory);
  kernel.counters = args.scratch.counters;
  return kernel;
}

void decode(const AttentionArgs& args, const RopeStoreArgs* rope, const StepView& step, const CacheView& cache, cudaStream_t stream) {
  const m40_op_attention& op = args.op;
  AttentionDecodeArgs kernel = {};
  if (rope != nullptr) {
    kernel.rope = rope_parameters(*rope);
    kernel.rotates = true;
  }
  kernel.n_heads = op.n_heads;
  kernel.n_kv_heads = op.n_kv_heads;
  const uint32_t heads = decode_heads(op.n_heads / op.n_kv_heads), head_blocks = op.n_kv_heads * tiles(op.n_heads / op.n_kv_heads, heads);
  const uint32_t most_positions = op.window != 0 ? std::min(args.max_positions, op.window + decode_chunk) : args.max_positions;
  const uint32_t most_chunks = std::min(decode_most_chunks, tiles(most_positions, decode_chunk));
  const uint32_t most_rows = std::min(args.decode_rows, scratch_counters / head_blocks);
  for (uint32_t first = 0; first < step.n_decode; first += most_rows) {
    const uint32_t n_tokens = std::min(step.n_decode - first, most_rows);
    static_cast<AttentionKernelArgs&>(kernel) = kernel_args(args, step, cache, first, heads);
    const uint32_t chunk_blocks = std::min(most_chunks, std::max(8u, most_decode_blocks / (head_blocks * n_tokens)));
    const AttentionDecodeKernels kernels = {kernel, dim3(chunk_blocks, head_blocks, n_tokens), stream};
    switch (cache.desc->type) {
      case M40_TYPE_F16: kernels.launch_type<M40_TYPE_F16>(); break;
      case M40_TYPE_F32: kernels.launch_type<M40_TYPE_F32>(); break;
      default: kernels.launch_type<M40_TYPE_Q8_0>(); break;
    }
  }
}

void prefill(const AttentionArgs& args, const StepView& step, const CacheView& cache, cudaStream_t stream) {
  const m40_op_attention& op = args.op;
  const PrefillTiles shape(op, args.max_positions);
  AttentionPrefillArgs kernel = {};
  static_cast<AttentionKernelArgs&>(kernel) = kernel_args(args, step, cache, step.n_decode, shape.tile_heads);
  kernel.n_tokens = step.n_tokens - step.n_decode;
  kernel.tile_heads = shape.tile_heads;
  kernel.tile_tokens = shape.tile_tokens;
  kernel.aligned = op.head_dim % 4 == 0 && args.qkv_stride % 4 == 0 && reinterpret_cast<uintptr_t>(args.qkv) % 16 == 0;
  kernel.span = shape.span;
  const uint32_t shares = shape.shares(shape.count(op, kernel.n_tokens));
  kernel.tile_slots = shares > 1 ? shape.most_spans : 1;
  const dim3 grid(tiles(kernel.n_tokens, kernel.tile_tokens), op.n_kv_heads * kernel.head_tiles, shares);
  switch (cache.desc->type) {
    case M40_TYPE_F16: launch_prefill<M40_TYPE_F16>(kernel, grid, stream); break;
    case M40_TYPE_F32: launch_prefill<M40_TYPE_F32>(kernel, grid, stream); break;
    default: launch_prefill<M40_TYPE_Q8_0>(kernel, grid, stream); break;
  }
}

}  // namespace

uint32_t attention_decode_rows(const m40_limits& limits) { return std::min(limits.n_tokens, limits.n_sequences); }

uint64_t attention_scratch_bytes(const m40_op_attention& op, const m40_limits& limits, const m40_cache_desc& cache) {
  if (op.head_dim > most_head_dim) {
    fail(M40_UNSUPPORTED, "attention with a head dimension of %u: this library has kernels up to %u", op.head_dim, most_head_dim);
  }
  const uint32_t group = op.n_heads / op.n_kv_heads;
  const uint32_t heads = decode_heads(group);
  const uint32_t head_blocks = op.n_kv_heads * tiles(group, heads);
  if (head_blocks > scratch_counters) fail(M40_UNSUPPORTED, "attention with %u KV heads: this library has memory for %u", op.n_kv_heads, scratch_counters);
  const uint64_t decode_rows = std::min(attention_decode_rows(limits), scratch_counters / head_blocks);
  const uint64_t decoded = decode_rows * head_blocks * slot_floats(heads, op.head_dim);
  const uint64_t positions = uint64_t{limits.n_sequence_pages} * cache.page_tokens;
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
  return step.n_decode == step.n_tokens && step.n_tokens <= most_fused_tokens && step.most_tokens == 1 && rope.qkv == attention.qkv && rope.op.layer == attention.op.layer &&
         rope.op.n_heads == attention.op.n_heads && rope.op.n_kv_heads == attention.op.n_kv_heads && rope.op.head_dim == attention.op.head_dim;
}

void launch_rope_attention(const RopeStoreArgs& rope, const AttentionArgs& attention, const StepView& step, const CacheView& cache, cudaStream_t stream) {
  decode(attention, &rope, step, cache, stream);
}

}  // namespace m40::cuda
