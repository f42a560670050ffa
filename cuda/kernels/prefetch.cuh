// Reading ahead without registers: what is asked for is in L2 when it is loaded.
#ifndef M40_KERNELS_PREFETCH_CUH
#define M40_KERNELS_PREFETCH_CUH

#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

// That one request stands for: a line of L2. Asking for each of its sectors (32 bytes) was 3% slower on an NVIDIA H200,
// and for each second one 2%.
constexpr uint32_t prefetched_bytes = 128;

// Asks for the line at an address in device memory to be brought into L2; no thread waits for it. Only what will be
// read may be asked for: the emulation reads it, so that an address outside of what is allocated is found there.
__device__ __forceinline__ void prefetch_to_l2(const uint8_t* address) {
#ifdef M40_EMULATED
  static_cast<void>(*static_cast<const volatile uint8_t*>(address));
#else
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

}  // namespace m40::cuda

#endif
