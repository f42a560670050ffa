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
  cudaGetLastError();  // the next launch meets the error again
  return 1;
}

// Whether the current device is of a generation whose register file has four banks, Maxwell or Pascal. From Volta on it
// has two, and a warp with twice the sums takes longer.
inline bool has_four_register_banks() {
  int device = 0, major = 0;
  const bool known = cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess;
  if (!known) cudaGetLastError();
  return known && major < 7;
}

// The thread blocks of a launch that leaves room to concurrent launches: they go through all n blocks in turns
// (walk_blocks). residency: blocks that fit on a multiprocessor. share: the thousandths of these places that the launch
// may take.
inline uint32_t limited_blocks(uint64_t n, uint32_t residency, uint32_t share) {
  if (share >= all_places) return static_cast<uint32_t>(n);
  const uint64_t places = uint64_t{multiprocessors()} * residency * share / all_places;
  return static_cast<uint32_t>(std::min<uint64_t>(n, std::max<uint64_t>(places, 1)));
}

}  // namespace m40::cuda

#endif
