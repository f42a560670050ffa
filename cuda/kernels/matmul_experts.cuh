// Products of decode rows with the weights of an expert each.
//
// Slots (rows of the output) that share an expert are multiplied together, up to eight at a time, so that a step reads
// an expert's weights once: the tiles of expert_groups.cuh. Lanes are rows, with decode_walk.cuh. For
// every shape, the columns are cut into four parts, one a warp. A thread block has two weights, gate and up, of one set
// of rows, or two sets of rows of one weight. So a sum is over each part from its first column to its last and then
// over the four parts, whichever slots share the expert. The block applies the gated activation of gate and up before
// it stores them. The thread block with the last of a token's slots can add them up, as expert_sum does. The rows that
// whole tiles leave of a prompt's groups are multiplied here, too: there each warp walks over all columns, so that a
// sum has the bits of matmul_prefill_experts.cuh.
#ifndef M40_KERNELS_MATMUL_EXPERTS_CUH
#define M40_KERNELS_MATMUL_EXPERTS_CUH

#include "elementwise.cuh"
#include "expert_groups.cuh"
#include "matmul_decode.cuh"

namespace m40::cuda {

constexpr uint32_t expert_threads = 2 * expert_parts * 32;
constexpr uint32_t expert_tile_rows = 8;  // slots of a tile

// The sum of a token's slots, once all of them are there; as ExpertSumArgs.
struct ExpertSlotSum {
  const float* weights;  // [tokens, weights_stride], or nullptr: ones
  uint32_t weights_stride;
  const float* residual;  // or nullptr
  uint32_t residual_stride;
  float* output;  // nullptr: no sum
  uint32_t output_stride;
  float scale;
};

struct MatmulExpertsArgs {
  MatmulDecodeArgs decode;  // its tokens are slots; there are no splits, counters are of tokens and row_blocks for a sum
  ExpertGroups groups;      // without slots and tiles, each slot is a tile
  const uint32_t* experts;  // [tokens, experts_stride]
  uint32_t experts_stride;
  uint32_t n_experts;       // the shared one included
  const void* shared[2][2];  // of each weight, the planes of the shared expert's, or nullptr
  uint32_t parts;           // warps that share the columns: expert_parts, or 1
  uint32_t row_blocks;      // thread blocks of a tile
  uint32_t most_tokens;     // slots that may be multiplied at a time
  bool input_per_slot;
  bool activates;           // the output is f(first weight's product) * second's, at the first's columns
  uint32_t activation;
  float alpha, limit;       // of the clamped SwiGLU
  uint32_t copied;          // values of a slot's own input that are copied after its sums; with one weight
  const float* slot_scale;  // [tokens, slot_scale_stride]: what a slot's row is multiplied by, or nullptr
  uint32_t slot_scale_stride;
  ExpertSlotSum sum;        // with one weight
};

// Sums of a lane that are added at a time.
template <int T, int R>
__host__ __device__ constexpr int expert_sum_slots() {
  return R * T < 16 ? R * T : 16;
}

template <uint32_t kType, int T, int R>
struct ExpertTileShared {
  static constexpr int kWalk = walk_floats<kType, T, R>();
  static constexpr int kFloats = 2 * static_cast<int>(expert_parts) * larger(kWalk, expert_sum_slots<T, R>() * 32);
};

// What a thread block multiplies at a time. What is needed again after the walk waits in shared memory: registers are
// short.
struct ExpertPiece {
  uint32_t expert, row_block;
  uint32_t first, count, end;  // places in the list of slots: of these, and the end of their tile
  uint32_t slots[expert_tile_rows];   // beyond count, some of the tile
  uint32_t inputs[expert_tile_rows];  // where the slots' rows start in the input
  bool last[expert_tile_rows];        // whether all slots of this slot's token are done now
  const void* planes[2][2];           // of each weight, the expert's: all of a tile's pieces have them
};

template <uint32_t kType, int R, int kMost>
struct MatmulExpertsShared {
  static constexpr int kTable = larger(ExpertTileShared<kType, kMost, R>::kFloats, ExpertTileShared<kType, 1, R>::kFloats);  // where the type's is
  __align__(16) float floats[kTable + Format<kType>::kTableBytes / 4];
  ExpertPiece piece;
};

// The warps of a thread block that share the columns of a set of rows are a unit; with two weights, units have one and
// the other in turn.
struct ExpertUnits {
  uint32_t warps, n;
  bool pair;
  __device__ __forceinline__ ExpertUnits(uint32_t parts, uint32_t n_weights)
      : warps(parts == 1 ? 1 : expert_parts), n(expert_threads / 32 / (parts == 1 ? 1 : expert_parts)), pair(n_weights == 2) {}
  __device__ __forceinline__ uint32_t weight_of(uint32_t unit) const { return pair ? unit % 2 : 0; }
  __device__ __forceinline__ uint32_t row_set_of(uint32_t row_block, uint32_t unit) const { return pair ? (row_block * n + unit) / 2 : row_block * n + unit; }
};

template <int T>
struct PieceInputs : LaunchInputs {
  static constexpr bool kHeld = T < 4;
  const ExpertPiece& piece;
  __device__ __forceinline__ explicit PieceInputs(const ExpertPiece& of) : piece(of) {}
  __device__ __forceinline__ uint32_t operator()(uint32_t t) const { return piece.inputs[t]; }
};

// Adds up the sums of the warps that share columns, and stores them. shared: where the warps' sums have room.
template <int T, int R>
__device__ __forceinline__ void store_expert_sums(const MatmulExpertsArgs& args, const ExpertPiece& piece, float* shared, const float (&acc)[R][T]);

// The slots of a piece, T or fewer, times 32 * R rows of two weights, or 2 * 32 * R of one. kInPlace: as WalkedFormat
// has it.
template <uint32_t kType, int T, int R, bool kInPlace>
__device__ __forceinline__ void expert_product(const MatmulExpertsArgs& args, const ExpertPiece& piece, const void* table, float* shared) {
  using Shared = ExpertTileShared<kType, T, R>;
  float acc[R][T];
  clear(acc);
  {
    const ExpertUnits units(args.parts, args.decode.n_weights);
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, unit = warp / units.warps, part = warp % units.warps;
    const uint32_t w = units.weight_of(unit);
    const PackedWeight& all = args.decode.weights[w].weight;
    const uint32_t n_blocks = packed_blocks(args.decode.columns), begin = part_start(n_blocks, part, args.parts), end = part_start(n_blocks, part + 1, args.parts);
    const uint32_t first_row = units.row_set_of(piece.row_block, unit) * (32 * R);
    if (begin < end && first_row < all.rows) {
      const PackedWeight weight = {kType, 1, all.rows, args.decode.columns, {piece.planes[w][0], piece.planes[w][1]}};
      decode_walk<kType, T, R, no_prologue, false, kInPlace>(args.decode, weight, first_row + lane, PieceInputs<T>(piece), begin, end,
                                                            table, shared + warp * Shared::kWalk, [](float(&)[T]) {}, acc);
    }
  }
  store_expert_sums<T, R>(args, piece, shared, acc);
}

template <int T, int R>
__device__ __forceinline__ void store_expert_sums(const MatmulExpertsArgs& args, const ExpertPiece& piece, float* shared, const float (&acc)[R][T]) {
  constexpr int kSlots = expert_sum_slots<T, R>();
  const uint32_t thread = thread_index(), lane = thread % 32, warp = thread / 32;
  const ExpertUnits units(in_register(args.parts), in_register(args.decode.n_weights));
  const auto finished = [&](uint32_t unit, uint32_t s, uint32_t row, uint32_t slot) {
    const float* const from = shared + (unit * units.warps * kSlots + s) * 32 + lane;
    float sum = from[0];
    if (units.warps != 1) {
#pragma unroll
      for (uint32_t p = 1; p < expert_parts; p++) sum += from[p * kSlots * 32];
    }
    const DecodeWeight& w = args.decode.weights[units.weight_of(unit)];
    float scale = 1;
    if (args.slot_scale != nullptr) scale = args.slot_scale[size_t{slot / args.groups.n_used} * args.slot_scale_stride + slot % args.groups.n_used];
    return finished_sum(sum, value_or(w.factor, piece.expert, 1.0f), value_or(w.bias, size_t{piece.expert} * w.weight.rows + row, 0.0f), scale, 0.0f);
  };
#pragma unroll
  for (int from = 0; from < R * T; from += kSlots) {
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kSlots; s++) shared[(warp * kSlots + s) * 32 + lane] = acc[(from + s) / T][(from + s) % T];
    __syncthreads();
#pragma unroll 1
    for (uint32_t i = warp; i < units.n * kSlots; i += expert_threads / 32) {
      const uint32_t unit = i / kSlots, s = i % kSlots, t = (from + s) % T, row = units.row_set_of(piece.row_block, unit) * (32 * R) + (from + s) / T * 32 + lane;
      if (args.activates && unit % 2 != 0) continue;
      const DecodeWeight& w = args.decode.weights[units.weight_of(unit)];
      if (t >= piece.count || row >= w.weight.rows) continue;
      const uint32_t slot = piece.slots[t];
      float value = finished(unit, s, row, slot);
      if (args.activates) value = gated(args.activation, args.alpha, args.limit, value, finished(unit + 1, s, row, slot));
      args.decode.output[size_t{slot} * args.decode.output_stride + w.output_column + row] = value;
    }
  }
}

