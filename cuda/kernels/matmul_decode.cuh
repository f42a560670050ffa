// Products of few tokens with packed weights: decode.
//
// A warp owns 32 * R rows and T tokens over a part of the columns, and walks them alone (decode_walk.cuh). The columns of
// a weight are cut into splits, one a thread block, and those into eight parts, one a warp; how many splits there are
// follows from the weight's shape alone. So an output is summed in one order, whatever T, R and the number of tokens are:
// over each part from its first column to its last, then the eight parts of a split, then the splits. The last thread
// block of a set of rows to finish adds the splits' sums, which lie in scratch.
#ifndef M40_KERNELS_MATMUL_DECODE_CUH
#define M40_KERNELS_MATMUL_DECODE_CUH

#include "block.cuh"
#include "decode_walk.cuh"
#include "matmul_splits.cuh"

namespace m40::cuda {

// The first block of a part; n_parts is a power of two. (A row has fewer than 2^26 blocks, a weight at most 64 parts.)
__device__ __forceinline__ uint32_t part_start(uint32_t n_blocks, uint32_t part, uint32_t n_parts) { return n_blocks * part >> (31 - __clz(n_parts)); }

template <int R, int T>
__device__ __forceinline__ void clear(float (&acc)[R][T]) {
#pragma unroll
  for (int r = 0; r < R; r++) {
#pragma unroll
    for (int t = 0; t < T; t++) acc[r][t] = 0.0f;
  }
}

// Shared memory of a thread block: what its warps need to walk, and afterwards their sums, kSlots of a lane at a time;
// then the type's table.
template <uint32_t kType, int T, int R>
struct DecodeSplitShared {
  static constexpr int kSlots = R * T < 16 ? R * T : 16;
  static constexpr int kWalk = walk_floats<kType, T, R>();
  static constexpr int kTable = static_cast<int>(decode_split_parts) * (kWalk > kSlots * 32 ? kWalk : kSlots * 32);  // where it starts
  static constexpr int kFloats = kTable + Format<kType>::kTableBytes / 4;
};

// The sums of one split of 32 * R rows and T tokens; input_of gives the activations. take(i, sum) gets sum i, of token
// i / 32 % T and of row i / (32 T) * 32 + i % 32 among them, in the thread of the block that owns it (the same for all
// splits).
template <uint32_t kType, int T, int R, int kPrologue, bool kOneType, class InputOf, class Prepare, class Take>
__device__ __forceinline__ void decode_split(const MatmulDecodeArgs& args, const PackedWeight& weight, uint32_t first_row, const InputOf& input_of, uint32_t split,
                                             uint32_t n_splits, float* shared, const Prepare& prepare, const Take& take) {
  using Shared = DecodeSplitShared<kType, T, R>;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t n_blocks = packed_blocks(args.columns), n_parts = n_splits * decode_split_parts, part = split * decode_split_parts + warp;
  const uint32_t begin = part_start(n_blocks, part, n_parts), end = part_start(n_blocks, part + 1, n_parts);
  stage_table<Format<kType>>(shared + Shared::kTable, decode_split_parts * 32);
  float acc[R][T];
  clear(acc);
  if (kPrologue != no_prologue || begin < end) {
    decode_walk<kType, T, R, kPrologue, kOneType>(args, weight, first_row + lane, input_of, begin, end, shared + Shared::kTable,
                                        shared + warp * Shared::kWalk, prepare, acc);
  }
#pragma unroll
  for (int from = 0; from < R * T; from += Shared::kSlots) {
    __syncthreads();
#pragma unroll
    for (int s = 0; s < Shared::kSlots; s++) shared[(warp * Shared::kSlots + s) * 32 + lane] = acc[(from + s) / T][(from + s) % T];
    __syncthreads();
    for (int s = warp; s < Shared::kSlots; s += decode_split_parts) {
      float sum = shared[s * 32 + lane];
#pragma unroll
      for (int p = 1; p < static_cast<int>(decode_split_parts); p++) sum += shared[(p * Shared::kSlots + s) * 32 + lane];
      take((from + s) * 32 + lane, sum);
    }
  }
}

template <uint32_t kType, int T, int R, uint32_t kOther>
constexpr int decode_split_floats = larger(DecodeSplitShared<kType, T, R>::kFloats, DecodeSplitShared<kOther, T, R>::kFloats);

// Where the parts of the shared memory are. In a launch they lie by themselves: as members of one struct they cost
// floats with eight tokens 4% on an H200, and Q5_0 with one token eight instructions of 538 on an M40.
template <uint32_t kType, int T, int R, int kPrologue, uint32_t kOther>
struct MatmulDecodeShared {
  float (&split)[decode_split_floats<kType, T, R, kOther>];  // 16-byte aligned
  float (&norm_sums)[T][kPrologue == norm_prologue ? norm_warps : 1];
  DecodeTile& tile;  // what is needed again after the walk waits here, for registers are short
  bool& is_last;
};

// Grid: pieces, as decode_tile_of() numbers them. The weights of a launch are of kType or of kOther. inputs(args,
// token): an InputOf of the tokens from that one on, which lives until its sums are added up.
template <uint32_t kType, int T, int R, int kPrologue, int kResidency, uint32_t kOther, class Inputs>
__device__ __forceinline__ void matmul_decode(const MatmulDecodeArgs& args, BlockIndex block,
                                              const MatmulDecodeShared<kType, T, R, kPrologue, kOther>& shared, const Inputs& inputs) {
  const uint32_t token_blocks = (args.n_tokens + T - 1) / T;
  // Where there are registers for it, every thread finds out for itself, and none waits.
  constexpr bool kAlone = T == 1 || (T == 8 && Format<kType>::kHasSuper && kResidency > 1);
  const DecodeTile found = kAlone ? decode_tile_of<T>(args, block.x, token_blocks) : DecodeTile{};
  if (threadIdx.x == 0) shared.tile = kAlone ? found : decode_tile_of<T>(args, block.x, token_blocks);
  if (!kAlone) __syncthreads();
  const DecodeTile& here = kAlone ? found : shared.tile;
  const auto take = [&](uint32_t i, float sum) {
    const uint32_t row = shared.tile.row_set * (32 * R) + i / (32 * T) * 32 + i % 32, token = shared.tile.token_block * T + i / 32 % T;
    decode_take(args, args.weights[shared.tile.which], shared.tile.split, row, token, sum);
  };
  const auto prepare = [&](float(&scales)[T]) {
    if constexpr (kPrologue == norm_prologue) {
      static_assert(norm_warps % decode_split_parts == 0, "a warp does the work of whole warps of norm.cuh");
      norm_scales<T>(args, here.token_block * T, shared.norm_sums, scales);
      if (args.normed != nullptr) keep_normed(args, block.x, scales[0]);
    }
  };
  const DecodeWeight& w = args.weights[here.which];
  const uint32_t first_row = here.row_set * (32 * R), first_token = here.token_block * T;
  if (kType == kOther || w.weight.type == kType) {
    decode_split<kType, T, R, kPrologue, kType == kOther>(args, w.weight, first_row, inputs(args, first_token), here.split, w.splits, shared.split, prepare, take);
  } else {
    decode_split<kOther, T, R, kPrologue, kType == kOther>(args, w.weight, first_row, inputs(args, first_token), here.split, w.splits, shared.split, prepare, take);
  }
  decode_add_splits<32 * R, T>(args, args.weights[shared.tile.which], shared.tile, token_blocks, shared.is_last);
}

template <int T>
struct LaunchedInputs {
  __device__ __forceinline__ DecodeInputs<T> operator()(const MatmulDecodeArgs& args, uint32_t first_token) const { return {args, first_token}; }
};

template <uint32_t kType, int T, int R, int kPrologue, int kResidency, uint32_t kOther>
__global__ __launch_bounds__(decode_split_parts * 32, kResidency) void matmul_decode_kernel(MatmulDecodeArgs args) {
  __shared__ __align__(16) float split[decode_split_floats<kType, T, R, kOther>];
  __shared__ float norm_sums[T][kPrologue == norm_prologue ? norm_warps : 1];
  __shared__ DecodeTile tile;
  __shared__ bool is_last;
  matmul_decode<kType, T, R, kPrologue, kResidency, kOther>(args, launched_block(),
                                                                    MatmulDecodeShared<kType, T, R, kPrologue, kOther>{split, norm_sums, tile, is_last}, LaunchedInputs<T>{});
}

}  // namespace m40::cuda

#endif
