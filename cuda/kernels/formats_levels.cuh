// Tensor types with quants that number the levels of a short list: 4-bit floating point, IQ2 and IQ3.
//
// A quant is a nibble; nibble k of a word is weight k. A byte of each level, plus the largest one, fits in the eight bytes of a byte
// permutation, or in two times eight. So one instruction turns four nibbles into four bytes of seven bits. In decode,
// they are floats in place; elsewhere, one more instruction puts a byte at the top of the mantissa of 128, where it is
// 128 + largest + level.
#ifndef M40_KERNELS_FORMATS_LEVELS_CUH
#define M40_KERNELS_FORMATS_LEVELS_CUH

#include "iq_codes.cuh"
#include "planes.cuh"

namespace m40::cuda {

// Four levels from levels[4 * part] on, times their sign, plus zero, as bytes.
template <size_t n>
__host__ __device__ constexpr uint32_t level_bytes(const int8_t (&levels)[n], int part, int sign, int zero) {
  uint32_t bytes = 0;
  for (int i = 0; i < 4 && 4 * part + i < static_cast<int>(n); i++) bytes |= static_cast<uint32_t>(zero + sign * levels[4 * part + i]) << 8 * i;
  return bytes;
}

// 128 + byte k.
__device__ __forceinline__ float level_float(uint32_t bytes, int k) {
  constexpr uint32_t top = 0x43000000;  // 128
  // Byte 2 is where it has to be. A permutation would take twice an and_or's time.
  if (k == 2) return bits_to_float(and_or(bytes, 0x7F0000, top));
  return bits_to_float(select_bytes(bytes, top, k == 0 ? 0x7044 : k == 1 ? 0x7144 : 0x7344));
}

// Three bits: two of the level, then the sign. Half a word's four nibbles.
template <const int8_t (&levels)[3]>
struct Levels4 {
  static constexpr int zero = levels[2];  // what level 0 is as a byte
  __device__ static __forceinline__ uint32_t bytes(uint32_t nibbles, int half) {
    constexpr uint32_t positive = level_bytes(levels, 0, 1, zero), negative = level_bytes(levels, 0, -1, zero);
    return select_bytes(positive, negative, half == 0 ? nibbles : nibbles >> 16);
  }
};

// Four bits: three of the level, then the sign. The permutation fills with a byte's highest bit, 0, where the nibble's
// is set.
template <const int8_t (&levels)[8]>
struct Levels8 {
  static constexpr int zero = levels[7];
  __device__ static __forceinline__ uint32_t bytes(uint32_t nibbles, int half) {
    constexpr uint32_t positive = level_bytes(levels, 0, 1, zero), positive_high = level_bytes(levels, 1, 1, zero);
    constexpr uint32_t negative = level_bytes(levels, 0, -1, zero), negative_high = level_bytes(levels, 1, -1, zero);
    const uint32_t other = nibbles ^ 0x88888888;
    return select_bytes(positive, positive_high, half == 0 ? nibbles : nibbles >> 16) | select_bytes(negative, negative_high, half == 0 ? other : other >> 16);
  }
};

// Bytes 0 to 2 are where they can stay.
template <class Levels>
struct PackingLevels {
  __host__ __device__ static constexpr int bit(int i) { return i % 4 == 3 ? 16 : i % 4 * 8; }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) {
    const uint32_t bytes = Levels::bytes(words[i / 8], i / 4 % 2);
    return bits_to_float((i % 4 == 3 ? bytes >> 8 : bytes) & 0x7Fu << bit(i));
  }
};

// weight = scale * level, for the scales of N parts of a block.
template <class Base_, class Levels, int N>
struct LevelFormat : InPlace<Base_, PackingLevels<Levels>, N, Levels::zero, false> {
  using Factors = PartScales<N>;
  static constexpr int kBits = 8;
  template <class Nibbles>
  __device__ static __forceinline__ float weight(const Nibbles& q, int i, const Factors& f, const Bases&) {
    const float scale = f.scale[i / (32 / N)];
    return fmaf(level_float(Levels::bytes(q.w[i / 8], i / 4 % 2), i % 4), scale, -(128.0f + Levels::zero) * scale);
  }
};

// ---- 4-bit floating point -------------------------------------------------------------------------------

inline constexpr int8_t twice_e2m1[8] = {0, 1, 2, 3, 4, 6, 8, 12};
using LevelsE2M1 = Levels8<twice_e2m1>;