// Adds up the slots of the tokens of which this piece has the last one, in the rows of this thread block.
template <int R>
__device__ __forceinline__ void add_slots(const MatmulExpertsArgs& args, ExpertPiece& piece) {
  constexpr uint32_t kRows = expert_threads / 32 / expert_parts * 32 * R;
  const uint32_t n_used = args.groups.n_used, thread = thread_index();
  __threadfence();
  __syncthreads();
  if (thread < piece.count) {
    uint32_t* const counter = args.decode.counters + piece.slots[thread] / n_used * args.row_blocks + piece.row_block;
    const bool last = atomicAdd(counter, 1u) == n_used - 1;
    if (last) *counter = 0;
    piece.last[thread] = last;
  }
  __syncthreads();
  __threadfence();
  const uint32_t row = piece.row_block * kRows + thread;
  static_assert(kRows <= expert_threads, "a thread has one row at most");
  if (thread >= kRows || row >= args.decode.weights[0].weight.rows) return;
#pragma unroll 1
  for (uint32_t t = 0; t < piece.count; t++) {
    if (!piece.last[t]) continue;
    const size_t token = piece.slots[t] / n_used;
    const float* const from = args.decode.output + token * n_used * args.decode.output_stride + row;
    float sum = 0;
#pragma unroll 1
    for (uint32_t slot = 0; slot < n_used; slot += 4) {
      float value[4], weight[4];
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) {
        const bool there = slot + i < n_used;
        value[i] = there ? __ldcg(from + size_t{slot + i} * args.decode.output_stride) : 0.0f;
        weight[i] = there && args.sum.weights != nullptr ? args.sum.weights[token * args.sum.weights_stride + slot + i] : 1.0f;
      }
#pragma unroll
      for (uint32_t i = 0; i < 4; i++) {
        if (slot + i < n_used) sum = fmaf(weight[i], value[i], sum);
      }
    }
    const float residual = args.sum.residual == nullptr ? 0.0f : args.sum.residual[token * args.sum.residual_stride + row];
    args.sum.output[token * args.sum.output_stride + row] = fmaf(args.sum.scale, sum, residual);
  }
}

