// Products of many tokens with packed weights: prefill.
//
// A thread block computes a tile of 128 rows times 128, 64 or 32 tokens over a part of the columns, a thread 8 rows
// times a 16th, 8th or quarter of that. Weights and activations go through double-buffered shared memory, 16 columns at
// a time; weights become floats on the way. Split-K: the columns of a weight are cut into splits, and their number
// follows only from the weight's shape. So an output is summed in one order for every tile and number of tokens: over
// each split from its first column to its last, then over the splits. The last thread block of a tile to finish adds
// the splits' sums in scratch.
#ifndef M40_KERNELS_MATMUL_PREFILL_CUH
#define M40_KERNELS_MATMUL_PREFILL_CUH

#include "../common/product_splits.h"
#include "block.cuh"
#include "last_block.cuh"
#include "matmul_finish.cuh"
#include "matmul_fragments.cuh"
#include "prefill_loader.cuh"

namespace m40::cuda {

constexpr uint32_t prefill_rows = 128, prefill_columns = 16, prefill_threads = 128;
// Tiles of tokens that follow each other share what they read of a weight.
constexpr uint32_t prefill_token_group = 4;

struct PrefillWeight {
  PackedWeight weight;
  const float* bias;    // or nullptr
  const float* factor;  // [1], or nullptr
  uint32_t output_column;
  uint32_t splits;
  uint32_t first_tile;     // of the launch's tiles of rows and splits: [splits][tiles of rows]
  uint32_t first_counter;  // of its tiles of rows and tokens, where splits > 1
  uint64_t partials;       // where its partial sums start in scratch, in floats
};

struct MatmulPrefillArgs {
  const float* input;  // n_tokens * input_stride is below 2^32
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  const float* residual;  // or nullptr
  float scale;
  uint32_t n_tokens;
  uint32_t columns;
  uint32_t n_weights;
  uint32_t n_tiles;  // of rows and splits, of all weights
  uint32_t n_blocks;  // all of these tiles, of all tokens: walk_blocks()
  bool fours;        // four rows of all that is read and written at the end can be loaded at once
  PrefillWeight weights[3];
  float* partials;     // of each weight [tiles of tokens][tiles of rows][splits][sums of a thread][threads]
  uint32_t* counters;  // 0 between launches
};

// Where a thread block's tile is.
struct PrefillTile {
  uint32_t which, split, row_tile, token_tile;
};

__device__ __forceinline__ PrefillTile prefill_tile_of(const MatmulPrefillArgs& args, uint32_t block, uint32_t token_tiles) {
  const uint32_t a_group = args.n_tiles * prefill_token_group, group = block / a_group, in_group = block % a_group;
  const uint32_t first = group * prefill_token_group, size = min(prefill_token_group, token_tiles - first);
  uint32_t at = in_group / size, which = 0;
  if (args.n_weights > 1 && at >= args.weights[1].first_tile) which = 1;
  if (args.n_weights > 2 && at >= args.weights[2].first_tile) which = 2;
  at -= args.weights[which].first_tile;
  const uint32_t row_tiles = packed_tiles(args.weights[which].weight.rows);
  return {which, at / row_tiles, at % row_tiles, first + in_group % size};
}

// The tokens of a tile, from number first on and below end, which rows of input and output are theirs, and by what
// their sums are multiplied: here, rows of their numbers, and all by the same.
struct PrefillTokens {
  static constexpr bool kSplits = true;     // columns may be split
  static constexpr bool kResidual = true;   // there may be one
  uint32_t first, end;
  float all_scale;

