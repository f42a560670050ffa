// Plans products with packed pairs: the launch that makes the pairs, and that of the weights of each type.
#include "matmul_packed.h"

#include "../kernels/matmul_prefill.cuh"
#include "matmul_packed_launch.cuh"
#include "matmul_plan.h"

namespace m40::cuda {

namespace {

constexpr uint32_t decode_pass = 32;                               // tokens
constexpr uint32_t prefill_whole = packed_prefill_tile(16);        // tokens that a pass over a prompt is of, but for the last
constexpr uint64_t most_prefill_floats = uint64_t{8} << 20;        // of scratch memory that such a pass may take

uint64_t partial_floats(uint32_t rows, uint64_t splits, uint32_t n_tokens) { return splits == 1 ? 0 : (splits * rows * n_tokens + 3) / 4 * 4; }

// Tokens of a group.
uint32_t packed_tokens(uint32_t n_tokens) { return n_tokens <= 1 ? 1 : n_tokens <= 2 ? 2 : n_tokens <= 4 ? 4 : n_tokens <= 8 ? 8 : 16; }

// Floats of a group's block, with the most sums that a type has.
uint64_t block_floats(uint32_t tokens) {
  switch (tokens) {
    case 1: return PackedBlock<1, 2>::kFloats;
    case 2: return PackedBlock<2, 2>::kFloats;
    case 4: return PackedBlock<4, 2>::kFloats;
    case 8: return PackedBlock<8, 2>::kFloats;
    default: return PackedBlock<16, 2>::kFloats;
  }
}

uint64_t pair_floats(uint32_t n_tokens, uint32_t columns, uint32_t tokens) {
  return uint64_t{(n_tokens + tokens - 1) / tokens} * packed_blocks(columns) * block_floats(tokens);
}

// How tokens are cut into groups and thread blocks, rows into thread blocks, and columns into splits.
struct PackedPass {
  bool prefill;
  uint32_t n_tokens, tokens;
  uint32_t groups = 1;  // of a thread block

  uint32_t token_blocks() const { return (n_tokens + groups * tokens - 1) / (groups * tokens); }
  uint32_t splits(uint32_t rows, uint32_t columns) const { return prefill ? prefill_splits(rows, columns) : decode_splits(rows, columns); }
  uint32_t row_sets(uint32_t rows) const {
    const uint32_t sets = prefill ? packed_prefill_warps / groups : 1;
    return (packed_tiles(rows) + sets - 1) / sets;
  }
  uint64_t partials(uint32_t rows, uint32_t columns) const { return partial_floats(rows, splits(rows, columns), n_tokens); }
};

PackedPass decode_pass_of(uint32_t n_tokens) { return {false, n_tokens, packed_tokens(n_tokens)}; }

// Of a prompt: groups of few tokens where there are few, so that more warps have some. Thread blocks with more groups
// than there are leave warps idle, but there are more of them.
PackedPass prefill_pass_of(const MatmulArgs& args, const uint32_t* indices, uint32_t n, uint32_t n_tokens) {
  PackedPass pass = {true, n_tokens, n_tokens <= packed_prefill_tile(8) ? 8u : 16u};
  while (pass.groups < packed_prefill_warps && pass.groups * pass.tokens < n_tokens) pass.groups *= 2;
  const auto blocks = [&] {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
      const MatmulWeight& w = args.weights[indices[i]];
      sum += uint64_t{pass.row_sets(w.weight.rows)} * pass.splits(w.split_rows(), args.columns) * pass.token_blocks();
    }
    return sum;
  };
  while (pass.groups < packed_prefill_warps && blocks() < multiprocessors()) pass.groups *= 2;
  return pass;
}

void launch_pass(const MatmulArgs& args, uint32_t first, const PackedPass& pass, const uint32_t* indices, uint32_t n, cudaStream_t stream) {
  float* const pairs = static_cast<float*>(args.scratch.memory);
  MatmulDecodeArgs product = {};
  product.input = pairs;
  product.output = args.output + size_t{first} * args.output_stride;
  product.output_stride = args.output_stride;
  product.residual = args.residual == nullptr ? nullptr : args.residual + size_t{first} * args.output_stride;
  product.scale = args.scale;
  product.n_tokens = pass.n_tokens;
  product.columns = args.columns;
  product.partials = pairs + pair_floats(pass.n_tokens, args.columns, pass.tokens);
  product.counters = args.scratch.counters;
  uint32_t n_counters = 0;
  uint64_t n_partials = 0;
  for (uint32_t i = 0; i < n; i++) {
    const MatmulWeight& from = args.weights[indices[i]];
    const uint32_t splits = pass.splits(from.split_rows(), args.columns), row_sets = pass.row_sets(from.weight.rows);
    product.weights[product.n_weights++] = {from.weight, from.bias, from.factor, from.output_column, splits, product.n_blocks, n_counters, n_partials};
    product.n_blocks += row_sets * splits * pass.token_blocks();
    if (splits > 1) n_counters += row_sets * pass.token_blocks();
    n_partials += partial_floats(from.weight.rows, splits, pass.n_tokens);
  }
  for_packed_type(args.weights[indices[0]].weight.type, [&](auto t) {
    launch_packed_inputs<decltype(t)::value>({args.input + size_t{first} * args.input_stride, args.input_stride, pass.n_tokens, args.columns, pairs, 0},
                                             pass.tokens, pass.prefill ? args.prefill_share : all_places, stream);
    if (pass.prefill) {
      launch_prefill_packed<decltype(t)::value>({product, pass.groups}, pass.tokens, args.prefill_share, stream);
    } else {
      launch_decode_packed<decltype(t)::value>(product, pass.tokens, product.n_blocks, stream);
    }
  });
}

// Floats of scratch memory that a token of a prompt takes.
uint64_t prefill_floats(uint32_t columns, uint64_t partials) { return partials + (pair_floats(16, columns, 16) + 15) / 16; }

// Tokens that a pass over a prompt takes: as many whole tiles as have room in scratch, and counters.
uint32_t prefill_pass(uint64_t floats_a_token) {
  const uint64_t tiles = most_prefill_floats / (floats_a_token * prefill_whole);
  return static_cast<uint32_t>(tiles < 1 ? 1 : tiles) * prefill_whole;
}

}  // namespace

