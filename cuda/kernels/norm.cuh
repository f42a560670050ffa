// Root-mean-square and layer normalisation: a block a row.
//
// A row is short and a step waits for it, so all of a row's values are asked for at once and kept in registers: kValues
// a thread. Rows that are too long for that are read anew for each pass (kValues 0).
#ifndef M40_KERNELS_NORM_CUH
#define M40_KERNELS_NORM_CUH

#include "reduce.cuh"

namespace m40::cuda {

constexpr int norm_warps = 16;
constexpr uint32_t norm_threads = norm_warps * 32;

struct NormRow {
  const float* input;
  const float* residual;  // or nullptr
  float* output;
  const float* weight;
  const float* bias;  // or nullptr
  uint32_t columns;
};

// What a row's values are multiplied by.
__device__ __forceinline__ float norm_scale(float variance, float epsilon) { return 1.0f / sqrtf(variance + epsilon); }

__device__ __forceinline__ void norm_put(const NormRow& row, uint32_t i, float value, float weight) {
  value *= weight;
  if (row.bias != nullptr) value += __ldg(row.bias + i);
  if (row.residual != nullptr) value += row.residual[i];
  row.output[i] = value;
}

template <bool kLayer, int kValues>
__device__ __forceinline__ void norm_short(const NormRow& row, float epsilon, float (&sums)[2][norm_warps]) {
  float values[kValues], weights[kValues];
#pragma unroll
  for (int k = 0; k < kValues; k++) {
    const uint32_t i = k * norm_threads + threadIdx.x;
    values[k] = i < row.columns ? row.input[i] : 0.0f;
    weights[k] = i < row.columns ? __ldg(row.weight + i) : 0.0f;
  }
  const float n = static_cast<float>(row.columns);
  float mean = 0;
  if (kLayer) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kValues; k++) sum += values[k];
    mean = block_sum<norm_warps>(sum, sums[0]) / n;
  }
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kValues; k++) {
    const float value = k * norm_threads + threadIdx.x < row.columns ? values[k] - mean : 0.0f;
    squares = fmaf(value, value, squares);
  }
  const float scale = norm_scale(block_sum<norm_warps>(squares, sums[1]) / n, epsilon);
#pragma unroll
  for (int k = 0; k < kValues; k++) {
    const uint32_t i = k * norm_threads + threadIdx.x;
    if (i < row.columns) norm_put(row, i, (values[k] - mean) * scale, weights[k]);
  }
}

template <bool kLayer>
__device__ __forceinline__ void norm_long(const NormRow& row, float epsilon, float (&sums)[2][norm_warps]) {
  const float n = static_cast<float>(row.columns);
  float mean = 0;
  if (kLayer) {
    float sum = 0;
    for (uint32_t i = threadIdx.x; i < row.columns; i += norm_threads) sum += row.input[i];
    mean = block_sum<norm_warps>(sum, sums[0]) / n;
  }
  float squares = 0;
  for (uint32_t i = threadIdx.x; i < row.columns; i += norm_threads) {
    const float value = row.input[i] - mean;
    squares = fmaf(value, value, squares);
  }
  const float scale = norm_scale(block_sum<norm_warps>(squares, sums[1]) / n, epsilon);
  for (uint32_t i = threadIdx.x; i < row.columns; i += norm_threads) {
    norm_put(row, i, (row.input[i] - mean) * scale, __ldg(row.weight + i));
  }
}

// The input, the residual and the output may be one.
template <bool kLayer, int kValues>
__global__ void __launch_bounds__(norm_threads)
    norm(const float* input, uint32_t input_stride, const float* residual, uint32_t residual_stride, float* output, uint32_t output_stride,
         const float* weight, const float* bias, uint32_t columns, float epsilon) {
  __shared__ float sums[2][norm_warps];
  NormRow row = {};
  row.input = input + size_t{blockIdx.x} * input_stride;
  row.residual = residual == nullptr ? nullptr : residual + size_t{blockIdx.x} * residual_stride;
  row.output = output + size_t{blockIdx.x} * output_stride;
  row.weight = weight;
  row.bias = bias;
  row.columns = columns;
  if constexpr (kValues > 0) {
    norm_short<kLayer, kValues>(row, epsilon, sums);
  } else {
    norm_long<kLayer>(row, epsilon, sums);
  }
}

}  // namespace m40::cuda

#endif
