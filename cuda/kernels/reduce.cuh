// Sums (and the largest) over a warp and over a block, in an order of their own: the same for every launch.
#ifndef M40_KERNELS_REDUCE_CUH
#define M40_KERNELS_REDUCE_CUH

#include <math.h>
#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

// All lanes get the sum.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
  return value;
}

// All lanes get the largest; what is not a number does not count.
__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, step));
  return value;
}

// All threads get the sum. parts: kWarps floats of shared memory, free to be used again after the next barrier.
template <int kWarps>
__device__ __forceinline__ float block_sum(float value, float* parts) {
  static_assert(kWarps <= 32, "a warp adds the warps' sums");
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  return warp_sum(lane < kWarps ? parts[lane] : 0.0f);
}

}  // namespace m40::cuda

#endif
