// GGUF's tensor types, a struct each; those with codebooks are in iq_formats.h, those of -1, 0 and 1 in
// ternary_formats.h, floating point of 4 bits in fp4_formats.h. An object is one block of weights: its constructor
// unpacks the scales, weights(group, i) gives the kLanes weights from 32 * group + kLanes * i on.
//
// Quants (q) are the stored small integers; d is a block's half-precision scale, m its minimum. A weight is d * q or
// d * q + m, in float32. Where there is a minimum, d and q have so few bits together that d * q is exact: the one
// rounding left is the sum's, and multiply_add gives the same with and without fused instructions.
#ifndef M40_REFERENCE_BLOCK_FORMATS_H
#define M40_REFERENCE_BLOCK_FORMATS_H

#include "lanes.h"

namespace m40::reference {
namespace {

// ---- floating point: a "block" here is as many weights as any instruction set's vectors divide -------

struct F32 {
  static constexpr int kWeights = 32, kBytes = 128;
  const uint8_t* block;
  M40_INLINE explicit F32(const uint8_t* b) : block(b) {}
  M40_INLINE Floats weights(int, int i) const {
    Floats v;
    memcpy(&v, block + 4 * kLanes * i, sizeof v);
    return v;
  }
};

struct F16 {
  static constexpr int kWeights = 32, kBytes = 64;
  const uint8_t* block;
  M40_INLINE explicit F16(const uint8_t* b) : block(b) {}
  M40_INLINE Floats weights(int, int i) const { return load_f16(block + 2 * kLanes * i); }
};

struct BF16 {
  static constexpr int kWeights = 32, kBytes = 64;
  const uint8_t* block;
  M40_INLINE explicit BF16(const uint8_t* b) : block(b) {}
  M40_INLINE Floats weights(int, int i) const { return as_floats(load_u16(block + 2 * kLanes * i) << 16); }
};

// ---- blocks of 32 weights ---------------------------------------------------------------------------

// 16 bytes hold 32 quants of 4 bits: the low halves of the bytes first, then the high halves. Where vector i's are.
M40_INLINE int byte_of(int i) { return kLanes * i % 16; }
M40_INLINE int half_of(int i) { return kLanes * i / 16; }

M40_INLINE uint32_t load_u32(const uint8_t* bytes) {
  uint32_t word;
  memcpy(&word, bytes, 4);
  return word;
}
M40_INLINE uint64_t load_u64(const uint8_t* bytes) {
  uint64_t word;
  memcpy(&word, bytes, 8);
  return word;
}

struct Q4_0 {
  static constexpr int kWeights = 32, kBytes = 18;
  const uint8_t* block;
  Ramp16 values;
  M40_INLINE explicit Q4_0(const uint8_t* b) : block(b), values(broadcast_half(b), -8 * broadcast_half(b)) {}
  M40_INLINE Floats weights(int, int i) const { return values.at(block + 2 + byte_of(i), half_of(i)); }
};

struct Q4_1 {
  static constexpr int kWeights = 32, kBytes = 20;
  const uint8_t* block;
  Ramp16 values;
  M40_INLINE explicit Q4_1(const uint8_t* b) : block(b), values(broadcast_half(b), broadcast_half(b + 2)) {}
  M40_INLINE Floats weights(int, int i) const { return values.at(block + 4 + byte_of(i), half_of(i)); }
};

struct Q5_0 {
  static constexpr int kWeights = 32, kBytes = 22;
  const uint8_t* block;
  Floats d, m;
  uint32_t high;
  M40_INLINE explicit Q5_0(const uint8_t* b) : block(b), d(broadcast_half(b)), m(-16 * d), high(load_u32(b + 2)) {}
  M40_INLINE Floats weights(int, int i) const {
    const Ints q = nibbles(block + 6 + byte_of(i), half_of(i)) | where_set(high >> (kLanes * i), 16);
    return multiply_add(d, to_floats(q), m);
  }
};

struct Q5_1 {
  static constexpr int kWeights = 32, kBytes = 24;
  const uint8_t* block;
  Floats d, m;
  uint32_t high;
  M40_INLINE explicit Q5_1(const uint8_t* b)
      : block(b), d(broadcast_half(b)), m(broadcast_half(b + 2)), high(load_u32(b + 4)) {}
  M40_INLINE Floats weights(int, int i) const {
    const Ints q = nibbles(block + 8 + byte_of(i), half_of(i)) | where_set(high >> (kLanes * i), 16);
    return multiply_add(d, to_floats(q), m);
  }
};

struct Q8_0 {
  static constexpr int kWeights = 32, kBytes = 34;
  const uint8_t* block;
  Floats d;
  M40_INLINE explicit Q8_0(const uint8_t* b) : block(b), d(broadcast_half(b)) {}
  M40_INLINE Floats weights(int, int i) const { return d * to_floats(load_i8(block + 2 + kLanes * i)); }
};

// The 16 values that the quants of the IQ4 types stand for.
constexpr int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

struct IQ4_NL {
  static constexpr int kWeights = 32, kBytes = 18;
  const uint8_t* block;
  Floats d;
  Table16 values;
  M40_INLINE explicit IQ4_NL(const uint8_t* b) : block(b), d(broadcast_half(b)), values(kIq4Values) {}
  M40_INLINE Floats weights(int, int i) const { return d * values.at(block + 2 + byte_of(i), half_of(i)); }
};

// ---- blocks of 256 weights: scales of their own for every 16 or 32 weights -----------------------------

// Keeps scales in memory: a load puts one into all lanes for nothing, while the compiler would take it out of the
// vector that it was computed in, at the cost of a shuffle.
template <class Array>
M40_INLINE void keep_in_memory(Array& scales) {
  __asm__("" : "+m"(scales));
}

// 16 bytes times a factor each half: the first 8 times a, the others times b.
M40_INLINE void scale_16(const uint8_t* bytes, float a, float b, float* scaled) {
#if defined(__AVX512F__)
  const Floats factors = (Floats)_mm512_mask_blend_ps(0xFF00, _mm512_set1_ps(a), _mm512_set1_ps(b));
  store(scaled, to_floats(load_u8(bytes)) * factors);
#else
  M40_UNROLL for (int i = 0; i < 16 / kLanes; i++) {
    store(scaled + kLanes * i, to_floats(load_u8(bytes + kLanes * i)) * (kLanes * i < 8 ? a : b));
  }
#endif
}

// Q4_K and Q5_K: 12 bytes hold eight scales and eight minimums of 6 bits. The first four of each lie in the low
// bits of bytes 0..3 and 4..7; the others have their low four bits in bytes 8..11 (scale below, minimum above)
// and their high two on top of the first four.
M40_INLINE void scales_and_minimums(const uint8_t* bytes, float d, float dmin, float* scaled) {
  const uint32_t a = load_u32(bytes), b = load_u32(bytes + 4), c = load_u32(bytes + 8);
  const uint32_t words[4] = {
      a & 0x3F3F3F3F,
      (c & 0x0F0F0F0F) | ((a >> 2) & 0x30303030),
      b & 0x3F3F3F3F,
      ((c >> 4) & 0x0F0F0F0F) | ((b >> 2) & 0x30303030),
  };
  uint8_t unpacked[16];
  memcpy(unpacked, words, 16);
  scale_16(unpacked, d, dmin, scaled);
}

struct Q4_K {
  static constexpr int kWeights = 256, kBytes = 144;
  const uint8_t* block;
  alignas(64) float scales[16];  // and minimums (what is added: negative ones), from 8 on
  M40_INLINE explicit Q4_K(const uint8_t* b) : block(b) {
    scales_and_minimums(b + 4, half(b), -half(b + 2), scales);
    keep_in_memory(scales);
  }
  M40_INLINE Floats weights(int group, int i) const {
    // 32 bytes for every 64 weights: low halves first, then high halves.
    const Ramp16 values(broadcast(scales[group]), broadcast(scales[8 + group]));
    return values.at(block + 16 + group / 2 * 32 + kLanes * i, group % 2);
  }
};

struct Q5_K {
  static constexpr int kWeights = 256, kBytes = 176;
  const uint8_t* block;
  alignas(64) float scales[16];
  M40_INLINE explicit Q5_K(const uint8_t* b) : block(b) {
    scales_and_minimums(b + 4, half(b), -half(b + 2), scales);
    keep_in_memory(scales);
  }
  M40_INLINE Floats weights(int group, int i) const {
    const Ints low = nibbles(block + 48 + group / 2 * 32 + kLanes * i, group % 2);
    const Ints high = load_u8(block + 16 + kLanes * i) >> group;  // bit g of byte j: of weight 32 g + j
    return multiply_add(broadcast(scales[group]), to_floats(low | (high & 1) << 4), broadcast(scales[8 + group]));
  }
};

struct Q2_K {
  static constexpr int kWeights = 256, kBytes = 84;
  const uint8_t* block;
  alignas(64) float scales[16], minimums[16];
  M40_INLINE explicit Q2_K(const uint8_t* b) : block(b) {
    const Floats d = broadcast_half(b + 80), dmin = broadcast_half(b + 82);
    M40_UNROLL for (int i = 0; i < 16 / kLanes; i++) {
      const Ints bytes = load_u8(b + kLanes * i);
      store(scales + kLanes * i, d * to_floats(bytes & 15));
      store(minimums + kLanes * i, -dmin * to_floats(bytes >> 4));
    }
    keep_in_memory(scales);
    keep_in_memory(minimums);
  }
  M40_INLINE Floats weights(int group, int i) const {
    // 32 bytes for every 128 weights: the lowest two bits of all bytes first.
    const Ints q = load_u8(block + 16 + group / 4 * 32 + kLanes * i) >> (group % 4 * 2);
    const int part = 2 * group + kLanes * i / 16;
    return multiply_add(broadcast(scales[part]), to_floats(q & 3), broadcast(minimums[part]));
  }
};

struct Q3_K {
  static constexpr int kWeights = 256, kBytes = 110;
  const uint8_t* block;
  alignas(64) float scales[16];
  M40_INLINE explicit Q3_K(const uint8_t* b) : block(b) {
    // 16 scales of 6 bits, less 32: the low four bits in bytes 0..7 (0..7 below, 8..15 above), the high two in
    // bytes 8..11 (scales 0..3 lowest).
    const uint32_t x = load_u32(b + 96), y = load_u32(b + 100), z = load_u32(b + 104);
    const uint32_t words[4] = {
        (x & 0x0F0F0F0F) | ((z << 4) & 0x30303030),
        (y & 0x0F0F0F0F) | ((z << 2) & 0x30303030),
        ((x >> 4) & 0x0F0F0F0F) | (z & 0x30303030),
        ((y >> 4) & 0x0F0F0F0F) | ((z >> 2) & 0x30303030),
    };
    uint8_t unpacked[16];
    memcpy(unpacked, words, 16);
    const Floats d = broadcast_half(b + 108);
    M40_UNROLL for (int i = 0; i < 16 / kLanes; i++) {
      store(scales + kLanes * i, d * to_floats(load_u8(unpacked + kLanes * i) - 32));
    }
    keep_in_memory(scales);
  }
  M40_INLINE Floats weights(int group, int i) const {
    const Ints low = load_u8(block + 32 + group / 4 * 32 + kLanes * i) >> (group % 4 * 2);
    const Ints high = load_u8(block + kLanes * i) >> group;  // bit g of byte j: of weight 32 g + j
    return scales[2 * group + kLanes * i / 16] * to_floats(((low & 3) | (high & 1) << 2) - 4);
  }
};

struct Q6_K {
  static constexpr int kWeights = 256, kBytes = 210;
  const uint8_t* block;
  alignas(64) float scales[16];
  M40_INLINE explicit Q6_K(const uint8_t* b) : block(b) {
    const Floats d = broadcast_half(b + 208);
    M40_UNROLL for (int i = 0; i < 16 / kLanes; i++) {
      store(scales + kLanes * i, d * to_floats(load_i8(b + 192 + kLanes * i)));
    }
    keep_in_memory(scales);
  }
  M40_INLINE Floats weights(int group, int i) const {
    // Every 128 weights: 64 bytes of low halves (weights 0..63 below, 64..127 above) and 32 bytes of high pairs.
    const Ints low = load_u8(block + group / 4 * 64 + group % 2 * 32 + kLanes * i) >> (group % 4 / 2 * 4);
    const Ints high = load_u8(block + 128 + group / 4 * 32 + kLanes * i) >> (group % 4 * 2);
    return scales[2 * group + kLanes * i / 16] * to_floats(((low & 15) | (high & 3) << 4) - 32);
  }
};

struct IQ4_XS {
  static constexpr int kWeights = 256, kBytes = 136;
  const uint8_t* block;
  Table16 values;
  float scales[8];
  M40_INLINE explicit IQ4_XS(const uint8_t* b) : block(b), values(kIq4Values) {
    const float d = half(b);
    const uint32_t high = static_cast<uint32_t>(b[2] | b[3] << 8), low = load_u32(b + 4);
    M40_UNROLL for (int g = 0; g < 8; g++) {
      const uint32_t scale = ((low >> (4 * g)) & 15) | (((high >> (2 * g)) & 3) << 4);
      scales[g] = d * static_cast<float>(static_cast<int32_t>(scale) - 32);
    }
  }
  M40_INLINE Floats weights(int group, int i) const {
    return scales[group] * values.at(block + 8 + 16 * group + byte_of(i), half_of(i));
  }
};

}  // namespace
}  // namespace m40::reference

#endif