// Copies the values after the multiplied ones of a tile's slots to the place after their sums.
__device__ __forceinline__ void copy_behind(const MatmulExpertsArgs& args, const ExpertTile& tile) {
#pragma unroll 1
  for (uint32_t place = tile.first; place < tile.end; place++) {
    const uint32_t slot = args.groups.slots != nullptr ? __ldg(args.groups.slots + place) : place;
    const float* const from = args.decode.input + size_t{slot} * args.decode.input_stride + args.decode.columns;
    float* const to = args.decode.output + size_t{slot} * args.decode.output_stride + args.decode.weights[0].weight.rows;
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < args.copied; i += expert_threads) to[i] = from[i];
  }
}

// What the rows of a launch are.
enum class ExpertRows { kAlone, kTiles, kRests };  // decoded ones, a slot each tile or several; what whole tiles leave of a prompt's

// Grid: tiles times row_blocks. kMost: slots that the compiled code multiplies at a time.
template <uint32_t kType, int R, int kMost, ExpertRows kRows>
__device__ __forceinline__ void matmul_experts(const MatmulExpertsArgs& args, BlockIndex block, MatmulExpertsShared<kType, R, kMost>& shared) {
  constexpr bool kAlone = kRows == ExpertRows::kAlone, kInPlace = kRows != ExpertRows::kRests;
  ExpertPiece& piece = shared.piece;
  const ExpertGroups& groups = args.groups;
  const uint32_t most = kMost < args.most_tokens ? kMost : args.most_tokens, number = block.x / args.row_blocks;
  ExpertTile tile = {0, number, number + 1};
  if (groups.tiles != nullptr) {
    tile = groups.tiles[number];
  } else {
    tile.expert = __ldg(args.experts + size_t{number / groups.n_used} * args.experts_stride + number % groups.n_used);
  }
  if (tile.first == tile.end || tile.expert >= args.n_experts) return;
  if (threadIdx.x < args.decode.n_weights) {
    const PackedWeight weight = packed_expert(args.decode.weights[threadIdx.x].weight, args.shared[threadIdx.x], tile.expert);
    piece.planes[threadIdx.x][0] = weight.planes[0], piece.planes[threadIdx.x][1] = weight.planes[1];
  }
  if (args.copied != 0 && block.x % args.row_blocks == 0) copy_behind(args, tile);
  const float* const table = shared.floats + shared.kTable;
  stage_table<Format<kType>>(shared.floats + shared.kTable, expert_threads);
#pragma unroll 1
  for (uint32_t first = tile.first;;) {
    if (threadIdx.x < expert_tile_rows) {
      const uint32_t place = min(first + threadIdx.x, tile.end - 1);
      const uint32_t slot = groups.slots != nullptr ? __ldg(groups.slots + place) : place;
      piece.slots[threadIdx.x] = slot;
      piece.inputs[threadIdx.x] = (args.input_per_slot ? slot : slot / groups.n_used) * args.decode.input_stride;
      if (threadIdx.x == 0) {
        piece.expert = tile.expert, piece.row_block = block.x % args.row_blocks;
        piece.first = first, piece.count = min(tile.end - first, most), piece.end = tile.end;
      }
    }
    __syncthreads();
    const uint32_t count = kAlone ? 1 : piece.count;
    if (kMost > 4 && count > 4) {
      expert_product<kType, kMost < 8 ? 1 : 8, R, kInPlace>(args, piece, table, shared.floats);
    } else if (kMost > 2 && count > 2) {
      expert_product<kType, kMost < 4 ? 1 : 4, R, kInPlace>(args, piece, table, shared.floats);
    } else if (kMost > 1 && count > 1) {
      expert_product<kType, kMost < 2 ? 1 : 2, R, kInPlace>(args, piece, table, shared.floats);
    } else {
      expert_product<kType, 1, R, kInPlace>(args, piece, table, shared.floats);
    }
    if (args.sum.output != nullptr) add_slots<R>(args, piece);
    if (kAlone) return;
    first = piece.first + piece.count;
    tile = {piece.expert, first, piece.end};
    if (first == tile.end) return;
    __syncthreads();
  }
}

template <uint32_t kType, int R, int kMost, ExpertRows kRows, int kResidency>
__global__ __launch_bounds__(expert_threads, kResidency) void matmul_experts_kernel(MatmulExpertsArgs args) {
  __shared__ MatmulExpertsShared<kType, R, kMost> shared;
  matmul_experts<kType, R, kMost, kRows>(args, launched_block(), shared);
}

}  // namespace m40::cuda

#endif
