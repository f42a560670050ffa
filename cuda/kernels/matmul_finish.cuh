// The last step from a product's sums to its output: the same in every kernel, to the bit.
#ifndef M40_KERNELS_MATMUL_FINISH_CUH
#define M40_KERNELS_MATMUL_FINISH_CUH

#include <math.h>

#include "../gpu/device.h"

namespace m40::cuda {

// (factor * sum + bias) * scale + residual. With the ones and zeros of what a product goes without, each step is exact.
__device__ __forceinline__ float finished_sum(float sum, float factor, float bias, float scale, float residual) {
  return fmaf(fmaf(sum, factor, bias), scale, residual);
}

// Value i of a vector that may be absent.
__device__ __forceinline__ float value_or(const float* values, size_t i, float otherwise) { return values == nullptr ? otherwise : __ldg(values + i); }

}  // namespace m40::cuda

#endif
