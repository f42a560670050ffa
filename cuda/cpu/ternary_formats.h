// Tensor types with weights of -1, 0 or 1 times a block's scale.
#ifndef M40_REFERENCE_TERNARY_FORMATS_H
#define M40_REFERENCE_TERNARY_FORMATS_H

#include "block_formats.h"

namespace m40::reference {
namespace {

// Five digits of base 3 a byte. The byte is the first digit after the point, and so on, in units of 1/256, rounded up:
// times 3^n, less the whole part, it starts with digit n; times 3 again, the whole part is that digit.
struct TQ1_0 {
  static constexpr int kWeights = 256, kBytes = 54;
  const uint8_t* block;
  Floats d;
  uint8_t last[16];  // of the last 16 weights, bytes that start with their digits
  M40_INLINE explicit TQ1_0(const uint8_t* b) : block(b), d(broadcast_half(b + 52)) {
    // The last four bytes have four digits each.
    M40_UNROLL for (int i = 0; i < 16; i++) last[i] = static_cast<uint8_t>(b[48 + i % 4] * kPowers[i / 4]);
  }
  M40_INLINE Floats weights(int group, int i) const {
    const int at = 32 * group + kLanes * i;
    // 32 bytes with five digits each, all the first ones first; 16 bytes with five; the last ones.
    const Ints bytes = at < 160   ? load_u8(block + at % 32) * kPowers[at / 32]
                       : at < 240 ? load_u8(block + 32 + at % 16) * kPowers[(at - 160) / 16]
                                  : load_u8(last + at - 240);
    return d * to_floats(((bytes & 255) * 3 >> 8) - 1);
  }

 private:
  static constexpr int32_t kPowers[5] = {1, 3, 9, 27, 81};
};

struct TQ2_0 {
  static constexpr int kWeights = 256, kBytes = 66;
  const uint8_t* block;
  Floats d;
  M40_INLINE explicit TQ2_0(const uint8_t* b) : block(b), d(broadcast_half(b + 64)) {}
  M40_INLINE Floats weights(int group, int i) const {
    // 32 bytes for every 128 weights: the lowest two bits of all bytes first.
    const Ints q = load_u8(block + group / 4 * 32 + kLanes * i) >> (group % 4 * 2);
    return d * to_floats((q & 3) - 1);
  }
};

}  // namespace
}  // namespace m40::reference

#endif
