// The root-mean-square norm of a row by 256 threads, to the bits of norm.cuh's 512: a warp does the work of two of its
// warps.
#ifndef M40_PERSISTENT_NORM_HALVES_CUH
#define M40_PERSISTENT_NORM_HALVES_CUH

#include "../../kernels/norm.cuh"

namespace m40::cuda {

constexpr uint32_t norm_halves_threads = norm_threads / 2;

// Whether it does what is asked for: a weight, or none, and nothing else. Whether a product and a sum after it are one
// instruction, with one rounding, is for the compiler to say, and it need not say the same here and there.
__host__ __device__ inline bool norm_halves_does(const NormArgs& args) {
  return args.norm == M40_NORM_RMS && args.residual == nullptr && args.bias == nullptr && args.factor == nullptr && args.gates == NormGate::kNone;
}

// Grid: rows times groups.
__device__ __forceinline__ void norm_halves(const NormArgs& args, BlockIndex block, NormShared& shared) {
  constexpr int kHeld = 8;  // values of a chain that are kept; later ones are read again
  const NormRow row(args, block);
  const uint32_t columns = row.columns, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float held[kHeld][2], weights[kHeld][2];
  const auto column = [](int k, int half) { return k * norm_threads + half * norm_halves_threads + threadIdx.x; };
#pragma unroll
  for (int k = 0; k < kHeld; k++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const bool inside = column(k, half) < columns;
      held[k][half] = inside ? row.input[column(k, half)] : 0.0f;
      weights[k][half] = inside ? row.weight_at(column(k, half)) : 0.0f;
    }
  }
  float squares[2] = {};
#pragma unroll
  for (int k = 0; k < kHeld; k++) {
#pragma unroll
    for (int half = 0; half < 2; half++) squares[half] = fmaf(held[k][half], held[k][half], squares[half]);
  }
#pragma unroll 1
  for (int k = kHeld; k * norm_threads < columns; k++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const float value = column(k, half) < columns ? row.input[column(k, half)] : 0.0f;
      squares[half] = fmaf(value, value, squares[half]);
    }
  }
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const float sum = warp_sum(squares[half]);
    if (lane == 0) shared.sums[0][half * (norm_warps / 2) + warp] = sum;
  }
  __syncthreads();
  const float sum = warp_sum(lane < norm_warps ? shared.sums[0][lane] : 0.0f);
  const float scale = norm_scale(sum / static_cast<float>(columns), args.epsilon);
#pragma unroll
  for (int k = 0; k < kHeld; k++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      if (column(k, half) < columns) row.output[column(k, half)] = held[k][half] * scale * weights[k][half];
    }
  }
#pragma unroll 1
  for (int k = kHeld; k * norm_threads < columns; k++) {
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const uint32_t i = column(k, half);
      if (i < columns) row.output[i] = row.input[i] * scale * row.weight_at(i);
    }
  }
}

}  // namespace m40::cuda

#endif
