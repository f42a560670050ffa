// Products of 17 to 32 tokens with packed weights: decode, to the same bits as matmul_decode.cuh.
//
// There a lane's weights go from registers straight into its sums, eight tokens at a time, and a third of the instructions
// turn quants into floats. Here a warp puts eight columns of its weights and activations into shared memory of its own,
// and each lane multiplies 8 rows with 8 tokens of them: a quant is unpacked once for 32 tokens. Parts, splits and
// the order of additions are the same.
#ifndef M40_KERNELS_MATMUL_DECODE_TILED_CUH
#define M40_KERNELS_MATMUL_DECODE_TILED_CUH

#include "matmul_decode.cuh"

namespace m40::cuda {

// A warp makes 64 rows times 32 tokens: 8 x 4 lanes, each with 4 rows and 4 tokens in either half of either.
template <uint32_t kType>
struct DecodeTiled {
  using F = Format<kType>;
  static constexpr int kTokens = 32, kRowLanes = 8, kRows = kRowLanes * 8, R = kRows / 32;
  static constexpr int kStep = 8;  // columns
  static constexpr int kWeights = kStep * kRows, kInputs = kStep * kTokens;
  static constexpr int kWalk = kWeights + kInputs;  // floats of a warp
  static constexpr int kSlots = 16;
  static constexpr int kFloats = static_cast<int>(decode_split_parts) * (kWalk > kSlots * 32 ? kWalk : kSlots * 32);

  // acc[i][j] += blocks [block, end) of rows first_row + row(i) times the activations of tokens first_token + token(j).
  __device__ static __forceinline__ void walk(const DecodeArgs& args, const PackedWeight& weight, uint32_t first_row, uint32_t first_token, uint32_t block,
                                              uint32_t end, float* shared, float (&acc)[8][8]) {
    const uint32_t lane = threadIdx.x % 32;
    const Bases bases = make_bases<F::kBits>();
    float* const weights = shared;              // [kStep][kRows]
    float* const inputs = shared + kWeights;    // [kStep][kTokens]
    const float* const weights_from = weights + lane % kRowLanes * 4;
    const float* const inputs_from = inputs + lane / kRowLanes * 4;
    typename F::Cursor cursor(weight, first_row + lane, block);
    typename F::Quants quants[R];
    typename F::Scale scale[R];
    typename F::Super super[R];
    uint32_t word[R];
    // A lane stages one token's columns of the step.
    const uint32_t token = first_token + lane < args.n_tokens ? first_token + lane : args.n_tokens - 1;
    const uint32_t input = token * args.input_stride;
    float4 ahead[2];
    const auto load_input = [&](uint32_t column) {
#pragma unroll
      for (int i = 0; i < 2; i++) ahead[i] = __ldg(reinterpret_cast<const float4*>(args.input + (input + column + 4 * i)));
    };
    // Of block b, where the cursor already is.
    const auto load_scales = [&](uint32_t b) {
#pragma unroll
      for (int r = 0; r < R; r++) {
        scale[r] = cursor.scale(r);
        word[r] = 0;
        if constexpr (F::kSuperWords != 0) word[r] = cursor.super_word(r, b % 8 / (8 / F::kSuperWords));
      }
    };
    const auto open_super = [&]() {
#pragma unroll
      for (int r = 0; r < R; r++) super[r] = F::open(cursor.super(r));
    };

#pragma unroll
    for (int r = 0; r < R; r++) quants[r] = cursor.quants(0, r);
    load_scales(block);
    load_input(block * 32);
    if (F::kHasSuper) open_super();
#pragma unroll 1
    for (; block < end; block++) {
      const bool more = block + 1 < end;
      typename F::Factors factors[R];
#pragma unroll
      for (int r = 0; r < R; r++) factors[r] = F::factors(super[r], scale[r], word[r], block);
#pragma unroll
      for (int step = 0; step < 4; step++) {
        constexpr int kSteps = F::kColumns / kStep;  // of a load
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
          for (int k = 0; k < kStep; k++) weights[k * kRows + r * 32 + lane] = F::weight(quants[r], step % kSteps * kStep + k, factors[r], bases);
        }
#pragma unroll
        for (int i = 0; i < 2; i++) {
          float* const to = inputs + 4 * i * kTokens + lane;
          to[0] = ahead[i].x, to[kTokens] = ahead[i].y, to[2 * kTokens] = ahead[i].z, to[3 * kTokens] = ahead[i].w;
        }
        __syncwarp();
        // What comes next is on its way while this is multiplied; at the end, the last block is loaded once more.
        if (step == 3) {
          if (more) cursor.next_block();
          if (F::kHasSuper && more && (block + 1) % 8 == 0) cursor.next_super();
          load_scales(block + 1);
        }
        if ((step + 1) % kSteps == 0) {
#pragma unroll
          for (int r = 0; r < R; r++) quants[r] = cursor.quants((step + 1) % 4 / kSteps, r);
        }
        load_input(step < 3 ? block * 32 + (step + 1) * kStep : more ? block * 32 + 32 : block * 32);
#pragma unroll
        for (int k = 0; k < kStep; k++) {
          const float4 a0 = *reinterpret_cast<const float4*>(weights_from + k * kRows), a1 = *reinterpret_cast<const float4*>(weights_from + k * kRows + kRows / 2);
          const float4 b0 = *reinterpret_cast<const float4*>(inputs_from + k * kTokens), b1 = *reinterpret_cast<const float4*>(inputs_from + k * kTokens + kTokens / 2);
          const float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
          const float b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
          for (int i = 0; i < 8; i++) {
#pragma unroll
            for (int j = 0; j < 8; j++) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
          }
        }
        __syncwarp();
      }
      if (F::kHasSuper && (block + 1) % 8 == 0 && more) open_super();
    }
  }
};

