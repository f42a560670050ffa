// Waiting for what another thread block, the host or another device writes.
#ifndef M40_KERNELS_WAITING_CUH
#define M40_KERNELS_WAITING_CUH

#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

// A thread that polls what another block of its launch or the host writes: lets others run meanwhile.
__device__ __forceinline__ void spin_pause() {
#ifdef M40_EMULATED
  ::m40::emulation::yield();
#endif
}

// The same of a thread that waits for another device: no block of its launch is waited for.
__device__ __forceinline__ void spin_pause_for_device() {
#ifdef M40_EMULATED
  ::m40::emulation::yield_to_devices();
#endif
}

template <class V>
__device__ __forceinline__ V look(const V* at) {
  return *const_cast<const volatile V*>(at);
}
template <class V>
__device__ __forceinline__ void show(V* at, V value) {
  *const_cast<volatile V*>(at) = value;
}

// Microseconds of a clock that all multiprocessors share; they wrap around.
__device__ __forceinline__ uint32_t microseconds() {
#ifdef M40_EMULATED
  return static_cast<uint32_t>(::m40::emulation::nanoseconds() / 1000);
#else
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return static_cast<uint32_t>(now / 1000);
#endif
}

}  // namespace m40::cuda

#endif
