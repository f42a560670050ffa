// Products of many tokens with packed weights: prefill. A thread block makes 128 rows times 128 tokens, a thread 8 x 8 of
// them, 16 columns at a time: weights turn into floats on their way into shared memory, which is double-buffered. Columns
// are added from first to last in one chain, so an output does not depend on how many tokens there are.
#ifndef M40_KERNELS_MATMUL_PREFILL_CUH
#define M40_KERNELS_MATMUL_PREFILL_CUH

#include "formats.cuh"

namespace m40::cuda {

constexpr int prefill_rows = 128, prefill_tokens = 128, prefill_columns = 16, prefill_threads = 256;

struct PrefillWeight {
  PackedWeight weight;
  const float* bias;  // or nullptr
  uint32_t output_column;
  uint32_t first_tile;  // of the launch's tiles of rows
};

struct PrefillArgs {
  const float* input;  // n_tokens * input_stride is below 2^32
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  const float* residual;  // or nullptr
  uint32_t n_tokens;
  uint32_t columns;
  uint32_t n_weights;
  bool aligned;  // columns are a multiple of 32, and four of the input can be loaded at once
  PrefillWeight weights[3];
};

// A thread's share of a tile's weights: 8 columns of one row, in half `kHalf` of the 16 that a step takes.
template <uint32_t kType>
struct PrefillLoader {
  using F = Format<kType>;
  typename F::Cursor cursor;
  typename F::Quants quants;
  typename F::Scale scale;
  typename F::Super super;
  typename F::Factors factors;
  uint32_t word, block;

  __device__ __forceinline__ PrefillLoader(const PackedWeight& weight, uint32_t row) : cursor(weight, row, 0), word(0), block(0) {
    super = F::open(cursor.super(0));
  }
  // Step 0 of a block takes its columns 0 to 15, step 1 the others.
  template <int kStep>
  __device__ __forceinline__ void load(int half) {
    if (F::kColumns == 32) {
      if (kStep == 0) quants = cursor.quants(0, 0);
    } else if (F::kColumns == 16) {
      quants = cursor.quants(kStep, 0);
    } else {
      quants = cursor.quants(2 * kStep + half, 0);
    }
    if (kStep == 0) {
      if (F::kHasSuper && block % 8 == 0 && block != 0) {
        cursor.next_super();
        super = F::open(cursor.super(0));
      }
      if constexpr (F::kSuperWords != 0) word = cursor.super_word(0, block % 8 / (8 / F::kSuperWords));
      scale = cursor.scale(0);
    } else {
      cursor.next_block();
      block++;
    }
  }
  template <int kStep, int kHalf>
  __device__ __forceinline__ void store(float* to, int stride, const Bases& bases) {
    constexpr int first = F::kColumns == 32 ? 16 * kStep + 8 * kHalf : F::kColumns == 16 ? 8 * kHalf : 0;
    if (kStep == 0) factors = F::factors(super, scale, word, block);
#pragma unroll
    for (int i = 0; i < 8; i++) to[i * stride] = F::weight(quants, first + i, factors, bases);
  }
};

template <uint32_t kType, bool kAligned>
__global__ __launch_bounds__(prefill_threads, kAligned ? 2 : 1) void matmul_prefill(PrefillArgs args) {
  constexpr int kStride = prefill_rows + 4;
  __shared__ __align__(16) float weights[2][prefill_columns][kStride];
  __shared__ __align__(16) float inputs[2][prefill_columns][kStride];
  const uint32_t thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  int which = 0;
  if (args.n_weights > 1 && blockIdx.x >= args.weights[1].first_tile) which = 1;
  if (args.n_weights > 2 && blockIdx.x >= args.weights[2].first_tile) which = 2;
  const PrefillWeight& w = args.weights[which];
  const uint32_t first_row = (blockIdx.x - w.first_tile) * prefill_rows, first_token = blockIdx.y * prefill_tokens;
  const Bases bases = make_bases<Format<kType>::kBits>();

  PrefillLoader<kType> loader(w.weight, first_row + thread % 128);
  const int half = thread / 128;
  // Four columns of two tokens.
  const int in_column = thread % 4 * 4, in_token = thread / 4;
  uint32_t in[2];  // from args.input
#pragma unroll
  for (int i = 0; i < 2; i++) {
    uint32_t token = first_token + in_token + 64 * i;
    if (token >= args.n_tokens) token = args.n_tokens - 1;
    in[i] = token * args.input_stride + in_column;
  }
  float4 x[2];
  const auto load_input = [&](uint32_t column) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (kAligned) {
        x[i] = __ldg(reinterpret_cast<const float4*>(args.input + (in[i] + column)));
      } else {
        x[i].x = in_column + column + 0 < args.columns ? __ldg(args.input + (in[i] + column + 0)) : 0.0f;
        x[i].y = in_column + column + 1 < args.columns ? __ldg(args.input + (in[i] + column + 1)) : 0.0f;
        x[i].z = in_column + column + 2 < args.columns ? __ldg(args.input + (in[i] + column + 2)) : 0.0f;
        x[i].w = in_column + column + 3 < args.columns ? __ldg(args.input + (in[i] + column + 3)) : 0.0f;
      }
    }
  };
  const auto store_input = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      float* to = &inputs[buffer][in_column][in_token + 64 * i];
      to[0] = x[i].x, to[kStride] = x[i].y, to[2 * kStride] = x[i].z, to[3 * kStride] = x[i].w;
    }
  };

  // A warp makes 64 rows times 32 tokens: 8 x 4 threads, each with 4 rows and 4 tokens in either half of either.
  const int row4 = (lane % 8 + warp % 2 * 8) * 4, token4 = (lane / 8 + warp / 2 * 4) * 4;
  float acc[8][8];
