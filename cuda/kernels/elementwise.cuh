// What computes each value by itself: activations, sums, caps, and the choice of rows.
#ifndef M40_KERNELS_ELEMENTWISE_CUH
#define M40_KERNELS_ELEMENTWISE_CUH

#include "../include/m40.h"
#include "../runtime/device.h"

namespace m40::cuda {

constexpr uint32_t elementwise_threads = 256;

__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }

// Hendrycks and Gimpel 2016, the approximation with tanh.
__device__ __forceinline__ float gelu_tanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.797884560802865f * (x + 0.044715f * x * x * x)));  // sqrt(2 / pi)
}

__device__ __forceinline__ float gelu_erf(float x) { return 0.5f * x * (1.0f + erff(x * 0.707106781186548f)); }

// Not fmaxf, which would make 0 of what is not a number.
__device__ __forceinline__ float relu(float x) { return x < 0.0f ? 0.0f : x; }

__device__ __forceinline__ float activated(uint32_t activation, float x) {
  switch (activation) {
    case M40_ACTIVATION_SILU: return silu(x);
    case M40_ACTIVATION_GELU_TANH: return gelu_tanh(x);
    case M40_ACTIVATION_GELU_ERF: return gelu_erf(x);
    default: return relu(x);
  }
}

// cap(x) of m40.h.
__device__ __forceinline__ float soft_capped(float value, float softcap) {
  return softcap == 0.0f ? value : softcap * tanhf(value / softcap);
}

// Rows are blockIdx.y and, where there are more than a grid has there, those gridDim.y further on.
#define M40_FOR_EACH_VALUE(row, i)                                             \
  const uint32_t i = blockIdx.x * elementwise_threads + threadIdx.x;           \
  if (i < columns)                                                             \
    for (size_t row = blockIdx.y; row < n_rows; row += gridDim.y)

__global__ inline void activation(const float* input, uint32_t input_stride, float* output, uint32_t output_stride, uint32_t n_rows,
                                  uint32_t columns, uint32_t kind, bool gated) {
  M40_FOR_EACH_VALUE(row, i) {
    const float* from = input + row * input_stride;
    const float value = activated(kind, from[i]);
    output[row * output_stride + i] = gated ? value * from[columns + i] : value;
  }
}

__global__ inline void add(const float* a, uint32_t a_stride, const float* b, uint32_t b_stride, float* output, uint32_t output_stride,
                           uint32_t n_rows, uint32_t columns) {
  M40_FOR_EACH_VALUE(row, i) output[row * output_stride + i] = a[row * a_stride + i] + b[row * b_stride + i];
}

__global__ inline void softcap(const float* input, uint32_t input_stride, float* output, uint32_t output_stride, uint32_t n_rows,
                               uint32_t columns, float scale, float cap) {
  M40_FOR_EACH_VALUE(row, i) output[row * output_stride + i] = soft_capped(input[row * input_stride + i] * scale, cap);
}

__global__ inline void select_rows(const float* input, uint32_t input_stride, float* output, uint32_t output_stride, uint32_t n_rows,
                                   uint32_t columns, const uint32_t* rows) {
  M40_FOR_EACH_VALUE(row, i) output[row * output_stride + i] = input[size_t{rows[row]} * input_stride + i];
}

__global__ inline void expert_sum(const float* input, uint32_t input_stride, const float* weights, uint32_t weights_stride,
                                  const float* residual, uint32_t residual_stride, float* output, uint32_t output_stride, uint32_t n_rows,
                                  uint32_t columns, uint32_t n_used) {
  M40_FOR_EACH_VALUE(row, i) {
    float sum = 0;
    for (uint32_t slot = 0; slot < n_used; slot++) {
      sum = fmaf(weights[row * weights_stride + slot], input[(row * n_used + slot) * input_stride + i], sum);
    }
    output[row * output_stride + i] = residual == nullptr ? sum : residual[row * residual_stride + i] + sum;
  }
}

__global__ inline void check_experts(uint32_t* experts, uint32_t stride, uint32_t n_rows, uint32_t columns, uint32_t n_experts,
                                     uint32_t* fault) {
  M40_FOR_EACH_VALUE(row, i) {
    uint32_t* at = experts + row * stride + i;
    if (*at < n_experts) continue;
    // The first to come is told of; which one that is does not matter.
    if (atomicCAS(fault, 0u, static_cast<uint32_t>(row) + 1) == 0) fault[1] = *at;
    *at = 0;
  }
}

#undef M40_FOR_EACH_VALUE

}  // namespace m40::cuda

#endif