// Where columns are a multiple of 32 and four of the input can be loaded at once. The weights of a launch are of kType or
// of kOther.
template <uint32_t kType, uint32_t kOther>
__global__ __launch_bounds__(decode_split_parts * 32, 2) void matmul_decode_tiled(DecodeArgs args) {
  using Tiled = DecodeTiled<kType>;
  constexpr int kSlots = Tiled::kSlots, kTokens = Tiled::kTokens;
  __shared__ __align__(16) float shared[Tiled::kFloats];
  __shared__ bool is_last;
  __shared__ DecodeTile tile;
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t token_blocks = (args.n_tokens + kTokens - 1) / kTokens;
  if (threadIdx.x == 0) tile = decode_tile_of(args, token_blocks);
  __syncthreads();
  float acc[8][8];
  clear(acc);
  {
    const DecodeWeight& w = args.weights[tile.which];
    const uint32_t n_blocks = packed_blocks(args.columns), n_parts = w.splits * decode_split_parts, part = tile.split * decode_split_parts + warp;
    const uint32_t begin = part_start(n_blocks, part, n_parts), end = part_start(n_blocks, part + 1, n_parts);
    const uint32_t first_row = tile.row_set * Tiled::kRows, first_token = tile.token_block * kTokens;
    float* const mine = shared + warp * Tiled::kWalk;
    if (begin < end) {
      if (kType == kOther || w.weight.type == kType) {
        Tiled::walk(args, w.weight, first_row, first_token, begin, end, mine, acc);
      } else {
        DecodeTiled<kOther>::walk(args, w.weight, first_row, first_token, begin, end, mine, acc);
      }
    }
  }
  const DecodeWeight& w = args.weights[tile.which];
#pragma unroll
  for (int from = 0; from < 64; from += kSlots) {
    __syncthreads();
#pragma unroll
    for (int s = 0; s < kSlots; s++) shared[(warp * kSlots + s) * 32 + lane] = acc[(from + s) % 8][(from + s) / 8];
    __syncthreads();
    for (int s = warp; s < kSlots; s += decode_split_parts) {
      float sum = shared[s * 32 + lane];
#pragma unroll
      for (int p = 1; p < static_cast<int>(decode_split_parts); p++) sum += shared[(p * kSlots + s) * 32 + lane];
      const int i = (from + s) % 8, j = (from + s) / 8;
      const uint32_t row = tile.row_set * Tiled::kRows + i / 4 * (Tiled::kRows / 2) + lane % Tiled::kRowLanes * 4 + i % 4;
      const uint32_t token = tile.token_block * kTokens + j / 4 * (kTokens / 2) + lane / Tiled::kRowLanes * 4 + j % 4;
      decode_take(args, w, tile.split, row, token, sum);
    }
  }
  decode_add_splits<Tiled::kRows, kTokens>(args, w, tile, token_blocks, &is_last);
}

}  // namespace m40::cuda

#endif
