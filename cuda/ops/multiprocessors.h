// How many thread blocks a launch wants follows from the device.
#ifndef M40_OPS_MULTIPROCESSORS_H
#define M40_OPS_MULTIPROCESSORS_H

#include <stdint.h>

#include "../runtime/device.h"

namespace m40::cuda {

// Of the current device; 1 where that cannot be known.
inline uint32_t multiprocessors() {
  int device = 0, n = 0;
  if (cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) == cudaSuccess && n > 0) return static_cast<uint32_t>(n);
  cudaGetLastError();  // whoever launches next meets the error again
  return 1;
}

}  // namespace m40::cuda

#endif
