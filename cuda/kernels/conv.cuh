// Short causal convolutions: a thread has a column and walks over a tile of a sequence's rows.
//
// The state is the inputs of the last kernel - 1 tokens. Only the block of a sequence's first rows reads and writes it.
// That block loads it into registers before it writes, so that a step may read and write one slot. A tile has more rows
// than the state, so no other block needs it.
#ifndef M40_KERNELS_CONV_CUH
#define M40_KERNELS_CONV_CUH

#include "block.cuh"
#include "elementwise.cuh"
#include "state_args.cuh"

namespace m40::cuda {

constexpr uint32_t conv_threads = 128;

// Grid: tiles, columns by conv_threads.
template <int kKernel>
__device__ __forceinline__ void conv(const ConvArgs& args, BlockIndex block) {
  static_assert(kKernel <= static_cast<int>(sequence_tile_rows), "a tile's rows need only those of the previous tile");
  constexpr int kOld = kKernel - 1;
  const uint32_t column = block.y * conv_threads + threadIdx.x;
  const SequenceTile tile = args.tiles[block.x];
  if (tile.sequence == M40_NONE || column >= args.columns) return;
  const SequenceRows rows = args.state.sequences[tile.sequence];
  const auto input_at = [&](uint32_t row) {
    const size_t at = (size_t{rows.first} + row) * args.input_stride + column;
    return args.factor == nullptr ? args.input[at] : args.input[at] * args.factor[at];
  };
  const uint32_t n = rows.n - tile.first < sequence_tile_rows ? rows.n - tile.first : sequence_tile_rows;
  // Of row i: x[i + kOld], after those of the earlier tokens.
  float x[kOld + sequence_tile_rows], weights[kKernel];
#pragma unroll
  for (uint32_t i = 0; i < sequence_tile_rows; i++) x[kOld + i] = i < n ? input_at(tile.first + i) : 0.0f;
#pragma unroll
  for (int j = 0; j < kKernel; j++) weights[j] = __ldg(args.weight + size_t{column} * kKernel + j);
  const float bias = args.bias == nullptr ? 0.0f : __ldg(args.bias + column);
  if (tile.first > 0) {
#pragma unroll
    for (int j = 0; j < kOld; j++) x[j] = input_at(tile.first - kOld + j);
  } else {
    const float* from = rows.from == M40_NONE ? nullptr : args.state.data + rows.from * args.state.slot_values + column;
    float* to = args.state.data + rows.to * args.state.slot_values + column;
#pragma unroll
    for (int j = 0; j < kOld; j++) x[j] = from == nullptr ? 0.0f : from[size_t(j) * args.columns];
#pragma unroll
    for (int j = 0; j < kOld; j++) {
      float last = 0;
      if (rows.n > sequence_tile_rows) {
        last = input_at(rows.n - kOld + j);
      } else {
        // x[n + j], without an index into registers.
#pragma unroll
        for (int i = 1; i <= static_cast<int>(sequence_tile_rows); i++) last = static_cast<int>(n) == i ? x[i + j] : last;
      }
      to[size_t(j) * args.columns] = last;
    }
  }
#pragma unroll
  for (uint32_t i = 0; i < sequence_tile_rows; i++) {
    if (i >= n) break;
    float sum = 0;
#pragma unroll
    for (int j = 0; j < kKernel; j++) sum = fmaf(weights[j], x[i + j], sum);
    sum += bias;
    if (args.activation == M40_ACTIVATION_SILU) sum = silu(sum);
    const size_t row = size_t{rows.first} + tile.first + i;
    if (args.gate != nullptr) sum *= args.gate[row * args.input_stride + column];
    args.output[row * args.output_stride + column] = sum;
  }
}

// Thread blocks of a multiprocessor that have their registers at least.
constexpr uint32_t conv_residency = 8;

template <int kKernel>
__global__ void __launch_bounds__(conv_threads) conv_kernel(ConvArgs args) {
  conv<kKernel>(args, launched_block());
}

// The same by fewer thread blocks than its grid has.
template <int kKernel>
__global__ void __launch_bounds__(conv_threads, conv_residency) conv_part_kernel(ConvArgs args, GridSize grid) {
  __shared__ BlockIndex place;
  __shared__ uint32_t at;
  walk_grid(grid, at, place, [&] { conv<kKernel>(args, place); });
}

}  // namespace m40::cuda

#endif
