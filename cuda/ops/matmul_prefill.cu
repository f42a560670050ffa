// Plans products of prompts: which weights go in one launch, by which tiles, and where partial sums lie.
#include "matmul_prefill.h"

#include <algorithm>

#include "matmul_plan.h"
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

namespace {

constexpr uint32_t whole_tile = prefill_tile_tokens[2];
constexpr uint64_t most_partials = uint64_t{8} << 20;  // floats of scratch that a pass over the tokens may take

// Tokens of the tiles for n_tokens, which are a multiple of whole_tile or fewer than that.
uint32_t tile_tokens(uint32_t type, uint32_t n_tokens, bool aligned) {
  uint32_t largest = 0;
  for (const uint32_t tile : prefill_tile_tokens) {
    if (!has_prefill_tile(type, tile, aligned)) continue;
    if (n_tokens <= tile) return tile;
    largest = tile;
  }
  return largest;
}

uint64_t partial_floats(uint32_t rows, uint64_t splits, uint32_t n_tokens) {
  if (splits == 1) return 0;
  return splits * packed_tiles(rows) * prefill_rows * ((n_tokens + whole_tile - 1) / whole_tile * whole_tile);
}

// Tokens that a pass takes: as many whole tiles as have room in scratch, of four those that share what they read.
uint32_t pass_tokens(uint64_t floats_a_tile) {
  if (floats_a_tile == 0) return UINT32_MAX;
  const uint64_t tiles = most_partials / floats_a_tile;
  return static_cast<uint32_t>(tiles < 1 ? 1 : tiles < prefill_token_group ? tiles : tiles / prefill_token_group * prefill_token_group) * whole_tile;
}

// Tokens [first, first + n_tokens) of the weights at these indices, all of one type, in tiles of one kind.
void launch_tiles(const MatmulArgs& args, const uint32_t* indices, uint32_t n, uint32_t first, uint32_t n_tokens, cudaStream_t stream) {
  MatmulPrefillLaunch launch = {};
  const uint32_t type = args.weights[indices[0]].weight.type;
  launch.share = args.prefill_share;
  launch.aligned = can_load_four(args);
  launch.tile_tokens = tile_tokens(type, n_tokens, launch.aligned);
  const uint32_t token_tiles = (n_tokens + launch.tile_tokens - 1) / launch.tile_tokens;
  MatmulPrefillArgs prefill = {};
  prefill.input = args.input + size_t{first} * args.input_stride;
  prefill.input_stride = args.input_stride;
  prefill.output = args.output + size_t{first} * args.output_stride;
  prefill.output_stride = args.output_stride;
  prefill.residual = args.residual == nullptr ? nullptr : args.residual + size_t{first} * args.output_stride;
  prefill.scale = args.scale;
  prefill.n_tokens = n_tokens;
  prefill.columns = args.columns;
  prefill.n_weights = n;
  prefill.fours = can_finish_four(args, indices, n);
  prefill.partials = static_cast<float*>(args.scratch.memory);
  prefill.counters = args.scratch.counters;
  uint32_t n_counters = 0;
  uint64_t n_partials = 0;
  for (uint32_t i = 0; i < n; i++) {
    const MatmulWeight& from = args.weights[indices[i]];
    const uint32_t row_tiles = packed_tiles(from.weight.rows), splits = prefill_splits(from.split_rows(), args.columns);
    prefill.weights[i] = {from.weight, from.bias, from.factor, from.output_column, splits, prefill.n_tiles, n_counters, n_partials};
    prefill.n_tiles += row_tiles * splits;
    if (splits > 1) n_counters += row_tiles * token_tiles;
    n_partials += partial_floats(from.weight.rows, splits, n_tokens);
  }
  for_type(type, [&](auto t) { launch_prefill<decltype(t)::value>(prefill, launch, stream); });
}

// The weights at these indices, in as few passes over the tokens as scratch allows.
void launch_passes(const MatmulArgs& args, const uint32_t* indices, uint32_t n, cudaStream_t stream) {
  uint64_t floats = 0;
  for (uint32_t i = 0; i < n; i++) {
    const MatmulWeight& w = args.weights[indices[i]];
    floats += partial_floats(w.weight.rows, prefill_splits(w.split_rows(), args.columns), whole_tile);
  }
  const uint32_t pass = pass_tokens(floats);
  // Weights alone take fewer passes, which fill a card better.
  if (n > 1 && pass < args.n_rows && pass < prefill_token_group * whole_tile) {
    for (uint32_t i = 0; i < n; i++) launch_passes(args, indices + i, 1, stream);
    return;
  }
  uint32_t first = 0;
  while (first < args.n_rows) {
    const uint32_t left = std::min(pass, args.n_rows - first), whole = left / whole_tile * whole_tile, n_tokens = whole != 0 ? whole : left;
    launch_tiles(args, indices, n, first, n_tokens, stream);
    first += n_tokens;
  }
}

}  // namespace

uint64_t prefill_scratch_bytes(const uint32_t* rows, uint32_t n_weights, uint32_t columns, uint32_t max_rows) {
  uint64_t floats = 0;
  for (uint32_t i = 0; i < n_weights; i++) floats += partial_floats(rows[i], prefill_splits(rows[i], columns), whole_tile);
  const uint64_t tiles = (uint64_t{max_rows} + whole_tile - 1) / whole_tile;
  return std::min(std::max(most_partials, floats), floats * tiles) * sizeof(float);
}

void launch_prefill_matmul(const MatmulArgs& args, cudaStream_t stream) {
  for_each_type(args, [&](uint32_t, const uint32_t* indices, uint32_t n) { launch_passes(args, indices, n, stream); });
}

}  // namespace m40::cuda