  __device__ __forceinline__ uint32_t input_row(uint32_t token) const { return token; }
  __device__ __forceinline__ uint32_t output_row(uint32_t token) const { return token; }
  __device__ __forceinline__ float scale(uint32_t) const { return all_scale; }
};

// Four rows of a token are summed up: of rows that cannot be loaded four at a time.
template <class Tokens>
__device__ __forceinline__ void prefill_finish(const MatmulPrefillArgs& args, const PrefillWeight& w, const Tokens& tokens, uint32_t row, uint32_t token, float4 sum) {
  if (token >= tokens.end) return;
  const size_t at = size_t{tokens.output_row(token)} * args.output_stride + w.output_column + row;
  const float factor = value_or(w.factor, 0, 1.0f), scale = tokens.scale(token);
#pragma unroll 1
  for (uint32_t i = 0; i < 4 && row + i < w.weight.rows; i++) {
    const float value = i == 0 ? sum.x : i == 1 ? sum.y : i == 2 ? sum.z : sum.w;
    const float residual = Tokens::kResidual && args.residual != nullptr ? args.residual[at + i] : 0.0f;
    args.output[at + i] = finished_sum(value, factor, value_or(w.bias, row + i, 0.0f), scale, residual);
  }
}

// Puts the sums of a split into scratch. In the last thread block of a tile to get here, acc is then the sum of all
// splits, and the result true.
template <int N>
__device__ __forceinline__ bool prefill_add_splits(float* partials, uint32_t n_splits, uint32_t split, uint32_t* counter, float (&acc)[8][N], bool& is_last) {
  const uint32_t thread = threadIdx.x;
  float* const mine = partials + split * (8 * N * prefill_threads) + thread;
#pragma unroll
  for (int i = 0; i < 8 * N; i++) mine[i * prefill_threads] = acc[i / N][i % N];
  if (!is_last_block(counter, n_splits, is_last)) return false;
#pragma unroll
  for (int i = 0; i < 8 * N; i++) acc[i / N][i % N] = __ldcg(partials + i * prefill_threads + thread);
#pragma unroll 1
  for (uint32_t s = 1; s < n_splits; s++) {
    const float* const from = partials + s * (8 * N * prefill_threads) + thread;
#pragma unroll
    for (int i = 0; i < 8 * N; i++) acc[i / N][i % N] += __ldcg(from + i * prefill_threads);
  }
  return true;
}

// Activations of a tile on their way into shared memory: a thread's four columns of kTokens / 32 neighbouring tokens.
// There, four columns of all tokens and eight floats more follow each other, so that no two lanes that store meet in a
// bank.
template <int kTokens, bool kAligned>
struct PrefillInput {
  static constexpr int kEach = kTokens / 32, kFourColumns = 4 * kTokens + 8, kFloats = static_cast<int>(prefill_columns) / 4 * kFourColumns;
  uint32_t from[kEach];  // of args.input
  float x[kEach][4];