uint64_t packed_scratch_bytes(const uint32_t* rows, uint32_t n_weights, uint32_t columns, uint32_t max_rows) {
  uint64_t most = 0;
  for (uint32_t n = 1; n <= std::min(max_rows, decode_pass); n++) {
    const PackedPass pass = decode_pass_of(n);
    uint64_t floats = pair_floats(n, columns, pass.tokens);
    for (uint32_t i = 0; i < n_weights; i++) floats += pass.partials(rows[i], columns);
    most = std::max(most, floats);
  }
  uint64_t partials = 0;
  for (uint32_t i = 0; i < n_weights; i++) partials += partial_floats(rows[i], prefill_splits(rows[i], columns), 1);
  // Weights alone, or slices of wider ones, have fewer partial sums, and passes of more tokens.
  const uint64_t a_tile = prefill_floats(columns, partials) * prefill_whole, tiles = (uint64_t{max_rows} + prefill_whole - 1) / prefill_whole;
  return std::max(most, std::min(std::max(most_prefill_floats, a_tile), tiles * a_tile)) * sizeof(float);
}

void launch_packed_matmul(const MatmulArgs& args, cudaStream_t stream) {
  for_each_type(args, [&](uint32_t, const uint32_t* indices, uint32_t n) {
    uint32_t most = decode_pass;
    if (args.prefill) {
      uint64_t partials = 0;
      for (uint32_t i = 0; i < n; i++) partials += partial_floats(args.weights[indices[i]].weight.rows, prefill_splits(args.weights[indices[i]].split_rows(), args.columns), 1);
      most = prefill_pass(prefill_floats(args.columns, partials));
    }
    for (uint32_t first = 0; first < args.n_rows;) {
      const uint32_t left = std::min(args.n_rows - first, most), whole = left / prefill_whole * prefill_whole, n_tokens = args.prefill && whole != 0 ? whole : left;
      launch_pass(args, first, args.prefill ? prefill_pass_of(args, indices, n, n_tokens) : decode_pass_of(n_tokens), indices, n, stream);
      first += n_tokens;
    }
  });
}

}  // namespace m40::cuda
