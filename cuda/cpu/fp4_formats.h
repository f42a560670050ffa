// Tensor types of 4-bit floating-point numbers (E2M1: a sign, two bits of exponent and one of fraction) with a scale
// that is a floating-point number of 8 bits. Every product is exact, or infinite.
#ifndef M40_REFERENCE_FP4_FORMATS_H
#define M40_REFERENCE_FP4_FORMATS_H

#include "block_formats.h"

namespace m40::reference {
namespace {

// Twice what the 16 numbers are, which makes them integers: the scales are halved for it.
constexpr int8_t kTwiceE2M1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

M40_INLINE float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

// Half of an E8M0 number, 2^(e - 127): an exponent alone. Those of 0 and 1 are subnormal.
M40_INLINE float half_of_e8m0(uint32_t e) { return float_of_bits(e < 2 ? 1u << (21 + e) : (e - 1) << 23); }

// Half of an unsigned E4M3 number. As the highest bits of a float it is 2^-120 times as large, subnormal ones included.
// Its largest code is no number, and taken for 0; the bit of the sign that it does not have is ignored.
M40_INLINE float half_of_e4m3(uint32_t code) { return code == 0x7F ? 0 : float_of_bits((code & 0x7F) << 20) * 0x1p119f; }

struct MXFP4 {
  static constexpr int kWeights = 32, kBytes = 17;
  const uint8_t* block;
  Floats d;
  Table16 values;
  M40_INLINE explicit MXFP4(const uint8_t* b) : block(b), d(broadcast(half_of_e8m0(b[0]))), values(kTwiceE2M1) {}
  M40_INLINE Floats weights(int, int i) const { return d * values.at(block + 1 + byte_of(i), half_of(i)); }
};

// Four scales, then 8 bytes for every 16 weights: low halves first, then high halves. The tensor's own scale, if it has
// one, is another tensor.
struct NVFP4 {
  static constexpr int kWeights = 64, kBytes = 36;
  const uint8_t* block;
  Table16 values;
  float scales[4];
  M40_INLINE explicit NVFP4(const uint8_t* b) : block(b), values(kTwiceE2M1) {
    M40_UNROLL for (int part = 0; part < 4; part++) scales[part] = half_of_e4m3(b[part]);
  }
  M40_INLINE Floats weights(int group, int i) const {
    const auto word = [&](int k) {
      return load_u64(block + 4 + 16 * group + k / 2 * 8) >> (k % 2 * 4) & 0x0F0F0F0F0F0F0F0F;
    };
    return scales[2 * group + kLanes * i / 16] * values.at(bytes_of_words(i, word));
  }
};

}  // namespace
}  // namespace m40::reference

#endif
