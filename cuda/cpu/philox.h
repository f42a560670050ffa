// Philox4x32-10 (Salmon et al. 2011): random numbers that are a function of key and counter alone.
#ifndef M40_REFERENCE_PHILOX_H
#define M40_REFERENCE_PHILOX_H

#include <stdint.h>

namespace m40::reference {

// The first two of the four words.
struct PhiloxWords {
  uint32_t first, second;
};

// Those for counter (counter, stream, 0, 0).
inline PhiloxWords philox(uint32_t key_low, uint32_t key_high, uint32_t counter, uint32_t stream) {
  uint32_t c0 = counter;
  uint32_t c1 = stream;
  uint32_t c2 = 0;
  uint32_t c3 = 0;
  for (int round = 0; round < 10; round++) {
    const uint64_t a = uint64_t{0xD2511F53u} * c0;
    const uint64_t b = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ key_low;
    c1 = static_cast<uint32_t>(b);
    c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ key_high;
    c3 = static_cast<uint32_t>(a);
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return {c0, c1};
}

}  // namespace m40::reference

#endif
