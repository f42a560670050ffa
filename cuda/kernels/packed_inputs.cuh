// Makes packed pairs of activations (packed_inputs_args.cuh), in the powers of two and the runs' starts of one type.
//
// Eight lanes have a block of 32 columns of two tokens, four columns each. A run's integers are its activations by one
// scale, so that their magnitudes add up to the room that the type leaves. All steps round once, in one order: the
// integers are the CPU library's.
#ifndef M40_KERNELS_PACKED_INPUTS_CUH
#define M40_KERNELS_PACKED_INPUTS_CUH

#include "block.cuh"
#include "packed_formats.cuh"
#include "packed_inputs_args.cuh"

namespace m40::cuda {

constexpr uint32_t packed_inputs_threads = 256;

// A block of 32 columns of two of T tokens, which start at x[0] and x[1] (nullptr: there is none), to `to`, where the
// block of all T has its place. quad: of 8, in 8 lanes next to each other. All lanes of a warp call it.
template <uint32_t kType>
__device__ __forceinline__ void pack_pair(const float* const (&x_at)[2], bool fours, uint32_t quad, int T, int pair, float* to) {
  using F = PackedFormat<kType>;
  const PackedLayoutOf layout(T, F::kMinimums);
  float integers[2][4], sums[2], scales[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const float* const from = x_at[h];
    float x[4] = {};
    if (from != nullptr) {
      if (fours) {
        const float4 four = __ldg(reinterpret_cast<const float4*>(from + quad * 4));
        x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
      } else {
#pragma unroll
        for (int k = 0; k < 4; k++) x[k] = __ldg(from + quad * 4 + k);
      }
    }
    float l1 = __fadd_rn(__fadd_rn(fabsf(x[0]), fabsf(x[1])), __fadd_rn(fabsf(x[2]), fabsf(x[3])));
    l1 = __fadd_rn(l1, __shfl_xor_sync(0xFFFFFFFF, l1, 1));
    l1 = __fadd_rn(l1, __shfl_xor_sync(0xFFFFFFFF, l1, 2));
    const bool lost = !(l1 <= packed_most_sum), zero = lost || l1 <= packed_least_sum;
    const float by = zero ? 0.0f : __fdiv_rn(F::kRoom, l1);
#pragma unroll
    for (int k = 0; k < 4; k++) integers[h][k] = zero ? 0.0f : rintf(__fmul_rn(x[k], by));
    scales[h] = lost ? bits_to_float(0x7FC00000) : zero ? 0.0f : __fdiv_rn(l1, F::kRoom);
    float sum = (integers[h][0] + integers[h][1]) + (integers[h][2] + integers[h][3]);
    sum += __shfl_xor_sync(0xFFFFFFFF, sum, 1);
    sums[h] = sum + __shfl_xor_sync(0xFFFFFFFF, sum, 2);
  }
  float activations[2];  // their sums
#pragma unroll
  for (int h = 0; h < 2; h++) {
    activations[h] = __fmul_rn(scales[h], sums[h]);
    if constexpr (F::kMinimums == 1) activations[h] = __fadd_rn(activations[h], __shfl_xor_sync(0xFFFFFFFF, activations[h], 4));
  }
  if (pair >= layout.pairs) return;
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const uint32_t column = quad * 4 + k;
    // The quant times 2^(bit - 149): the exponent that makes units of the product.
    const float power = bits_to_float(static_cast<uint32_t>(127 + 149 + packed_unit_exponent - F::field_bit(static_cast<int>(column))) << 23);
    to[static_cast<int>(column) * layout.pairs + pair] = fmaf(integers[1][k], packed_base, integers[0][k]) * power;
  }
  if (quad % 4 != 0) return;
  const int run = static_cast<int>(quad) / 4;
  to[layout.starts + run * layout.pairs + pair] = fmaf(sums[1], packed_base, sums[0]) * (-static_cast<float>(F::kMiddle) * packed_unit);
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int token = 2 * pair + h;
    if (token >= T) continue;
    to[layout.scales + run * T + token] = scales[h] * packed_units;
    if (F::kMinimums == 2 || (F::kMinimums == 1 && run == 0)) to[layout.sums + run * T + token] = activations[h];
  }
}

__device__ __forceinline__ bool loads_fours(const float* input, uint32_t stride) { return stride % 4 == 0 && reinterpret_cast<uintptr_t>(input) % 16 == 0; }

// Thread blocks for so many tokens, T at a time.
template <int T>
__host__ __device__ constexpr uint64_t packed_inputs_blocks(uint32_t n_tokens, uint32_t columns) {
  const uint64_t n_groups = (n_tokens + T - 1) / T;
  return (n_groups * PackedBlock<T, 0>::kPairs * (columns / 32) * 8 + packed_inputs_threads - 1) / packed_inputs_threads;
}

template <uint32_t kType, int T>
__device__ __forceinline__ void packed_inputs(const PackedInputsArgs& args, uint32_t block) {
  using L = PackedBlock<T, PackedFormat<kType>::kMinimums>;
  const uint32_t n_blocks = args.columns / 32, n_groups = (args.n_tokens + T - 1) / T;
  const uint64_t item = (uint64_t{block} * packed_inputs_threads + threadIdx.x) / 8, of = item / L::kPairs;
  const int pair = static_cast<int>(item % L::kPairs);
  const bool inside = of < uint64_t{n_groups} * n_blocks;  // all lanes exchange
  const uint32_t in_row = static_cast<uint32_t>(of % n_blocks), group = static_cast<uint32_t>(of / n_blocks);
  const float* x[2];
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const uint32_t token = group * T + 2 * pair + h;
    x[h] = inside && h < T && token < args.n_tokens ? args.input + size_t{token} * args.input_stride + in_row * 32 : nullptr;
  }
  pack_pair<kType>(x, loads_fours(args.input, args.input_stride), threadIdx.x % 8, T, inside ? pair : L::kPairs, args.packed + of * L::kFloats);
}

template <uint32_t kType, int T>
__global__ __launch_bounds__(packed_inputs_threads) void packed_inputs_kernel(PackedInputsArgs args) {
  __shared__ uint32_t at;
  walk_blocks(args.n_blocks, at, [&](uint32_t block) { packed_inputs<kType, T>(args, block); });
}

}  // namespace m40::cuda

#endif
