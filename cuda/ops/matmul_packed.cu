// Plans products with packed pairs: the launch that makes the pairs, and that of the weights of each type.
#include "matmul_packed.h"

#include "matmul_packed_launch.cuh"
#include "matmul_plan.h"

namespace m40::cuda {

namespace {

constexpr uint32_t packed_pass = 32;  // tokens

uint64_t partial_floats(uint32_t rows, uint64_t splits, uint32_t n_tokens) { return splits == 1 ? 0 : (splits * rows * n_tokens + 3) / 4 * 4; }

// Calls f with the type as a template argument.
template <class Function>
void for_packed_type(uint32_t type, const Function& f) {
  for_type(type, [&](auto t) {
    if constexpr (has_packed_pairs(decltype(t)::value)) f(t);
  });
}

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

uint64_t pair_floats(uint32_t n_tokens, uint32_t columns) {
  const uint32_t tokens = packed_tokens(n_tokens);
  return uint64_t{(n_tokens + tokens - 1) / tokens} * packed_blocks(columns) * block_floats(tokens);
}

void launch_pass(const MatmulArgs& args, uint32_t first, uint32_t n_tokens, cudaStream_t stream) {
  const uint32_t tokens = packed_tokens(n_tokens), token_blocks = (n_tokens + tokens - 1) / tokens;
  float* const pairs = static_cast<float*>(args.scratch.memory);
  for_each_type(args, [&](uint32_t type, const uint32_t* indices, uint32_t n) {
    MatmulDecodeArgs decode = {};
    decode.input = pairs;
    decode.output = args.output + size_t{first} * args.output_stride;
    decode.output_stride = args.output_stride;
    decode.residual = args.residual == nullptr ? nullptr : args.residual + size_t{first} * args.output_stride;
    decode.scale = args.scale;
    decode.n_tokens = n_tokens;
    decode.columns = args.columns;
    decode.partials = pairs + pair_floats(n_tokens, args.columns);
    decode.counters = args.scratch.counters;
    uint32_t n_blocks = 0, n_counters = 0;
    uint64_t n_partials = 0;
    for (uint32_t i = 0; i < n; i++) {
      const MatmulWeight& from = args.weights[indices[i]];
      const uint32_t splits = decode_splits(from.split_rows(), args.columns), row_sets = packed_tiles(from.weight.rows);
      decode.weights[decode.n_weights++] = {from.weight, from.bias, from.factor, from.output_column, splits, n_blocks, n_counters, n_partials};
      n_blocks += row_sets * splits * token_blocks;
      if (splits > 1) n_counters += row_sets * token_blocks;
      n_partials += partial_floats(from.weight.rows, splits, n_tokens);
    }
    decode.n_blocks = n_blocks;
    for_packed_type(type, [&](auto t) {
      launch_packed_inputs<decltype(t)::value>({args.input + size_t{first} * args.input_stride, args.input_stride, n_tokens, args.columns, pairs}, tokens, stream);
      launch_decode_packed<decltype(t)::value>(decode, tokens, n_blocks, stream);
    });
  });
}

}  // namespace

uint64_t packed_scratch_bytes(const uint32_t* rows, uint32_t n_weights, uint32_t columns, uint32_t max_rows) {
  const uint32_t most = std::min(max_rows, packed_pass);
  uint64_t floats = 0, pairs = 0;
  for (uint32_t i = 0; i < n_weights; i++) floats += partial_floats(rows[i], decode_splits(rows[i], columns), most);
  for (uint32_t n = 1; n <= most; n++) pairs = std::max(pairs, pair_floats(n, columns));
  return (floats + pairs) * sizeof(float);
}

void launch_packed_matmul(const MatmulArgs& args, cudaStream_t stream) {
  for (uint32_t first = 0; first < args.n_rows; first += packed_pass) launch_pass(args, first, std::min(args.n_rows - first, packed_pass), stream);
}

}  // namespace m40::cuda
