// Products of 17 to 32 tokens with floating-point weights: decode, to the same bits as matmul_decode.cuh.
//
// There a lane's weights go from registers straight into its sums, eight tokens at a time. Here a warp puts eight
// columns of its weights and activations into shared memory of its own, and each lane multiplies 8 rows with 16 tokens
// of them: a weight is loaded once for 32 tokens. Parts, splits and the order of additions are the same.
#ifndef M40_KERNELS_MATMUL_DECODE_TILED_CUH
#define M40_KERNELS_MATMUL_DECODE_TILED_CUH

#include "matmul_decode.cuh"
#include "matmul_fragments.cuh"

namespace m40::cuda {

// A warp makes 128 rows times 32 tokens: 16 x 2 lanes, each with 8 rows and 16 tokens.
template <uint32_t kType>
struct DecodeTiled {
  using F = Format<kType>;
  static constexpr int kTokens = 32, kRows = 128, kRowLanes = 16, R = kRows / 32;
  static constexpr int kStep = 8, kSteps = 32 / kStep;  // columns that are staged at a time; such steps of a block
  static_assert(F::kColumns == kStep && !F::kHasScale && !F::kHasSuper, "a load of weights is a step");
  static constexpr int kWeights = kStep * kRows, kInputs = kStep * kTokens;
  static constexpr int kWalk = kWeights + kInputs;  // floats of a warp
  static constexpr int kSlots = 32;  // of sums that are added at a time
  static constexpr int kFloats = static_cast<int>(decode_split_parts) * (kWalk > kSlots * 32 ? kWalk : kSlots * 32);

  // Row and token, among those of the warp, of a lane's sum acc[i][j].
  __device__ static __forceinline__ uint32_t row_of(uint32_t lane, int i) { return i % 4 * 32 + i / 4 * kRowLanes + lane % kRowLanes; }
  __device__ static __forceinline__ uint32_t token_of(uint32_t lane, int j) { return j / 4 * 8 + lane / kRowLanes * 4 + j % 4; }