#pragma unroll
  for (int i = 0; i < 8; i++) {
#pragma unroll
    for (int j = 0; j < 8; j++) acc[i][j] = 0.0f;
  }
  const auto multiply = [&](int buffer) {
#pragma unroll
    for (int k = 0; k < prefill_columns; k++) {
      const float4 a0 = *reinterpret_cast<const float4*>(&weights[buffer][k][row4]), a1 = *reinterpret_cast<const float4*>(&weights[buffer][k][64 + row4]);
      const float4 b0 = *reinterpret_cast<const float4*>(&inputs[buffer][k][token4]), b1 = *reinterpret_cast<const float4*>(&inputs[buffer][k][64 + token4]);
      const float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
      for (int i = 0; i < 8; i++) {
#pragma unroll
        for (int j = 0; j < 8; j++) acc[i][j] = fmaf(a[i], b[j], acc[i][j]);
      }
    }
  };
  float* const store_to = &weights[0][8 * half][thread % 128];
  constexpr int kBuffer = prefill_columns * kStride;

  loader.template load<0>(half);
  load_input(0);
  if (half == 0) {
    loader.template store<0, 0>(store_to, kStride, bases);
  } else {
    loader.template store<0, 1>(store_to, kStride, bases);
  }
  store_input(0);
  __syncthreads();
  const uint32_t n_blocks = packed_blocks(args.columns);
#pragma unroll 1
  for (uint32_t block = 0; block < n_blocks; block++) {
    loader.template load<1>(half);
    load_input(block * 32 + 16);
    multiply(0);
    if (half == 0) {
      loader.template store<1, 0>(store_to + kBuffer, kStride, bases);
    } else {
      loader.template store<1, 1>(store_to + kBuffer, kStride, bases);
    }
    store_input(1);
    __syncthreads();
    const bool more = block + 1 < n_blocks;
    if (more) {
      loader.template load<0>(half);
      load_input(block * 32 + 32);
    }
    multiply(1);
    if (more) {
      if (half == 0) {
        loader.template store<0, 0>(store_to, kStride, bases);
      } else {
        loader.template store<0, 1>(store_to, kStride, bases);
      }
      store_input(0);
    }
    __syncthreads();
  }

  const uint32_t rows = w.weight.rows;
#pragma unroll
  for (int j = 0; j < 8; j++) {
    const uint32_t token = first_token + j / 4 * 64 + token4 + j % 4;
    if (token >= args.n_tokens) continue;
#pragma unroll
    for (int i = 0; i < 8; i++) {
      const uint32_t row = first_row + i / 4 * 64 + row4 + i % 4;
      if (row >= rows) continue;
      const size_t at = size_t{token} * args.output_stride + w.output_column + row;
      float value = acc[i][j];
      if (w.bias != nullptr) value += __ldg(w.bias + row);
      if (args.residual != nullptr) value += args.residual[at];
      args.output[at] = value;
    }
  }
}

}  // namespace m40::cuda

#endif
