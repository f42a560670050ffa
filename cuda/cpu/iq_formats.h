// The tensor types IQ1, IQ2 and IQ3: weights are entries of codebooks, times a sign each (IQ2, IQ3) or plus or minus
// an eighth (IQ1), times the scale of every 16 or 32 weights. Scales have so few bits that no product is rounded.
//
// A group of 32 weights is four words of 8 bytes (word(k)), and its signs are one of 32 bits: weight j's is bit j.
#ifndef M40_REFERENCE_IQ_FORMATS_H
#define M40_REFERENCE_IQ_FORMATS_H

#include "../common/iq_grids.h"
#include "block_formats.h"

namespace m40::reference {
namespace {

inline constexpr auto kIq1Grid = expand_iq_grid<uint64_t>(iq1_packed, iq1_levels);
inline constexpr auto kIq2XxsGrid = expand_iq_grid<uint64_t>(iq2_xxs_packed, iq2_levels);
inline constexpr auto kIq2XsGrid = expand_iq_grid<uint64_t>(iq2_xs_packed, iq2_levels);
inline constexpr auto kIq2SGrid = expand_iq_grid<uint64_t>(iq2_s_packed, iq2_levels);
inline constexpr auto kIq3XxsGrid = expand_iq_grid<uint32_t>(iq3_xxs_packed, iq3_xxs_levels);
inline constexpr auto kIq3SGrid = expand_iq_grid<uint32_t>(iq3_s_packed, iq3_s_levels);

M40_INLINE uint32_t load_u16_word(const uint8_t* bytes) { return static_cast<uint32_t>(bytes[0] | bytes[1] << 8); }

// Vector i of a group: entries' bytes, negative where the signs say so.
template <class Word>
M40_INLINE Floats signed_weights(int i, uint32_t signs, const Word& word) {
  return negative_where_set(to_floats(widen_i8(bytes_of_words(i, word))), signs >> (kLanes * i));
}

// Four bytes with the signs of seven weights each get the eighth's: an even number of eight are negative.
M40_INLINE uint32_t with_eighth_signs(uint32_t sevens) {
  uint32_t parity = (sevens ^ sevens >> 4) & 0x0F0F0F0F;
  parity ^= parity >> 2;
  parity ^= parity >> 1;
  return sevens | (parity & 0x01010101) << 7;
}

// A word with four sevens of signs, the first lowest, and a scale of four bits on top.
M40_INLINE uint32_t signs_below_scale(uint32_t word) {
  return with_eighth_signs((word & 0x7F) | (word << 1 & 0x7F00) | (word << 2 & 0x7F0000) | (word << 3 & 0x7F000000));
}

// 2 * n + 1, of the odd multiples of something that scales are.
M40_INLINE float odd(uint32_t n) { return static_cast<float>(2 * n + 1); }

// Scales of four bits, the first of each byte low.
template <int kCount>
M40_INLINE void scales_of_nibbles(const uint8_t* bytes, float d, float* scales) {
  M40_UNROLL for (int part = 0; part < kCount; part++) scales[part] = d * odd(bytes[part / 2] >> (part % 2 * 4) & 15);
}

// ---- IQ2: entries of eight weights ----------------------------------------------------------------------

struct IQ2_XXS {
  static constexpr int kWeights = 256, kBytes = 66;
  const uint8_t* block;
  float scales[8];
  // A group is four entries' numbers, a byte each, and a word of signs and scale.
  M40_INLINE explicit IQ2_XXS(const uint8_t* b) : block(b) {
    const float d = half(b) / 8;
    M40_UNROLL for (int g = 0; g < 8; g++) scales[g] = d * odd(load_u32(b + 6 + 8 * g) >> 28);
  }
  M40_INLINE Floats weights(int group, int i) const {
    const uint8_t* const numbers = block + 2 + 8 * group;
    const auto word = [&](int k) { return kIq2XxsGrid.entries[numbers[k]]; };
    return scales[group] * signed_weights(i, signs_below_scale(load_u32(numbers + 4)), word);
  }
};

struct IQ2_XS {
  static constexpr int kWeights = 256, kBytes = 74;
  const uint8_t* block;
  float scales[16];
  M40_INLINE explicit IQ2_XS(const uint8_t* b) : block(b) { scales_of_nibbles<16>(b + 66, half(b) / 8, scales); }
  M40_INLINE Floats weights(int group, int i) const {
    // 16 bits an entry: its number in nine, seven signs on top.
    const uint64_t four = load_u64(block + 2 + 8 * group);
    const auto word = [&](int k) { return kIq2XsGrid.entries[four >> (16 * k) & 511]; };
    const uint64_t sevens = (four >> 9 & 0x7F) | (four >> 17 & 0x7F00) | (four >> 25 & 0x7F0000) | (four >> 33 & 0x7F000000);
    return scales[2 * group + kLanes * i / 16] * signed_weights(i, with_eighth_signs(static_cast<uint32_t>(sevens)), word);
  }
};

struct IQ2_S {
  static constexpr int kWeights = 256, kBytes = 82;
  const uint8_t* block;
  float scales[16];
  M40_INLINE explicit IQ2_S(const uint8_t* b) : block(b) { scales_of_nibbles<16>(b + 74, half(b) / 8, scales); }
  M40_INLINE Floats weights(int group, int i) const {
    // An entry's number: eight bits here, two of the group's byte.
    const uint8_t* const low = block + 2 + 4 * group;
    const uint32_t high = block[66 + group];
    const auto word = [&](int k) { return kIq2SGrid.entries[low[k] | (high << (8 - 2 * k) & 0x300)]; };
    return scales[2 * group + kLanes * i / 16] * signed_weights(i, load_u32(block + 34 + 4 * group), word);
  }
};

// ---- IQ3: entries of four weights, two a word ------------------------------------------------------------

struct IQ3_XXS {
  static constexpr int kWeights = 256, kBytes = 98;
  const uint8_t* block;
  float scales[8];
  M40_INLINE explicit IQ3_XXS(const uint8_t* b) : block(b) {
    const float d = half(b) / 4;
    M40_UNROLL for (int g = 0; g < 8; g++) scales[g] = d * odd(load_u32(b + 66 + 4 * g) >> 28);
  }
  M40_INLINE Floats weights(int group, int i) const {
    const uint8_t* const numbers = block + 2 + 8 * group;
    const auto entry = [&](int k) { return uint64_t{kIq3XxsGrid.entries[numbers[k]]}; };
    const auto word = [&](int k) { return entry(2 * k) | entry(2 * k + 1) << 32; };
    return scales[group] * signed_weights(i, signs_below_scale(load_u32(block + 66 + 4 * group)), word);
  }
};

struct IQ3_S {
  static constexpr int kWeights = 256, kBytes = 110;
  const uint8_t* block;
  float scales[8];
  M40_INLINE explicit IQ3_S(const uint8_t* b) : block(b) { scales_of_nibbles<8>(b + 106, half(b), scales); }
  M40_INLINE Floats weights(int group, int i) const {
    // An entry's number: eight bits here, one of the group's byte.
    const uint8_t* const low = block + 2 + 8 * group;
    const uint32_t high = block[66 + group];
    const auto entry = [&](int k) { return uint64_t{kIq3SGrid.entries[low[k] | (high << (8 - k) & 0x100)]}; };
    const auto word = [&](int k) { return entry(2 * k) | entry(2 * k + 1) << 32; };
    return scales[group] * signed_weights(i, load_u32(block + 74 + 4 * group), word);
  }
};

// ---- IQ1: entries of eight weights, -1, 0 or 1, all plus or all minus an eighth ----------------------------

// Vector i of a group: entries' bytes plus an eighth, minus where `lowered` has a bit.
template <class Word>
M40_INLINE Floats shifted_weights(int i, uint32_t lowered, const Word& word) {
  return to_floats(widen_i8(bytes_of_words(i, word))) + negative_where_set(broadcast(0.125f), lowered >> (kLanes * i));
}

struct IQ1_S {
  static constexpr int kWeights = 256, kBytes = 50;
  const uint8_t* block;
  float scales[8];
  M40_INLINE explicit IQ1_S(const uint8_t* b) : block(b) {
    const float d = half(b);
    M40_UNROLL for (int g = 0; g < 8; g++) scales[g] = d * odd(b[35 + 2 * g] >> 4 & 7);
  }
  M40_INLINE Floats weights(int group, int i) const {
    // An entry's number: eight bits here, three of the group's 16; then three of a scale, and whether minus an eighth.
    const uint8_t* const low = block + 2 + 4 * group;
    const uint32_t high = load_u16_word(block + 34 + 2 * group);
    const auto word = [&](int k) { return kIq1Grid.entries[low[k] | (high >> (3 * k) & 7) << 8]; };
    return scales[group] * shifted_weights(i, high & 0x8000 ? ~0u : 0, word);
  }
};

struct IQ1_M {
  static constexpr int kWeights = 256, kBytes = 56;
  const uint8_t* block;
  float scales[16];
  M40_INLINE explicit IQ1_M(const uint8_t* b) : block(b) {
    // Four times 16 bits: four scales of three bits each, and on top four bits of d.
    const uint64_t all = load_u64(b + 48);
    const uint64_t bits = (all >> 12 & 0xF) | (all >> 24 & 0xF0) | (all >> 36 & 0xF00) | (all >> 48 & 0xF000);
    const uint8_t bytes[2] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8)};
    const float d = half(bytes);
    M40_UNROLL for (int part = 0; part < 16; part++) {
      scales[part] = d * odd(static_cast<uint32_t>(all >> (part / 4 * 16 + part % 4 * 3)) & 7);
    }
  }
  M40_INLINE Floats weights(int group, int i) const {
    // An entry's number: eight bits here, three of its four in the group's 16; the fourth: whether minus an eighth.
    const uint8_t* const low = block + 4 * group;
    const uint32_t high = load_u16_word(block + 32 + 2 * group);
    const auto word = [&](int k) { return kIq1Grid.entries[low[k] | (high >> (4 * k) & 7) << 8]; };
    const uint32_t firsts = (high >> 3 & 1) | (high << 1 & 0x100) | (high << 5 & 0x10000) | (high << 9 & 0x1000000);
    return scales[2 * group + kLanes * i / 16] * shifted_weights(i, firsts * 255, word);
  }
};

}  // namespace
}  // namespace m40::reference

#endif