  // acc[i][j] += blocks [block, end) of rows first_row + row_of(i) times the activations of tokens first_token +
  // token_of(j). The warp's memory starts at shared + warp_at.
  __device__ static __forceinline__ void walk(const MatmulDecodeArgs& args, const PackedWeight& weight, uint32_t first_row, uint32_t first_token, uint32_t block,
                                              uint32_t end, float* shared, uint32_t warp_at, float (&acc)[8][16]) {
    const uint32_t lane = threadIdx.x % 32;
    float* const weights = shared + warp_at;    // [kStep][lanes][R]: a lane's rows, which are 32 apart, next to each other
    float* const inputs = weights + kWeights;   // [kStep][kTokens]
    // Where this lane stores. Kept in registers: computing them again for each step costs a dozen instructions.
    float* const weights_to = shared + in_register(warp_at + lane * 4);
    float* const inputs_to = shared + in_register(warp_at + kWeights + lane);
    typename F::Cursor cursor(weight, first_row + lane, block);
    typename F::Quants quants[R];
    float4 ahead[2];
    // A lane stages one token's columns of the step.
    const uint32_t token = first_token + lane < args.n_tokens ? first_token + lane : args.n_tokens - 1;
    uint32_t input = token * args.input_stride + block * 32;
    const auto load_input = [&]() {
#pragma unroll
      for (int i = 0; i < 2; i++) ahead[i] = __ldg(reinterpret_cast<const float4*>(args.input + input) + i);
    };
    const auto load_quants = [&](uint32_t load) {
#pragma unroll
      for (int r = 0; r < R; r++) quants[r] = cursor.quants(static_cast<int>(load), r);
    };
    const auto store_inputs = [&](int k) {
      const float4& x = ahead[k / 4];
      inputs_to[k * kTokens] = k % 4 == 0 ? x.x : k % 4 == 1 ? x.y : k % 4 == 2 ? x.z : x.w;
    };
    // A step's weights, and the activations between them: a clock can issue a store and what makes a weight.
    const auto store_step = [&]() {
#pragma unroll
      for (int k = 0; k < kStep; k++) {
        float w[R];
#pragma unroll
        for (int r = 0; r < R; r++) w[r] = F::weight(quants[r], k, {}, {});
        *reinterpret_cast<float4*>(weights_to + k * kRows) = make_float4(w[0], w[1], w[2], w[3]);
        store_inputs(k);
      }
    };
    Fragments<16, kRows, kRows / 2, kTokens, 8, 4 * kTokens, 2> fragments;

    load_quants(0);
    load_input();
    store_step();
    __syncwarp();
    fragments.start(weights + lane % kRowLanes * 4, inputs + lane / kRowLanes * 4);
    uint32_t step = 0;  // of its block; the one that is stored next
#pragma unroll 1
    for (uint32_t left = (end - block) * kSteps; left > 0; left--) {
      // What comes next is on its way while this is multiplied; at the end, the last of it is loaded once more.
      step = (step + 1) % kSteps;
      if (step == 0 && left > 1) cursor.next_block();
      load_quants(step);
      if (left > 1) input += kStep;
      load_input();
      // A short loop: longer ones do not fit where instructions are kept close by.
#pragma unroll 1
      for (int four = 0; four < kStep / 4; four++) {
        fragments.multiply_four(acc, [&] {
          if (four != kStep / 4 - 1) return;
          // All of this step is in registers.
          __syncwarp();
          store_step();
          __syncwarp();
          fragments.a_at -= kStep * kRows;
          fragments.b_at -= kStep * kTokens;
        });
      }
    }
  }
};

template <uint32_t kType>
struct MatmulDecodeTiledShared {
  __align__(16) float floats[DecodeTiled<kType>::kFloats];
  DecodeTile tile;
  bool is_last;
};

// Grid: pieces, as decode_tile_of() numbers them. Where columns are a multiple of 32 and four of the input can be
// loaded at once.
template <uint32_t kType>
__device__ __forceinline__ void matmul_decode_tiled(const MatmulDecodeArgs& args, BlockIndex block, MatmulDecodeTiledShared<kType>& shared) {
  using Tiled = DecodeTiled<kType>;
  constexpr int kSlots = Tiled::kSlots, kTokens = Tiled::kTokens;
  DecodeTile& tile = shared.tile;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t token_blocks = (args.n_tokens + kTokens - 1) / kTokens;
  if (threadIdx.x == 0) tile = decode_tile_of<kTokens>(args, block.x, token_blocks);
  __syncthreads();
  float acc[8][16];
  clear(acc);
  {
    const DecodeWeight& w = args.weights[tile.which];
    const uint32_t n_blocks = packed_blocks(args.columns), n_parts = w.splits * decode_split_parts, part = tile.split * decode_split_parts + warp;
    const uint32_t begin = part_start(n_blocks, part, n_parts), end = part_start(n_blocks, part + 1, n_parts);
    const uint32_t first_row = tile.row_set * Tiled::kRows, first_token = tile.token_block * kTokens;
    if (begin < end) {
      Tiled::walk(args, w.weight, first_row, first_token, begin, end, shared.floats, warp * Tiled::kWalk, acc);
    }
  }
  const DecodeTile done = tile;  // read once: reading again takes registers
  const DecodeWeight& w = args.weights[done.which];
#pragma unroll
  for (int from = 0; from < 8 * 16; from += kSlots) {
    __syncthreads();
    // One by one: sums that are stored four at a time are bound to registers in which they and the activations meet in
    // a bank.
    volatile float* const to = shared.floats + warp * kSlots * 32 + lane;
#pragma unroll
    for (int s = 0; s < kSlots; s++) to[s * 32] = acc[(from + s) % 8][(from + s) / 8];
    __syncthreads();
    for (int s = warp; s < kSlots; s += decode_split_parts) {
      float sum = shared.floats[s * 32 + lane];
#pragma unroll
      for (int p = 1; p < static_cast<int>(decode_split_parts); p++) sum += shared.floats[(p * kSlots + s) * 32 + lane];
      const uint32_t row = done.row_set * Tiled::kRows + Tiled::row_of(lane, (from + s) % 8);
      decode_take(args, w, done.split, row, done.token_block * kTokens + Tiled::token_of(lane, (from + s) / 8), sum);
    }
  }
  decode_add_splits<Tiled::kRows, kTokens>(args, w, done, token_blocks, shared.is_last);
}

template <uint32_t kType>
__global__ __launch_bounds__(decode_split_parts * 32, 1) void matmul_decode_tiled_kernel(MatmulDecodeArgs args) {
  __shared__ MatmulDecodeTiledShared<kType> shared;
  matmul_decode_tiled<kType>(args, launched_block(), shared);
}

}  // namespace m40::cuda

#endif
