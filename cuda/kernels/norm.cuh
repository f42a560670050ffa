// Root-mean-square and layer normalisation: a block a row, or a group of one.
//
// A row is short and a step waits for it, so all of a row's values are loaded at once into registers, four adjacent
// ones a load where rows are aligned. Rows that are too long for that are read again for each pass.
//
// All norms have one order of additions: 512 chains, of the columns that are 512 apart, then their sums 32 at a time,
// then those. Products that do the norm themselves (matmul_prologue.cuh) follow it.
#ifndef M40_KERNELS_NORM_CUH
#define M40_KERNELS_NORM_CUH

#include "block.cuh"
#include "elementwise.cuh"
#include "norm_args.cuh"
#include "reduce.cuh"

namespace m40::cuda {

constexpr int norm_warps = 16;
constexpr uint32_t norm_threads = norm_warps * 32;

struct NormRow {
  const float* input;
  const float* residual;  // or nullptr
  float* output;
  const float* weight;    // or nullptr
  const float* bias;      // or nullptr
  const float* factor;    // or nullptr
  const float* gate;      // or nullptr
  uint32_t columns;

  __device__ __forceinline__ NormRow(const NormArgs& args, BlockIndex block) {
    const uint32_t at = block.x / args.n_groups, group = block.x % args.n_groups;
    const auto weights = [&](const float* of_first) { return of_first == nullptr ? nullptr : of_first + size_t{group} * args.group_weights; };
    const size_t column = size_t{group} * args.columns;
    input = args.input + size_t{at} * args.input_stride + column;
    residual = args.residual == nullptr ? nullptr : args.residual + size_t{at} * args.residual_stride + column;
    output = args.output + size_t{at} * args.output_stride + column;
    weight = weights(args.weight);
    bias = weights(args.bias);
    factor = args.factor;
    gate = args.gate == nullptr ? nullptr : args.gate + size_t{at} * args.gate_stride + column;
    columns = args.columns;
  }
  __device__ __forceinline__ float weight_at(uint32_t i) const { return weight == nullptr ? 1.0f : __ldg(weight + i); }
  template <NormGate kGate>
  __device__ __forceinline__ float input_at(uint32_t i) const {
    return kGate == NormGate::kInput ? silu(gate[i]) * input[i] : input[i];
  }
};

// What a row's values are multiplied by.
__device__ __forceinline__ float norm_scale(float variance, float epsilon) { return 1.0f / sqrtf(variance + epsilon); }

template <NormGate kGate>
__device__ __forceinline__ void norm_put(const NormRow& row, uint32_t i, float value, float weight) {
  value *= weight;
  if (row.bias != nullptr) value += __ldg(row.bias + i);
  if (row.residual != nullptr) value += row.residual[i];
  if (row.factor != nullptr) value *= __ldg(row.factor);
  if (kGate == NormGate::kOutput) value = silu(row.gate[i]) * value;
  row.output[i] = value;
}

template <bool kLayer, int kValues, NormGate kGate>
__device__ __forceinline__ void norm_short(const NormRow& row, float epsilon, float (&sums)[2][norm_warps]) {
  float values[kValues], weights[kValues];
#pragma unroll
  for (int k = 0; k < kValues; k++) {
    const uint32_t i = k * norm_threads + threadIdx.x;
    values[k] = i < row.columns ? row.input_at<kGate>(i) : 0.0f;
    weights[k] = i < row.columns ? row.weight_at(i) : 0.0f;
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
    if (i < row.columns) norm_put<kGate>(row, i, (values[k] - mean) * scale, weights[k]);
  }
}

template <bool kLayer, NormGate kGate>
__device__ __forceinline__ void norm_long(const NormRow& row, float epsilon, float (&sums)[2][norm_warps]) {
  const float n = static_cast<float>(row.columns);
  float mean = 0;
  if (kLayer) {
    float sum = 0;
    for (uint32_t i = threadIdx.x; i < row.columns; i += norm_threads) sum += row.input_at<kGate>(i);
    mean = block_sum<norm_warps>(sum, sums[0]) / n;
  }
  float squares = 0;
  for (uint32_t i = threadIdx.x; i < row.columns; i += norm_threads) {
    const float value = row.input_at<kGate>(i) - mean;
    squares = fmaf(value, value, squares);
  }
  const float scale = norm_scale(block_sum<norm_warps>(squares, sums[1]) / n, epsilon);
  for (uint32_t i = threadIdx.x; i < row.columns; i += norm_threads) {
    norm_put<kGate>(row, i, (row.input_at<kGate>(i) - mean) * scale, row.weight_at(i));
  }
}

struct NormShared {
  __align__(16) float sums[2][norm_warps];
};

// Grid: rows times groups.
template <bool kLayer, int kValues, NormGate kGate>
__device__ __forceinline__ void norm(const NormArgs& args, BlockIndex block, NormShared& shared) {
  const NormRow row(args, block);
  if constexpr (kValues > 0) {
    norm_short<kLayer, kValues, kGate>(row, args.epsilon, shared.sums);
  } else {
    norm_long<kLayer, kGate>(row, args.epsilon, shared.sums);
  }
}

template <bool kLayer, int kValues, NormGate kGate>
__global__ void __launch_bounds__(norm_threads) norm_kernel(NormArgs args) {
  __shared__ NormShared shared;
  norm<kLayer, kValues, kGate>(args, launched_block(), shared);
}

// ---- four adjacent columns a load ---------------------------------------------------------------------------------

constexpr uint32_t norm_fours_threads = norm_threads / 4;

__device__ __forceinline__ float4 add_across(float4 value, int distance) {
  value.x += __shfl_xor_sync(0xFFFFFFFFu, value.x, distance);
  value.y += __shfl_xor_sync(0xFFFFFFFFu, value.y, distance);
  value.z += __shfl_xor_sync(0xFFFFFFFFu, value.z, distance);
  value.w += __shfl_xor_sync(0xFFFFFFFFu, value.w, distance);
  return value;
}

__device__ __forceinline__ float4 multiply(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }

__device__ __forceinline__ float4 silu(float4 x) { return make_float4(silu(x.x), silu(x.y), silu(x.z), silu(x.w)); }

// block_sum() of 512 chains of which a thread has four: to the same bits. All threads get the sum.
__device__ __forceinline__ float fours_sum(float4 chains, float* parts) {
  chains = add_across(add_across(add_across(chains, 4), 2), 1);
  if (threadIdx.x % 8 == 0) parts[threadIdx.x / 8] = (chains.x + chains.z) + (chains.y + chains.w);
  __syncthreads();
  static_assert(norm_warps == 16, "four loads of four");
  float4 sums[4];
#pragma unroll
  for (int i = 0; i < 4; i++) sums[i] = reinterpret_cast<const float4*>(parts)[i];
  const auto add = [](float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); };
  const float4 sum = add(add(sums[0], sums[2]), add(sums[1], sums[3]));
  return (sum.x + sum.z) + (sum.y + sum.w);
}

