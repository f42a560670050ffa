// What computes each value by itself: activations, sums, caps, and the choice of rows.
#ifndef M40_KERNELS_ELEMENTWISE_CUH
#define M40_KERNELS_ELEMENTWISE_CUH

#include "../include/m40.h"
#include "../gpu/device.h"
#include "block.cuh"
#include "elementwise_args.cuh"

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

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

__device__ __forceinline__ float activated(uint32_t activation, float x) {
  switch (activation) {
    case M40_ACTIVATION_SILU: return silu(x);
    case M40_ACTIVATION_GELU_TANH: return gelu_tanh(x);
    case M40_ACTIVATION_GELU_ERF: return gelu_erf(x);
    case M40_ACTIVATION_RELU_SQUARED: return relu(x) * relu(x);
    case M40_ACTIVATION_SIGMOID: return sigmoid(x);
    default: return relu(x);
  }
}

// The SwiGLU of m40.h with its limits. Comparisons leave what is not a number as it is.
__device__ __forceinline__ float clamped_swiglu(float gate, float up, float alpha, float limit) {
  const float g = gate > limit ? limit : gate;
  const float u = up > limit ? limit : up < -limit ? -limit : up;
  return g * sigmoid(alpha * g) * (u + 1.0f);
}

// A gated activation's value.
__device__ __forceinline__ float gated(uint32_t activation, float alpha, float limit, float gate, float up) {
  return activation == M40_ACTIVATION_SWIGLU_CLAMPED ? clamped_swiglu(gate, up, alpha, limit) : activated(activation, gate) * up;
}

// cap(x) of m40.h.
__device__ __forceinline__ float soft_capped(float value, float softcap) {
  return softcap == 0.0f ? value : softcap * tanhf(value / softcap);
}

// visit(row, i) for the values of a block. Grid: columns by elementwise_threads, rows. Where there are more rows than a
// grid has, a block continues with those grid.y further on.
template <class Visit>
__device__ __forceinline__ void for_each_value(BlockIndex block, GridSize grid, uint32_t n_rows, uint32_t columns, const Visit& visit) {
  const uint32_t i = block.x * elementwise_threads + threadIdx.x;
  if (i >= columns) return;
  for (size_t row = block.y; row < n_rows; row += grid.y) visit(row, i);
}

__device__ __forceinline__ float activation_of(const ActivationArgs& args, size_t row, uint32_t i) {
  const float gate = args.input[row * args.input_stride + i];
  if (args.up == nullptr) return activated(args.activation, gate);
  return gated(args.activation, args.alpha, args.limit, gate, args.up[row * args.up_stride + i]);
}

__device__ __forceinline__ void activation(const ActivationArgs& args, BlockIndex block, GridSize grid) {
  for_each_value(block, grid, args.n_rows, args.columns, [&](size_t row, uint32_t i) {
    args.output[row * args.output_stride + i] = activation_of(args, row, i);
  });
}

__device__ __forceinline__ void add(const AddArgs& args, BlockIndex block, GridSize grid) {
  for_each_value(block, grid, args.n_rows, args.columns, [&](size_t row, uint32_t i) {
    const float b = args.b[row * args.b_stride + i];
    args.output[row * args.output_stride + i] =
        args.a[row * args.a_stride + i] + (args.gate == nullptr ? b : sigmoid(args.gate[row * args.gate_stride]) * b);
  });
}

__device__ __forceinline__ void copy_heads(const CopyHeadsArgs& args, BlockIndex block, GridSize grid) {
  for_each_value(block, grid, args.n_rows, args.n_heads * args.copied, [&](size_t row, uint32_t i) {
    const uint32_t head = i / args.copied, at = i % args.copied;
    args.output[row * args.output_stride + size_t{head} * args.output_head_stride + at] =
        args.input[row * args.input_stride + size_t{head} * args.input_head_stride + at];
  });
}

__device__ __forceinline__ void softcap(const SoftcapArgs& args, BlockIndex block, GridSize grid) {
  for_each_value(block, grid, args.n_rows, args.columns, [&](size_t row, uint32_t i) {
    args.output[row * args.output_stride + i] = soft_capped(args.input[row * args.input_stride + i] * args.scale, args.softcap);
  });
}

struct SelectRowsArgs {
  const float* input;
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  uint32_t n_rows;  // of the output
  uint32_t columns;
  const uint32_t* rows;  // [n_rows], of the input
};

__device__ __forceinline__ void select_rows(const SelectRowsArgs& args, BlockIndex block, GridSize grid) {
  for_each_value(block, grid, args.n_rows, args.columns, [&](size_t row, uint32_t i) {
    args.output[row * args.output_stride + i] = args.input[size_t{args.rows[row]} * args.input_stride + i];
  });
}

__device__ __forceinline__ void expert_sum(const ExpertSumArgs& args, BlockIndex block, GridSize grid) {
  for_each_value(block, grid, args.n_tokens, args.columns, [&](size_t row, uint32_t i) {
    float sum = 0;
    for (uint32_t slot = 0; slot < args.n_used; slot++) {
      const float weight = args.weights == nullptr ? 1.0f : args.weights[row * args.weights_stride + slot];
      sum = fmaf(weight, args.input[(row * args.n_used + slot) * args.input_stride + i], sum);
    }
    args.output[row * args.output_stride + i] = fmaf(args.scale, sum, args.residual == nullptr ? 0.0f : args.residual[row * args.residual_stride + i]);
  });
}

struct CheckExpertsArgs {
  uint32_t* experts;
  uint32_t stride;
  uint32_t n_tokens;
  uint32_t n_used;
  uint32_t n_experts;
  uint32_t* fault;
};

__device__ __forceinline__ void check_experts(const CheckExpertsArgs& args, BlockIndex block, GridSize grid) {
  for_each_value(block, grid, args.n_tokens, args.n_used, [&](size_t row, uint32_t i) {
    uint32_t* at = args.experts + row * args.stride + i;
    if (*at < args.n_experts) return;
    // The first one that is found is reported; which one does not matter.
    if (atomicCAS(args.fault, 0u, static_cast<uint32_t>(row) + 1) == 0) args.fault[1] = *at;
    *at = 0;
  });
}

}  // namespace m40::cuda

#endif
