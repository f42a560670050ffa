// What products with packed pairs need of a tensor type whose weights are integers of at most 4 bits times a scale.
//
// PackedFormat<type> has
//   kMiddle      what a quant is counted from: the weight is scale * (quant - kMiddle), plus the minimum
//   kRoom        what the integers of a run's activations may add up to, before they are rounded: a sum of products is
//                then at most 2888
//   kMinimums    minimums of a block of 32 columns: 0, 1 or 2
//   kScales      scales of a block: 1 or 2
//   field_bit(i) where quant i stands: field(quants, i) is the quant times 2^(field_bit(i) - 149)
//   factors(...) a block's scales, and its minimums with the kMiddle that was taken from the quants
#ifndef M40_KERNELS_PACKED_FORMATS_CUH
#define M40_KERNELS_PACKED_FORMATS_CUH

#include "formats.cuh"

namespace m40::cuda {

template <int kScales, int kMinimums>
struct PackedFactors {
  float scale[kScales], minimum[kMinimums == 0 ? 1 : kMinimums];
};

template <int B, int kMiddle_, int kScales_, int kMinimums_>
struct PackedFields {
  static constexpr int kMiddle = kMiddle_, kScales = kScales_, kMinimums = kMinimums_;
  static constexpr float kRoom = 352.875f;  // 361 - 8 - 1/8: rounding adds 8 at most, and weights are at most 8 in size
  using Factors = PackedFactors<kScales, kMinimums>;
  __host__ __device__ static constexpr int field_bit(int i) { return Packing<B>::bit(i); }
  template <class Quants>
  __device__ static __forceinline__ float field(const Quants& q, int i) { return Packing<B>::in_place(q.w, i); }
};

template <uint32_t kType>
struct PackedFormat;

template <>
struct PackedFormat<M40_TYPE_Q4_K> : PackedFields<4, 8, 1, 1> {
  __device__ static __forceinline__ Factors factors(const PairsOf6& s, Nothing, uint32_t word, uint32_t block) {
    const uint32_t pair = PairsOf6::pair(word, block);
    const float scale = __fmul_rn(low_half(s.halves), PairsOf6::first(pair, 0));
    return {{scale}, {fmaf(scale, 8.0f, __fmul_rn(-high_half(s.halves), PairsOf6::second(pair, 0)))}};
  }
};

template <>
struct PackedFormat<M40_TYPE_Q4_0> : PackedFields<4, 8, 1, 0> {
  __device__ static __forceinline__ Factors factors(Nothing, uint32_t scale, uint32_t, uint32_t) { return {{low_half(scale)}, {}}; }
};

template <>
struct PackedFormat<M40_TYPE_Q4_1> : PackedFields<4, 8, 1, 1> {
  __device__ static __forceinline__ Factors factors(Nothing, uint32_t scale, uint32_t, uint32_t) {
    return {{low_half(scale)}, {fmaf(low_half(scale), 8.0f, high_half(scale))}};
  }
};

template <>
struct PackedFormat<M40_TYPE_Q3_K> : PackedFields<3, 4, 2, 0> {
  __device__ static __forceinline__ Factors factors(const PairsOf6& s, Nothing, uint32_t word, uint32_t block) {
    const uint32_t pair = PairsOf6::pair(word, block);
    const float d = low_half(s.halves);
    return {{__fmul_rn(d, PairsOf6::first(pair, 32)), __fmul_rn(d, PairsOf6::second(pair, 32))}, {}};
  }
};

template <>
struct PackedFormat<M40_TYPE_Q2_K> : PackedFields<2, 2, 2, 2> {
  __device__ static __forceinline__ Factors factors(uint32_t halves, uint32_t scale, uint32_t, uint32_t) {
    const float d = low_half(halves), less = -high_half(halves);
    const float first = __fmul_rn(d, static_cast<float>(scale & 15)), second = __fmul_rn(d, static_cast<float>(scale >> 8 & 15));
    return {{first, second}, {fmaf(first, 2.0f, __fmul_rn(less, static_cast<float>(scale >> 4 & 15))), fmaf(second, 2.0f, __fmul_rn(less, static_cast<float>(scale >> 12)))}};
  }
};

// Eight quants of two bits in order in each half of a word.
template <>
struct PackedFormat<M40_TYPE_TQ2_0> : PackedFields<2, 1, 1, 0> {
  __host__ __device__ static constexpr int field_bit(int i) { return PackingTernary::bit(i); }
  template <class Quants>
  __device__ static __forceinline__ float field(const Quants& q, int i) {
    return bits_to_float((i % 16 < 8 ? q.w[i / 16] : q.w[i / 16] >> 16) & 3u << field_bit(i));
  }
  // The super block is open as what decode in FP32 multiplies sums by.
  __device__ static __forceinline__ Factors factors(float d, Nothing, uint32_t, uint32_t) { return {{d * power_of_two(field_unit)}, {}}; }
};

// Twice the levels, of which the largest is 12.
template <>
struct PackedFormat<M40_TYPE_MXFP4> : PackedFields<4, LevelsE2M1::zero, 1, 0> {
  static constexpr float kRoom = 232.875f;  // 240 + 1 - 8 - 1/8
  __host__ __device__ static constexpr int field_bit(int i) { return PackingLevels<LevelsE2M1>::bit(i); }
  template <class Quants>
  __device__ static __forceinline__ float field(const Quants& q, int i) { return PackingLevels<LevelsE2M1>::in_place(q.w, i); }
  __device__ static __forceinline__ Factors factors(Nothing, uint32_t scale, uint32_t, uint32_t) {
    return {{0.5f * bits_to_float(max(scale << 23, 1u << 22))}, {}};
  }
};

}  // namespace m40::cuda

#endif