// Scales are powers of two, as the exponent of a float; 0 means 2^-127, half an exponent's lowest. (From 2^120 on, a
// byte of a level is infinite.)
template <>
struct Format<M40_TYPE_MXFP4> : LevelFormat<Blocks<Planes<32, uint4, 1, Nothing, unsigned char, Nothing>>, LevelsE2M1, 1> {
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale, uint32_t, uint32_t) {
    return {{0.5f * bits_to_float(max(static_cast<uint32_t>(scale) << 23, 1u << 22))}};
  }
};

// Scales have four bits of exponent and three of mantissa. As the highest bits of a float they are 2^-120 times as
// large, subnormal ones too.
template <>
struct Format<M40_TYPE_NVFP4> : LevelFormat<Blocks<Planes<32, uint4, 1, Nothing, unsigned short, Nothing>>, LevelsE2M1, 2> {
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale, uint32_t, uint32_t) {
    constexpr float half = 6.646139978924579e35f;  // 2^119
    return {{half * bits_to_float((scale & 0x7Fu) << 20), half * bits_to_float((scale & 0x7F00u) << 12)}};
  }
};

// ---- codebooks ------------------------------------------------------------------------------------------

// Signs of 32 weights: that of weight j of eight number g is bit 4 j + g, so that one rotation and one LOP3 change the
// nibbles of eight.
template <int kSignBit>
__device__ __forceinline__ uint32_t with_signs(uint32_t nibbles, uint32_t signs, int g) {
  const uint32_t turned = g == kSignBit ? signs : rotate_right(signs, (g - kSignBit + 32) % 32);
  return nibbles ^ (turned & 0x11111111u << kSignBit);
}

// Where only seven signs of eight are stored: the last makes the number of minuses even. Its bits hold something else.
__device__ __forceinline__ uint32_t with_last_signs(uint32_t signs) {
  constexpr uint32_t stored = 0x0FFFFFFF;
  uint32_t parity = signs & stored;
  parity ^= parity << 16;
  parity ^= parity << 8;
  parity ^= parity << 4;
  return (signs & stored) | (parity & ~stored);
}

// Types with a codebook: what a block's quants become when their entries have been looked up.
template <class Planes_, class Levels, int N>
struct CodebookFormat : LevelFormat<Planes_, Levels, N> {
  using Expanded = Words<4>;
  using Super = float;
  static constexpr int kSuperWords = 0;
  __device__ static __forceinline__ Super open(unsigned short stored) { return low_half(stored); }
};

template <class Planes_, int N>
using Iq2Format = CodebookFormat<Planes_, Levels4<iq2_levels>, N>;

// Quants: four numbers of 8 bits, times 4 (the size of an entry), rotated. Scale: signs, and 4 bits of the scale.
template <>
struct Format<M40_TYPE_IQ2_XXS> : Iq2Format<Planes<32, uint32_t, 1, Nothing, uint32_t, unsigned short>, 1> {
  static constexpr int kTableBytes = sizeof iq2_xxs_codes;
  __device__ static __forceinline__ const void* table() { return &iq2_xxs_codes; }
  __device__ static __forceinline__ Expanded expand(const Quants& q, Scale scale, const Bases& bases) {
    const uint32_t signs = with_last_signs(scale);
    Expanded to;
#pragma unroll
    for (int g = 0; g < 4; g++) {
      const uint32_t at = (g == 0 ? q.w[0] : rotate_right(q.w[0], 8 * g)) & 0x3FC;
      to.w[g] = with_signs<2>(iq_entry<uint32_t>(bases.table, at), signs, g);
    }
    return to;
  }
  __device__ static __forceinline__ Factors factors(Super d, Scale scale, uint32_t, uint32_t) { return {{0.125f * odd_multiple(d, scale, 28, 15)}}; }
};

// Quants: four numbers of 9 bits, times 4, of which the last's highest 4 bits stand above the signs in the second word.
template <>
struct Format<M40_TYPE_IQ2_XS> : Iq2Format<Planes<32, uint2, 1, Nothing, unsigned char, unsigned short>, 2> {
  static constexpr int kTableBytes = sizeof iq2_xs_codes;
  __device__ static __forceinline__ const void* table() { return &iq2_xs_codes; }
  __device__ static __forceinline__ Expanded expand(const Quants& q, Scale, const Bases& bases) {
    const uint32_t signs = with_last_signs(q.w[1]);
    const uint32_t at[4] = {q.w[0] & 0x7FC, q.w[0] >> 9 & 0x7FC, q.w[0] >> 18 & 0x7FC, (q.w[1] >> 21 & 0x780) | (rotate_right(q.w[0], 27) & 0x7C)};
    Expanded to;
#pragma unroll
    for (int g = 0; g < 4; g++) to.w[g] = with_signs<2>(iq_entry<uint32_t>(bases.table, at[g]), signs, g);
    return to;
  }
  __device__ static __forceinline__ Factors factors(Super d, Scale scale, uint32_t, uint32_t) {
    const float eighth = 0.125f * d;
    return {{odd_multiple(eighth, scale, 0, 15), odd_multiple(eighth, scale, 4, 15)}};
  }
};

