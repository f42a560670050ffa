// The last thread block to finish its part puts the parts together: a launch less than one that does only that.
#ifndef M40_KERNELS_LAST_BLOCK_CUH
#define M40_KERNELS_LAST_BLOCK_CUH

#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

// Whether this is the last of n_blocks blocks to get here; it then sees what the others wrote earlier. All threads of a
// block call it. counter: 0 before the first block and after the last. is_last: of shared memory.
__device__ __forceinline__ bool is_last_block(uint32_t* counter, uint32_t n_blocks, bool& is_last) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    is_last = atomicAdd(counter, 1u) == n_blocks - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (!is_last) return false;
  __threadfence();
  return true;
}

}  // namespace m40::cuda

#endif
