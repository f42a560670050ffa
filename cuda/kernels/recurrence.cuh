// What the delta rule and the selective scan share: a state [keys, columns] a head. Each of its columns evolves by
// itself, token after token.
//
// The state stays in registers over all of a sequence's rows. Lanes of a warp share two columns' keys, so that a sum
// over keys is one within a lane and one or two shuffles a sum. A thread block has columns of one head. For some tokens
// at a time, it stages in shared memory what the columns have in common: their keys, normalised, and the factors of the
// head.
//
// The order of additions follows only from the dimensions, and a slot holds the state as it is in registers. So the
// bits of a row depend neither on the rest of the step nor on the division of rows into steps.
#ifndef M40_KERNELS_RECURRENCE_CUH
#define M40_KERNELS_RECURRENCE_CUH

#include <math.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../gpu/device.h"
#include "block.cuh"
#include "state_args.cuh"

namespace m40::cuda {

constexpr int recurrence_warps = 4;
constexpr uint32_t recurrence_threads = recurrence_warps * 32;
constexpr uint32_t recurrence_tokens = 16;  // staged at a time

// kFours: four adjacent keys each, of a lane. kLanes: those that share their columns' keys. kRagged: the keys may be no
// whole fours.
template <int kFours, int kLanes, bool kRagged = false>
struct RecurrenceShape {
  static constexpr bool ragged = kRagged;
  static constexpr int fours = kFours;
  static constexpr int lanes = kLanes;
  static constexpr uint32_t keys = 4 * kFours * kLanes;  // at most; where there are fewer, the rest is zeros
  static constexpr uint32_t lane_columns = 2;
  static constexpr uint32_t groups = 32 / kLanes;  // lanes with columns of their own
  static constexpr uint32_t warp_columns = lane_columns * groups;
  static constexpr uint32_t columns = warp_columns * recurrence_warps;  // of a thread block
};

// What a thread block's columns have in common of some tokens.
template <class Shape>
struct RecurrenceShared {
  __align__(16) float4 k[recurrence_tokens][Shape::keys / 4];  // what the state is updated with
  __align__(16) float4 q[recurrence_tokens][Shape::keys / 4];  // what it is read with
  __align__(16) float4 factors[recurrence_tokens];             // of the head
  float values[recurrence_tokens][Shape::columns];             // of the columns
};

// Which part of a head's state a lane has: of columns `column` and `column + groups` the fours of keys that are `lanes`
// apart from `part` on.
template <class Shape>
struct RecurrenceLane {
  uint32_t part;    // of the keys
  uint32_t column;  // in the thread block

  __device__ __forceinline__ RecurrenceLane() {
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    part = lane % Shape::lanes;
    column = warp * Shape::warp_columns + lane / Shape::lanes;
  }
  // The lanes of the first two parts finish a column each.
  __device__ __forceinline__ uint32_t finished_column() const { return column + (part & 1) * Shape::groups; }
  __device__ __forceinline__ bool finishes() const { return part < Shape::lane_columns; }
};

// In a slot a head's state is [keys / 4, columns, 4], so that lanes read and write 16 bytes side by side; where its
// keys are no whole fours, [keys, columns].
template <class Shape>
struct StateTile {
  float4 values[Shape::lane_columns][Shape::fours];

  // visit(four, value) for the lane's part of a state of so many columns; four: its place in the state, in fours.
  template <class Visit>
  __device__ __forceinline__ void for_each_four(RecurrenceLane<Shape> lane, uint32_t n_keys, uint32_t n_columns, uint32_t first, const Visit& visit) {
#pragma unroll
    for (uint32_t c = 0; c < Shape::lane_columns; c++) {
      const uint32_t column = first + lane.column + c * Shape::groups;
#pragma unroll
      for (int i = 0; i < Shape::fours; i++) {
        const uint32_t four = i * Shape::lanes + lane.part;
        if (column < n_columns && 4 * four < n_keys) visit(four * n_columns + column, values[c][i]);
      }
    }
  }
  // visit(at, value) for each value by itself.
  template <class Visit>
  __device__ __forceinline__ void for_each(RecurrenceLane<Shape> lane, uint32_t n_keys, uint32_t n_columns, uint32_t first, const Visit& visit) {
#pragma unroll
    for (uint32_t c = 0; c < Shape::lane_columns; c++) {
      const uint32_t column = first + lane.column + c * Shape::groups;
#pragma unroll
      for (int i = 0; i < Shape::fours; i++) {
        const uint32_t key = 4 * (i * Shape::lanes + lane.part), at = key * n_columns + column;
        const uint32_t n = column < n_columns && key < n_keys ? n_keys - key : 0;
        if (n > 0) visit(at, values[c][i].x);
        if (n > 1) visit(at + n_columns, values[c][i].y);
        if (n > 2) visit(at + 2 * n_columns, values[c][i].z);
        if (n > 3) visit(at + 3 * n_columns, values[c][i].w);
      }
    }
  }

