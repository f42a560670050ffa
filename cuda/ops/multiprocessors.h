// How many thread blocks a launch wants follows from the device.
#ifndef M40_OPS_MULTIPROCESSORS_H
#define M40_OPS_MULTIPROCESSORS_H

#include <stdint.h>

#include <algorithm>

#include "../gpu/device.h"

namespace m40::cuda {

// All places for thread blocks that a device has, in thousandths.
constexpr uint32_t all_places = 1000;

// Of the current device; 1 where that cannot be known.
inline uint32_t multiprocessors() {
  int device = 0, n = 0;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) == cudaSuccess && n > 0) return static_cast<uint32_t>(n);
  cudaGetLastError();  // whoever launches next meets the error again
  return 1;
}

// How many of n thread blocks a launch has, which go through all of them by turns (walk_blocks), where it is to leave room to
// launches beside it. residency: blocks that fit on a multiprocessor. share: thousandths of these places that it may take.
inline uint32_t limited_blocks(uint64_t n, uint32_t residency, uint32_t share) {
  if (share >= all_places) return static_cast<uint32_t>(n);
  const uint64_t places = uint64_t{multiprocessors()} * residency * share / all_places;
  return static_cast<uint32_t>(std::min<uint64_t>(n, std::max<uint64_t>(places, 1)));
}

}  // namespace m40::cuda

#endif
