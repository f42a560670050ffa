// Tensor types of -1, 0 and 1: TQ1_0, TQ2_0, IQ1_S, IQ1_M.
//
// Eight quants of two bits are in the lower half of a word, in order: in decode, each is a float in place without a
// rotation.
#ifndef M40_KERNELS_FORMATS_TERNARY_CUH
#define M40_KERNELS_FORMATS_TERNARY_CUH

#include "iq_codes.cuh"
#include "planes.cuh"

namespace m40::cuda {

struct PackingTernary {
  __host__ __device__ static constexpr int bit(int i) { return 2 * (i % 8); }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) { return bits_to_float(words[i / 8] & (3u << 2 * (i % 8))); }
};

template <class Base_, int N>
struct TernaryFormat : InPlace<Base_, PackingTernary, N, 1, false> {
  using Factors = PartScales<N>;  // in units
  static constexpr bool kFactorsInUnits = true;
  static constexpr int kBits = 2, kBasesTimes = 2;
  // scale * (q - 1 + delta), to the bit: a quant of an even column is brought into the mantissa of 16, others into that
  // of 4.
  template <class Eights>
  __device__ static __forceinline__ float centred(const Eights& q, int i, float delta, float factor, const Bases& bases) {
    const uint32_t turned = rotate_right(q.w[i / 8], (i % 8 / 2 * 4 - 19 + 32) % 32);
    const float field = bits_to_float(and_or(turned, i % 2 == 0 ? 0x180000 : 0x600000, bases.at[i % 2 == 0 ? 1 : 0]));
    const float scale = factor * power_of_two(field_unit);
    return fmaf(field, scale, (delta - (i % 2 == 0 ? 17.0f : 5.0f)) * scale);
  }
};

// Packed alike: five digits of base 3 a byte would cost more instructions than the bytes that they save are worth.
struct Tq : TernaryFormat<Planes<32, uint2, 1, Nothing, Nothing, unsigned short>, 1> {
  using Super = float;  // d, times what a sum is short of
  using Expanded = Words<4>;
  static constexpr int kSuperWords = 0;
  __device__ static __forceinline__ Super open(unsigned short stored) { return low_half(stored) * two_to_64; }
  __device__ static __forceinline__ Expanded expand(const Quants& q, Nothing, const Bases&) { return {{q.w[0], q.w[0] >> 16, q.w[1], q.w[1] >> 16}}; }
  __device__ static __forceinline__ Factors factors(Super d, Nothing, uint32_t, uint32_t) { return {{d}}; }
  __device__ static __forceinline__ float weight(const Expanded& q, int i, const Factors& f, const Bases& bases) { return centred(q, i, 0.0f, f.scale[0], bases); }
};

template <>
struct Format<M40_TYPE_TQ1_0> : Tq {};
template <>
struct Format<M40_TYPE_TQ2_0> : Tq {};

// IQ1: the codebook's weights, plus or minus an eighth. In decode the offset is that of plus; the bit that says minus
// is a field as well, which meets the sum of its group's activations.
//
// Quants and scale hold numbers of 11 bits, times 2 (the size of an entry): 0 from bit 1 on, 1 from bit 12 on, 2 from
// bit 23 on and then the scale's lowest two bits; 3 in the scale from bit 2 on. The signs of the eighths: the quants'
// lowest bit, then (IQ1_M) the scale's highest three.
template <class Planes_, int N, int kDeltas_>
struct Iq1Format : TernaryFormat<Planes_, N> {
  using Base = TernaryFormat<Planes_, N>;
  using typename Base::Factors;
  using typename Base::Quants;
  using Expanded = Words<6>;  // four entries, the quants, the scale's bits
  static constexpr int kDeltas = kDeltas_;
  static constexpr int kTableBytes = sizeof iq1_codes;
  __device__ static __forceinline__ const void* table() { return &iq1_codes; }
  __device__ static __forceinline__ Expanded expand(const Quants& q, uint32_t scale, const Bases& bases) {
    const uint32_t at[4] = {q.w[0] & 0xFFE, q.w[0] >> 11 & 0xFFE, shift_right(q.w[0], scale, 22) & 0xFFE, scale >> 1 & 0xFFE};
    Expanded to;
#pragma unroll
    for (int g = 0; g < 4; g++) to.w[g] = iq_entry<uint16_t>(bases.table, at[g]);
    to.w[4] = q.w[0], to.w[5] = scale;
    return to;
  }
  __device__ static __forceinline__ float part_sum_scale() { return -0.875f * power_of_two(field_unit); }
  __device__ static constexpr int sign_bit(int g) { return g == 0 ? 0 : 12 + g; }
  __device__ static __forceinline__ float delta(const Expanded& q, int g) { return bits_to_float(q.w[g == 0 ? 4 : 5] & (1u << sign_bit(g))); }
  // The factor of a sum by a scale of three bits from bit `at` on.
  __device__ static __forceinline__ float factor(float d, uint32_t bits, int at) { return odd_multiple(d, bits, at, 7, two_to_64); }
  // What a group's sum is stored times: from plus an eighth to minus an eighth it is a quarter.
  __device__ static __forceinline__ float delta_scale(int g) { return -0.25f * bit_scale(sign_bit(g)); }
  __device__ static __forceinline__ float weight(const Expanded& q, int i, const Factors& f, const Bases& bases) {
    constexpr uint32_t eighth = 0x3E000000;
    const int g = i / (32 / kDeltas);
    const float delta = bits_to_float(and_or(q.w[g == 0 ? 4 : 5] << (31 - sign_bit(g)), 0x80000000, eighth));
    return Base::centred(q, i, delta, f.scale[i / (32 / N)], bases);
  }
};

// The scale's highest three bits are those of the scale.
template <>
struct Format<M40_TYPE_IQ1_S> : Iq1Format<Planes<32, uint32_t, 1, Nothing, unsigned short, unsigned short>, 1, 1> {
  using Super = float;
  static constexpr int kSuperWords = 0;
  __device__ static __forceinline__ Super open(unsigned short stored) { return low_half(stored); }
  __device__ static __forceinline__ Factors factors(Super d, Scale bits, uint32_t, uint32_t) { return {{factor(d, bits, 13)}}; }
};

// Super block: a pair of scales of 3 bits for each block, then d. Those of the earlier blocks are shifted out.
template <>
struct Format<M40_TYPE_IQ1_M> : Iq1Format<Planes<32, uint32_t, 1, Nothing, unsigned short, uint2>, 2, 4> {
  struct Super {
    float d;
    uint64_t pairs;
  };
  static constexpr int kSuperWords = 0;
  static constexpr bool kSkips = true;
  __device__ static __forceinline__ Super open(uint2 stored) { return {high_half(stored.y), uint64_t{stored.y} << 32 | stored.x}; }
  __device__ static __forceinline__ void skip_blocks(Super& super, uint32_t n) { super.pairs >>= 6 * n; }
  __device__ static __forceinline__ Factors factors(const Super& super, Scale, uint32_t, uint32_t) {
    const uint32_t pair = static_cast<uint32_t>(super.pairs);
    return {{factor(super.d, pair, 0), factor(super.d, pair, 3)}};
  }
};

}  // namespace m40::cuda

#endif