  template <class Tokens>
  __device__ __forceinline__ PrefillInput(const MatmulPrefillArgs& args, const Tokens& tokens) {
#pragma unroll
    for (int i = 0; i < kEach; i++) from[i] = tokens.input_row(min(tokens.first + threadIdx.x / 4 * kEach + i, tokens.end - 1)) * args.input_stride + threadIdx.x % 4 * 4;
  }
  __device__ __forceinline__ void load(const MatmulPrefillArgs& args, uint32_t column) {
#pragma unroll
    for (int i = 0; i < kEach; i++) {
      const float* const at = args.input + (from[i] + column);
      if (kAligned) {
        const float4 v = __ldg(reinterpret_cast<const float4*>(at));
        x[i][0] = v.x, x[i][1] = v.y, x[i][2] = v.z, x[i][3] = v.w;
      } else {
#pragma unroll
        for (int c = 0; c < 4; c++) x[i][c] = threadIdx.x % 4 * 4 + column + c < args.columns ? __ldg(at + c) : 0.0f;
      }
    }
  }
  __device__ __forceinline__ void store(float* buffer) const {
    float* const to = buffer + threadIdx.x % 4 * kFourColumns + threadIdx.x / 4 * kEach;
#pragma unroll
    for (int c = 0; c < 4; c++) {
      if constexpr (kEach == 4) {
        *reinterpret_cast<float4*>(to + c * kTokens) = make_float4(x[0][c], x[1][c], x[2][c], x[3][c]);
      } else if constexpr (kEach == 2) {
        *reinterpret_cast<float2*>(to + c * kTokens) = make_float2(x[0][c], x[1][c]);
      } else {
        to[c * kTokens] = x[0][c];
      }
    }
  }
};

// Blocks a multiprocessor that the compiler is to leave registers for.
constexpr int prefill_residency(int tokens) { return tokens == 128 ? 2 : tokens == 64 ? 3 : 4; }

template <uint32_t kType, int kTokens, bool kAligned>
struct MatmulPrefillShared {
  static constexpr int kWeights = prefill_columns * prefill_rows;  // floats of a buffer
  static constexpr int kTable = 2 * (kWeights + PrefillInput<kTokens, kAligned>::kFloats);
  // Two buffers of weights, then two of activations; in the end sums. Then the type's table.
  __align__(16) float floats[kTable + Format<kType>::kTableBytes / 4];
  bool is_last;
};

// One tile: w is the weight of args that the tile is of, or an expert's part of it.
template <uint32_t kType, int kTokens, bool kAligned, class Tokens>
__device__ __forceinline__ void prefill_product(const MatmulPrefillArgs& args, const PrefillTile& tile, const PrefillWeight& w, const Tokens& tokens,
                                                MatmulPrefillShared<kType, kTokens, kAligned>& memory) {
  using Input = PrefillInput<kTokens, kAligned>;
  constexpr int kRows = prefill_rows, kColumns = prefill_columns, kGroups = kTokens / 32;
  constexpr int kWeights = MatmulPrefillShared<kType, kTokens, kAligned>::kWeights;
  float* const shared = memory.floats;
  float* const inputs = shared + 2 * kWeights;
  const uint32_t thread = threadIdx.x, lane = thread % 32, warp = thread / 32;

  const uint32_t n_blocks = packed_blocks(args.columns);
  const uint32_t block = Tokens::kSplits ? n_blocks * tile.split / w.splits : 0;
  const uint32_t end = Tokens::kSplits ? n_blocks * (tile.split + 1) / w.splits : n_blocks;
  stage_table<Format<kType>>(shared + memory.kTable, prefill_threads);
  const Bases bases = make_bases<Format<kType>::kBits, Format<kType>::kBasesTimes>(shared + memory.kTable);
  PrefillLoader<kType> loader(w.weight, tile.row_tile * kRows + thread, block);
  Input input(args, tokens);

  // A warp makes 64 rows times half of the tokens: 8 x 4 threads, each with 4 rows in either half of its rows, and 4
  // tokens in each 16 of its tokens.
  const uint32_t row4 = warp % 2 * 64 + lane % 8 * 4, token4 = warp / 2 * (kTokens / 2) + lane / 8 * 4;
  float acc[8][4 * kGroups];
#pragma unroll
  for (int i = 0; i < 8; i++) {
#pragma unroll
    for (int j = 0; j < 4 * kGroups; j++) acc[i][j] = 0.0f;
  }
  Fragments<4 * kGroups, kRows, 32, kTokens, 16, Input::kFourColumns, 0> fragments;

  loader.template load<0>(true);
  input.load(args, block * 32);
  loader.template store<0>(shared + thread, kRows, bases);
  input.store(inputs);
  __syncthreads();
  fragments.start(shared + row4, inputs + token4);
  uint32_t odd = 1;  // half of the block, and buffer, that is stored next
#pragma unroll 1
  for (uint32_t step = 2 * block + 1; step <= 2 * end; step++) {
    // Columns of the step after this one. After the last, some are loaded once more.
    const bool more = step < 2 * end;
    if (odd != 0) {
      loader.template load<1>(step + 1 < 2 * end);
    } else {
      loader.template load<0>(true);
    }
    input.load(args, (more ? step : step - 1) * kColumns);
    // A short loop: longer ones do not fit where instructions are kept close by.
#pragma unroll 1
    for (int four = 0; four < kColumns / 4; four++) {
      fragments.multiply_four(acc, [&] {
        if (four != kColumns / 4 - 1) return;
        // All of this step is in registers.
        if (odd != 0) {
          loader.template store<1>(shared + kWeights + thread, kRows, bases);
        } else {
          loader.template store<0>(shared + thread, kRows, bases);
        }
        input.store(inputs + odd * Input::kFloats);
        __syncthreads();
        fragments.a_at = shared + odd * kWeights + row4;
        fragments.b_at = inputs + odd * Input::kFloats + token4;
      });
    }
    odd ^= 1;
  }

  if (Tokens::kSplits && w.splits > 1) {
    const uint32_t row_tiles = packed_tiles(w.weight.rows), at = tile.token_tile * row_tiles + tile.row_tile;
    if (!prefill_add_splits(args.partials + w.partials + size_t{at} * w.splits * (kTokens * prefill_rows), w.splits, tile.split,
                            args.counters + w.first_counter + at, acc, memory.is_last)) {
      return;
    }
  }

  // 32 tokens at a time, 16 of either half, move to lanes with consecutive rows. Not as float4: that would bind sums to
  // registers that have bank conflicts with the activations.
  constexpr int kEach = 32 * 32 / prefill_threads;  // tokens of a thread
  const uint32_t row = tile.row_tile * kRows + lane * 4;
  const bool add_residual = Tokens::kResidual && args.residual != nullptr;
  const float4 bias = args.fours && w.bias != nullptr && row < w.weight.rows ? __ldg(reinterpret_cast<const float4*>(w.bias + row)) : float4{};
  const float factor = value_or(w.factor, 0, 1.0f);
#pragma unroll
  for (int j = 0; j < kGroups; j++) {
    const auto token_of = [&](uint32_t t) { return tokens.first + t / 16 * (kTokens / 2) + 16 * j + t % 16; };
    const auto at = [&](uint32_t token) { return size_t{tokens.output_row(token)} * args.output_stride + w.output_column + row; };
    float4 residual[kEach] = {};
    if (args.fours && add_residual) {
#pragma unroll
      for (int i = 0; i < kEach; i++) {
        const uint32_t token = token_of(warp + i * (prefill_threads / 32));
        if (row < w.weight.rows && token < tokens.end) residual[i] = *reinterpret_cast<const float4*>(args.residual + at(token));
      }
    }
    __syncthreads();
#pragma unroll
    for (int t = 0; t < 4; t++) {
      volatile float* const to = shared + (warp / 2 * 16 + lane / 8 * 4 + t) * kRows + row4;
#pragma unroll
      for (int i = 0; i < 8; i++) to[i / 4 * 32 + i % 4] = acc[i][4 * j + t];
    }
    __syncthreads();
    const auto sum_of = [&](uint32_t t) { return *reinterpret_cast<const float4*>(shared + t * kRows + lane * 4); };
    if (!args.fours) {
#pragma unroll 1
      for (uint32_t t = warp; t < 32; t += prefill_threads / 32) prefill_finish(args, w, tokens, row, token_of(t), sum_of(t));
      continue;
    }
    if (row >= w.weight.rows) continue;
#pragma unroll
    for (int i = 0; i < kEach; i++) {
      const uint32_t t = warp + i * (prefill_threads / 32), token = token_of(t);
      if (token >= tokens.end) continue;
      const float4 sum = sum_of(t);
      const float scale = tokens.scale(token);
      *reinterpret_cast<float4*>(args.output + at(token)) =
          make_float4(finished_sum(sum.x, factor, bias.x, scale, residual[i].x), finished_sum(sum.y, factor, bias.y, scale, residual[i].y),
                      finished_sum(sum.z, factor, bias.z, scale, residual[i].z), finished_sum(sum.w, factor, bias.w, scale, residual[i].w));
    }
  }
}

// Grid: tiles, as prefill_tile_of() numbers them.
template <uint32_t kType, int kTokens, bool kAligned>
__device__ __forceinline__ void matmul_prefill(const MatmulPrefillArgs& args, BlockIndex block, MatmulPrefillShared<kType, kTokens, kAligned>& shared) {
  const PrefillTile tile = prefill_tile_of(args, block.x, (args.n_tokens + kTokens - 1) / kTokens);
  const PrefillTokens tokens = {tile.token_tile * kTokens, args.n_tokens, args.scale};
  prefill_product<kType, kTokens, kAligned>(args, tile, args.weights[tile.which], tokens, shared);
}

template <uint32_t kType, int kTokens, bool kAligned>
__global__ __launch_bounds__(prefill_threads, prefill_residency(kTokens)) void matmul_prefill_kernel(MatmulPrefillArgs args) {
  __shared__ MatmulPrefillShared<kType, kTokens, kAligned> shared;
  __shared__ uint32_t at;
  walk_blocks(args.n_blocks, at, [&](uint32_t block) { matmul_prefill<kType, kTokens, kAligned>(args, {block, 0, 0}, shared); });
}

}  // namespace m40::cuda

#endif
