// The codebooks of the IQ types as kernels look entries up: in shared memory, where a thread block puts them first, and
// small for that. A lane's entry is any, so that more banks' worth of a table would be read no faster.
#ifndef M40_KERNELS_IQ_CODES_CUH
#define M40_KERNELS_IQ_CODES_CUH

#include <stddef.h>
#include <stdint.h>

#include "../gpu/device.h"
#include "../common/iq_grids.h"

namespace m40::cuda {

template <class Entry, size_t n>
struct alignas(16) IqCodes {
  Entry entries[n];
};

// Four bits a weight, which hold the number of its level: those of a grid of `bits` bits a weight.
template <class Entry, int bits, size_t n>
constexpr IqCodes<Entry, n> iq_nibbles(const uint16_t (&grid)[n]) {
  IqCodes<Entry, n> codes = {};
  for (size_t i = 0; i < n; i++) {
    for (int j = 0; j < static_cast<int>(2 * sizeof(Entry)); j++) {
      codes.entries[i] |= static_cast<Entry>((grid[i] >> bits * j & ((1 << bits) - 1)) << 4 * j);
    }
  }
  return codes;
}

// Two bits a weight, as they are.
template <size_t n>
constexpr IqCodes<uint16_t, n> iq_quarters(const uint16_t (&grid)[n]) {
  IqCodes<uint16_t, n> codes = {};
  for (size_t i = 0; i < n; i++) codes.entries[i] = grid[i];
  return codes;
}

static __device__ const IqCodes<uint16_t, 2048> iq1_codes = iq_quarters(iq1_packed);
static __device__ const IqCodes<uint32_t, 256> iq2_xxs_codes = iq_nibbles<uint32_t, 2>(iq2_xxs_packed);
static __device__ const IqCodes<uint32_t, 512> iq2_xs_codes = iq_nibbles<uint32_t, 2>(iq2_xs_packed);
static __device__ const IqCodes<uint32_t, 1024> iq2_s_codes = iq_nibbles<uint32_t, 2>(iq2_s_packed);
static __device__ const IqCodes<uint16_t, 256> iq3_xxs_codes = iq_nibbles<uint16_t, 3>(iq3_xxs_packed);
static __device__ const IqCodes<uint16_t, 512> iq3_s_codes = iq_nibbles<uint16_t, 3>(iq3_s_packed);

// The entry that stands so many bytes into a table.
template <class Entry>
__device__ __forceinline__ uint32_t iq_entry(const void* table, uint32_t at) {
  return *reinterpret_cast<const Entry*>(static_cast<const char*>(table) + at);
}

}  // namespace m40::cuda

#endif
