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

// Thread blocks for so many tokens, T at a time.
template <int T>
__host__ __device__ constexpr uint64_t packed_inputs_blocks(uint32_t n_tokens, uint32_t columns) {
  const uint64_t n_groups = (n_tokens + T - 1) / T;
  return (n_groups * PackedBlock<T, 0>::kPairs * (columns / 32) * 8 + packed_inputs_threads - 1) / packed_inputs_threads;
}

template <uint32_t kType, int T>
__device__ __forceinline__ void packed_inputs(const PackedInputsArgs& args, BlockIndex block) {
  using F = PackedFormat<kType>;
  using L = PackedBlock<T, F::kMinimums>;
  constexpr int kPairs = L::kPairs, kHalves = T == 1 ? 1 : 2;
  const uint32_t n_blocks = args.columns / 32, n_groups = (args.n_tokens + T - 1) / T;
  const uint64_t at = uint64_t{block.x} * packed_inputs_threads + threadIdx.x, item = at / 8;
  const uint32_t quad = threadIdx.x % 8, pair = static_cast<uint32_t>(item % kPairs);
  const uint64_t of = item / kPairs;
  const bool inside = of < uint64_t{n_groups} * n_blocks;  // all lanes exchange
  const uint32_t in_row = static_cast<uint32_t>(inside ? of % n_blocks : 0), group = static_cast<uint32_t>(inside ? of / n_blocks : 0);
  float integers[kHalves][4], sums[kHalves], scales[kHalves];
#pragma unroll
  for (int h = 0; h < kHalves; h++) {
    const uint32_t token = group * T + pair * kHalves + h;
    const float* const from = args.input + size_t{token} * args.input_stride + in_row * 32 + quad * 4;
    float x[4] = {};
    if (inside && token < args.n_tokens) {
      if (args.input_stride % 4 == 0 && reinterpret_cast<uintptr_t>(args.input) % 16 == 0) {
        const float4 four = __ldg(reinterpret_cast<const float4*>(from));
        x[0] = four.x, x[1] = four.y, x[2] = four.z, x[3] = four.w;
      } else {
#pragma unroll
        for (int k = 0; k < 4; k++) x[k] = __ldg(from + k);
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
  float of_block[kHalves];  // the sum of activations
#pragma unroll
  for (int h = 0; h < kHalves; h++) {
    of_block[h] = __fmul_rn(scales[h], sums[h]);
    if constexpr (F::kMinimums == 1) of_block[h] = __fadd_rn(of_block[h], __shfl_xor_sync(0xFFFFFFFF, of_block[h], 4));
  }
  if (!inside) return;
  float* const to = args.packed + (uint64_t{group} * n_blocks + in_row) * L::kFloats;
  const auto packed = [&](const float(&a)[kHalves]) {
    if constexpr (kHalves == 1) {
      return a[0];
    } else {
      return fmaf(a[1], packed_base, a[0]);
    }
  };
#pragma unroll
  for (int k = 0; k < 4; k++) {
    float a[kHalves];
#pragma unroll
    for (int h = 0; h < kHalves; h++) a[h] = integers[h][k];
    const uint32_t column = quad * 4 + k;
    // The quant times 2^(bit - 149): the exponent that makes units of the product.
    const float power = bits_to_float(static_cast<uint32_t>(127 + 149 + packed_unit_exponent - F::field_bit(column)) << 23);
    to[column * kPairs + pair] = packed(a) * power;
  }
  const uint32_t run = quad / 4;
  if (quad % 4 == 0) {
    to[L::kStarts + run * kPairs + pair] = packed(sums) * (-static_cast<float>(F::kMiddle) * packed_unit);
#pragma unroll
    for (int h = 0; h < kHalves; h++) {
      const uint32_t token = pair * kHalves + h;
      to[L::kScales + run * T + token] = scales[h] * packed_units;
      if (F::kMinimums == 2 || (F::kMinimums == 1 && run == 0)) to[L::kSumsAt + run * T + token] = of_block[h];
    }
  }
}

template <uint32_t kType, int T>
__global__ __launch_bounds__(packed_inputs_threads) void packed_inputs_kernel(PackedInputsArgs args) {
  packed_inputs<kType, T>(args, launched_block());
}

}  // namespace m40::cuda

#endif
