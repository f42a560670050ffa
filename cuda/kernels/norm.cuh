// Root-mean-square and layer normalisation: a block a row.
#ifndef M40_KERNELS_NORM_CUH
#define M40_KERNELS_NORM_CUH

#include "reduce.cuh"

namespace m40::cuda {

constexpr int norm_warps = 8;

// What a row's values are multiplied by: 1 / sqrt(variance + epsilon).
__device__ __forceinline__ float norm_scale(float variance, float epsilon) { return 1.0f / sqrtf(variance + epsilon); }

template <bool kLayer>
__global__ void __launch_bounds__(norm_warps * 32)
    norm(const float* input, uint32_t input_stride, const float* residual, uint32_t residual_stride, float* output, uint32_t output_stride,
         const float* weight, const float* bias, uint32_t columns, float epsilon) {
  __shared__ float sums[2][norm_warps];
  const float* from = input + size_t{blockIdx.x} * input_stride;
  float* to = output + size_t{blockIdx.x} * output_stride;
  const float n = static_cast<float>(columns);
  float mean = 0;
  if (kLayer) {
    float sum = 0;
    for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) sum += from[i];
    mean = block_sum<norm_warps>(sum, sums[0]) / n;
  }
  float squares = 0;
  for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) {
    const float value = from[i] - mean;
    squares = fmaf(value, value, squares);
  }
  const float scale = norm_scale(block_sum<norm_warps>(squares, sums[1]) / n, epsilon);
  for (uint32_t i = threadIdx.x; i < columns; i += blockDim.x) {
    float value = (from[i] - mean) * scale * weight[i];
    if (bias != nullptr) value += bias[i];
    if (residual != nullptr) value += residual[size_t{blockIdx.x} * residual_stride + i];
    to[i] = value;
  }
}

}  // namespace m40::cuda

#endif