// Grid: rows times groups. Columns, strides and pointers are multiples of four floats; at most 4 * kFours *
// norm_fours_threads columns.
template <bool kLayer, int kFours, NormGate kGate>
__device__ __forceinline__ void norm_fours(const NormArgs& args, BlockIndex block, NormShared& shared) {
  const NormRow row(args, block);
  const uint32_t fours = args.columns / 4;
  const float4* from = reinterpret_cast<const float4*>(row.input);
  const float4* gates = reinterpret_cast<const float4*>(row.gate);
  float4 values[kFours], weights[kFours];
#pragma unroll
  for (int k = 0; k < kFours; k++) {
    const uint32_t i = k * norm_fours_threads + threadIdx.x;
    values[k] = i < fours ? from[i] : make_float4(0, 0, 0, 0);
    weights[k] = row.weight == nullptr ? make_float4(1, 1, 1, 1)
                 : i < fours          ? __ldg(reinterpret_cast<const float4*>(row.weight) + i)
                                      : make_float4(0, 0, 0, 0);
    if (kGate == NormGate::kInput && i < fours) values[k] = multiply(silu(gates[i]), values[k]);
  }
  const float n = static_cast<float>(args.columns);
  if (kLayer) {
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int k = 0; k < kFours; k++) {
      sum.x += values[k].x;
      sum.y += values[k].y;
      sum.z += values[k].z;
      sum.w += values[k].w;
    }
    const float mean = fours_sum(sum, shared.sums[0]) / n;
#pragma unroll
    for (int k = 0; k < kFours; k++) {
      if (k * norm_fours_threads + threadIdx.x >= fours) continue;
      values[k] = make_float4(values[k].x - mean, values[k].y - mean, values[k].z - mean, values[k].w - mean);
    }
  }
  float4 squares = make_float4(0, 0, 0, 0);
#pragma unroll
  for (int k = 0; k < kFours; k++) {
    squares.x = fmaf(values[k].x, values[k].x, squares.x);
    squares.y = fmaf(values[k].y, values[k].y, squares.y);
    squares.z = fmaf(values[k].z, values[k].z, squares.z);
    squares.w = fmaf(values[k].w, values[k].w, squares.w);
  }
  const float scale = norm_scale(fours_sum(squares, shared.sums[1]) / n, args.epsilon);
  float4* to = reinterpret_cast<float4*>(row.output);
#pragma unroll
  for (int k = 0; k < kFours; k++) {
    const uint32_t i = k * norm_fours_threads + threadIdx.x;
    if (i >= fours) continue;
    float4 value = make_float4(values[k].x * scale * weights[k].x, values[k].y * scale * weights[k].y, values[k].z * scale * weights[k].z,
                               values[k].w * scale * weights[k].w);
    if (row.bias != nullptr) {
      const float4 more = __ldg(reinterpret_cast<const float4*>(row.bias) + i);
      value = make_float4(value.x + more.x, value.y + more.y, value.z + more.z, value.w + more.w);
    }
    if (row.residual != nullptr) {
      const float4 more = reinterpret_cast<const float4*>(row.residual)[i];
      value = make_float4(value.x + more.x, value.y + more.y, value.z + more.z, value.w + more.w);
    }
    if (row.factor != nullptr) {
      const float factor = __ldg(row.factor);
      value = make_float4(value.x * factor, value.y * factor, value.z * factor, value.w * factor);
    }
    if (kGate == NormGate::kOutput) value = multiply(silu(gates[i]), value);
    to[i] = value;
  }
}

template <bool kLayer, int kFours, NormGate kGate>
__global__ void __launch_bounds__(norm_fours_threads) norm_fours_kernel(NormArgs args) {
  __shared__ NormShared shared;
  norm_fours<kLayer, kFours, kGate>(args, launched_block(), shared);
}

}  // namespace m40::cuda

#endif
