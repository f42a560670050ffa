// Tensor types of -1, 0 and 1: TQ1_0, TQ2_0, IQ1_S, IQ1_M.
//
// Quants of 2 bits, as fields.cuh has them. With the scale and the constant of the field taken out of the sum of a part's
// weights, a weight takes one instruction, and one for its product.
#ifndef M40_KERNELS_FORMATS_TERNARY_CUH
#define M40_KERNELS_FORMATS_TERNARY_CUH

#include "iq_codes.cuh"
#include "planes.cuh"

namespace m40::cuda {

template <int N>
struct TernaryFactors {
  float scale[N];
};

template <class Base_, int N>
struct TernaryFormat : Base_ {
  using Factors = TernaryFactors<N>;
  using Super = float;
  static constexpr int kBits = 2;
  static constexpr bool kSumsParts = true;
  static constexpr int kParts = N, kPlaces = 2;
};

// Packed alike: five digits of base 3 a byte would cost more instructions than the bytes that they save are worth. Fields
// are 4 + q and 16 + q. What these offsets add up to costs precision, the longer a part is the more: so there are two.
struct Tq : TernaryFormat<Planes<32, uint2, 1, Nothing, Nothing, unsigned short>, 2> {
  static constexpr int kSuperWords = 0, kBasesTimes = 2;
  __device__ static __forceinline__ Super open(unsigned short stored) { return low_half(stored); }
  __device__ static __forceinline__ Factors factors(Super d, Nothing, uint32_t, uint32_t) { return {{d, d}}; }
  __device__ static __forceinline__ float offset(int i) { return i % 2 == 0 ? 5.0f : 17.0f; }
  __device__ static __forceinline__ float field(const Quants& q, int i, const Bases& bases) { return Packing<2>::get(q.w, i, bases); }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return fmaf(field(q, i, bases), f.scale[0], -offset(i) * f.scale[0]);
  }
};

template <>
struct Format<M40_TYPE_TQ1_0> : Tq {};
template <>
struct Format<M40_TYPE_TQ2_0> : Tq {};

// IQ1: the codebook's weights, plus or minus an eighth.
//
// Their quants are 0, 1 and 2, never 3. So a field may have its higher bit in the exponent's lowest: 2, 3 and 4 in the
// highest place, 8 + q below that. The offsets are smaller so.
//
// Quants and scale hold numbers of 11 bits, times 2 (the size of an entry): 0 from bit 1 on, 1 from bit 12 on, 2 from bit 23
// on and then bit 0 and bit 11 of the scale; 3 in the scale's lowest bits.
template <class Planes_, int N, int kDeltas_>
struct Iq1Format : TernaryFormat<Planes_, N> {
  using Base = TernaryFormat<Planes_, N>;
  using typename Base::Factors;
  using typename Base::Quants;
  using Expanded = Words<5>;  // four entries, the scale's bits
  static constexpr int kDeltas = kDeltas_, kBasesTimes = 1;
  static constexpr int kTableBytes = sizeof iq1_codes;
  __device__ static __forceinline__ const void* table() { return &iq1_codes; }
  __device__ static __forceinline__ Expanded expand(const Quants& q, uint32_t scale, const Bases& bases) {
    const uint32_t at[4] = {q.w[0] & 0xFFE, q.w[0] >> 11 & 0xFFE, (rotate_right(q.w[0], 22) & 0x7FE) | (scale & 0x800), scale << 1 & 0xFFE};
    Expanded to;
#pragma unroll
    for (int g = 0; g < 4; g++) to.w[g] = iq_entry<uint16_t>(bases.table, at[g]);
    to.w[4] = scale;
    return to;
  }
  __device__ static __forceinline__ float offset(int i) { return i % 2 == 0 ? 3.0f : 9.0f; }
  // Of group g: the scale's highest bits, the last group's highest, are its signs.
  __device__ static __forceinline__ float delta(const Expanded& q, int g) {
    constexpr uint32_t eighth = 0x3E000000;
    return bits_to_float(and_or(q.w[4] << (15 + kDeltas - g), 0x80000000, eighth));
  }
  __device__ static __forceinline__ float field(const Expanded& q, int i, const Bases& bases) {
    const uint32_t turned = rotate_right(q.w[i / 8], (i % 8 / 2 * 4 - 20 + 32) % 32);
    return bits_to_float(and_or(turned, i % 2 == 0 ? 0xC00000 : 0x300000, bases.at[i % 2]));
  }
  __device__ static __forceinline__ float weight(const Expanded& q, int i, const Factors& f, const Bases& bases) {
    const float scale = f.scale[i / (32 / N)];
    return fmaf(field(q, i, bases), scale, (delta(q, i / (32 / kDeltas)) - offset(i)) * scale);
  }
};

// The scale's other bits: three of the scale, one for the eighth.
template <>
struct Format<M40_TYPE_IQ1_S> : Iq1Format<Planes<32, uint32_t, 1, Nothing, unsigned short, unsigned short>, 1, 1> {
  static constexpr int kSuperWords = 0;
  __device__ static __forceinline__ Super open(unsigned short stored) { return low_half(stored); }
  __device__ static __forceinline__ Factors factors(Super d, Scale bits, uint32_t, uint32_t) {
    return {{odd_multiple(d, bits, 12, 7)}};
  }
};

// The scale's other bits: one for the eighth of every eight weights. Super block: two words with four pairs of scales of 3
// bits; their highest bytes are d.
template <>
struct Format<M40_TYPE_IQ1_M> : Iq1Format<Planes<32, uint32_t, 1, Nothing, unsigned short, uint2>, 2, 4> {
  static constexpr int kSuperWords = 2;
  __device__ static __forceinline__ Super open(uint2 stored) { return low_half(select_bytes(stored.x, stored.y, 0x0073)); }
  __device__ static __forceinline__ Factors factors(Super d, Scale, uint32_t word, uint32_t block) {
    const uint32_t pair = word >> block % 4 * 6;
    return {{odd_multiple(d, pair, 0, 7), odd_multiple(d, pair, 3, 7)}};
  }
};

}  // namespace m40::cuda

#endif