  // state: of the head, or nullptr for zeros. first: the thread block's first column.
  __device__ __forceinline__ void load(const float* state, RecurrenceLane<Shape> lane, uint32_t n_keys, uint32_t n_columns, uint32_t first) {
#pragma unroll
    for (uint32_t c = 0; c < Shape::lane_columns; c++) {
#pragma unroll
      for (int i = 0; i < Shape::fours; i++) values[c][i] = make_float4(0, 0, 0, 0);
    }
    if (state == nullptr) return;
    if constexpr (Shape::ragged) {
      for_each(lane, n_keys, n_columns, first, [&](uint32_t at, float& value) { value = state[at]; });
    } else {
      for_each_four(lane, n_keys, n_columns, first, [&](uint32_t at, float4& value) { value = reinterpret_cast<const float4*>(state)[at]; });
    }
  }
  __device__ __forceinline__ void store(float* state, RecurrenceLane<Shape> lane, uint32_t n_keys, uint32_t n_columns, uint32_t first) {
    if constexpr (Shape::ragged) {
      for_each(lane, n_keys, n_columns, first, [&](uint32_t at, float value) { state[at] = value; });
    } else {
      for_each_four(lane, n_keys, n_columns, first, [&](uint32_t at, const float4& value) { reinterpret_cast<float4*>(state)[at] = value; });
    }
  }
};

// Adds to two chains, of the even keys and of the odd ones.
__device__ __forceinline__ void add_products(float4 a, float4 b, float (&sums)[2]) {
  sums[0] = fmaf(a.x, b.x, sums[0]);
  sums[1] = fmaf(a.y, b.y, sums[1]);
  sums[0] = fmaf(a.z, b.z, sums[0]);
  sums[1] = fmaf(a.w, b.w, sums[1]);
}

// state * decay + key * value
__device__ __forceinline__ float4 updated(float4 state, float decay, float4 key, float value) {
  return make_float4(fmaf(key.x, value, decay * state.x), fmaf(key.y, value, decay * state.y), fmaf(key.z, value, decay * state.z),
                     fmaf(key.w, value, decay * state.w));
}

// Sums over the lanes of a column. All of them get both columns'.
template <class Shape>
__device__ __forceinline__ void sum_columns(float (&sums)[2]) {
#pragma unroll
  for (int distance = 1; distance < Shape::lanes; distance *= 2) {
#pragma unroll
    for (int c = 0; c < 2; c++) sums[c] += __shfl_xor_sync(0xFFFFFFFFu, sums[c], distance);
  }
}

// The same of one column for each lane, that which it finishes.
template <class Shape>
__device__ __forceinline__ float sum_finished(const float (&sums)[2], RecurrenceLane<Shape> lane) {
  const bool odd = (lane.part & 1) != 0;
  float sum = odd ? sums[1] : sums[0];
  sum += __shfl_xor_sync(0xFFFFFFFFu, odd ? sums[0] : sums[1], 1);
#pragma unroll
  for (int distance = 2; distance < Shape::lanes; distance *= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
  return sum;
}

__device__ __forceinline__ float softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }

// Goes through a sequence's rows: stage(first, n) puts rows first .. first + n - 1 into shared memory, in all threads;
// token(t) takes in the t-th of those; it is called once for each row, in their order.
template <class Stage, class Token>
__device__ __forceinline__ void for_each_token(uint32_t n_rows, const Stage& stage, const Token& token) {
  for (uint32_t first = 0; first < n_rows; first += recurrence_tokens) {
    const uint32_t n = n_rows - first < recurrence_tokens ? n_rows - first : recurrence_tokens;
    if (first > 0) __syncthreads();
    stage(first, n);
    __syncthreads();
#pragma unroll 1
    for (uint32_t t = 0; t < n; t++) token(t);
  }
}

}  // namespace m40::cuda

#endif