// Quants: four numbers of 10 bits, times 4; the signs. Scale: 4 bits of the second scale, the highest 8 of the last
// number, 4 of the first scale.
template <>
struct Format<M40_TYPE_IQ2_S> : Iq2Format<Planes<32, uint2, 1, Nothing, unsigned short, unsigned short>, 2> {
  static constexpr int kTableBytes = sizeof iq2_s_codes;
  __device__ static __forceinline__ const void* table() { return &iq2_s_codes; }
  __device__ static __forceinline__ Expanded expand(const Quants& q, Scale scale, const Bases& bases) {
    const uint32_t at[4] = {q.w[0] & 0xFFC, q.w[0] >> 10 & 0xFFC, q.w[0] >> 20 & 0xFFC, (scale & 0xFF0u) | (q.w[0] << 2 & 0xC)};
    Expanded to;
#pragma unroll
    for (int g = 0; g < 4; g++) to.w[g] = with_signs<2>(iq_entry<uint32_t>(bases.table, at[g]), q.w[1], g);
    return to;
  }
  __device__ static __forceinline__ Factors factors(Super d, Scale scale, uint32_t, uint32_t) {
    const float eighth = 0.125f * d;
    return {{odd_multiple(eighth, scale, 12, 15), odd_multiple(eighth, scale, 0, 15)}};
  }
};

// Quants: two words of four numbers of 8 bits, times 2, rotated. Scale: signs, and 4 bits of the scale.
template <>
struct Format<M40_TYPE_IQ3_XXS> : CodebookFormat<Planes<32, uint2, 1, Nothing, uint32_t, unsigned short>, Levels8<iq3_xxs_levels>, 1> {
  static constexpr int kTableBytes = sizeof iq3_xxs_codes;
  __device__ static __forceinline__ const void* table() { return &iq3_xxs_codes; }
  __device__ static __forceinline__ Expanded expand(const Quants& q, Scale scale, const Bases& bases) {
    const uint32_t signs = with_last_signs(scale);
    Expanded to;
#pragma unroll
    for (int g = 0; g < 4; g++) {
      const uint32_t word = g % 2 == 0 ? q.w[g / 2] : rotate_right(q.w[g / 2], 16);
      const uint32_t low = iq_entry<uint16_t>(bases.table, word & 0x1FE), high = iq_entry<uint16_t>(bases.table, rotate_right(word, 8) & 0x1FE);
      to.w[g] = with_signs<3>(select_bytes(low, high, 0x5410), signs, g);
    }
    return to;
  }
  __device__ static __forceinline__ Factors factors(Super d, Scale scale, uint32_t, uint32_t) { return {{0.25f * odd_multiple(d, scale, 28, 15)}}; }
};

// Quants: the same of the lowest 8 of 9 bits; the signs. Scale: the highest bits. Super block: two words with four
// scales of 4 bits; their highest bytes are d.
template <>
struct Format<M40_TYPE_IQ3_S> : CodebookFormat<Planes<32, uint2, 1, uint32_t, unsigned char, uint2>, Levels8<iq3_s_levels>, 1> {
  static constexpr int kSuperWords = 2;
  static constexpr int kTableBytes = sizeof iq3_s_codes;
  __device__ static __forceinline__ const void* table() { return &iq3_s_codes; }
  __device__ static __forceinline__ Super open(uint2 stored) { return low_half(select_bytes(stored.x, stored.y, 0x0073)); }
  __device__ static __forceinline__ Expanded expand(const Quants& q, Scale scale, const Bases& bases) {
    uint32_t codes[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
      const uint32_t low = (k % 4 == 0 ? q.w[k / 4] : rotate_right(q.w[k / 4], 8 * (k % 4))) & 0x1FE;
      codes[k] = iq_entry<uint16_t>(bases.table, low | (static_cast<uint32_t>(scale) << (9 - k) & 0x200));
    }
    Expanded to;
#pragma unroll
    for (int g = 0; g < 4; g++) to.w[g] = with_signs<3>(select_bytes(codes[2 * g], codes[2 * g + 1], 0x5410), q.w[2], g);
    return to;
  }
  __device__ static __forceinline__ Factors factors(Super d, Scale, uint32_t word, uint32_t block) {
    return {{odd_multiple(d, word >> block % 4 * 4, 0, 15)}};
  }
};

}  // namespace m40::cuda

#endif
