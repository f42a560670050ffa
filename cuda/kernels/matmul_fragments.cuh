// The inner loop of products through shared memory: a lane multiplies 8 rows with kTokens of its tile's tokens, a
// column at a time, and loads what it takes of the next column while it multiplies one.
#ifndef M40_KERNELS_MATMUL_FRAGMENTS_CUH
#define M40_KERNELS_MATMUL_FRAGMENTS_CUH

#include "../gpu/device.h"

namespace m40::cuda {

// Weights lie as [columns][kRows], of which a lane takes four and four that are kRowHalf further on; activations as
// [columns][kTileTokens], four of every kTokenGroup, where four columns take kFourColumns floats. Rows are multiplied
// one after the other. Where kTurns is not 0, they are multiplied from the last on, each of kTurns consecutive rows
// starts a token later than the previous one, and activations are loaded first. That changes no sum, but it reduces
// register bank conflicts (docs/kernels/matmul.md, "Clocks by the schedule").
template <int kTokens, int kRows, int kRowHalf, int kTileTokens, int kTokenGroup, int kFourColumns, int kTurns>
struct Fragments {
  const float *a_at, *b_at;
  float a[2][8], b[2][kTokens];  // of two columns

  // Starts at a column of either; loads it.
  __device__ __forceinline__ void start(const float* weights, const float* inputs) {
    a_at = weights, b_at = inputs;
    load(0, 0);
  }

  // acc[i][j] += four columns, from the one on that is loaded. After the last of them it calls next(), which may refill
  // the memory and set where to continue; then it loads the next column.
  template <class Next>
  __device__ __forceinline__ void multiply_four(float (&acc)[8][kTokens], const Next& next) {
    load(1, 1);
    multiply(0, acc);
    load(0, 2);
    multiply(1, acc);
    load(1, 3);
    multiply(0, acc);
    a_at += 4 * kRows;
    b_at += kFourColumns;
    next();
    load(0, 0);
    multiply(1, acc);
  }

 private:
  __device__ __forceinline__ void load_weights(int to, int column) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const float4 v = *reinterpret_cast<const float4*>(a_at + column * kRows + kRowHalf * i);
      a[to][4 * i] = v.x, a[to][4 * i + 1] = v.y, a[to][4 * i + 2] = v.z, a[to][4 * i + 3] = v.w;
    }
  }

  __device__ __forceinline__ void load(int to, int column) {
    if constexpr (kTurns == 0) load_weights(to, column);
#pragma unroll
    for (int j = 0; j < kTokens / 4; j++) {
      const float4 v = *reinterpret_cast<const float4*>(b_at + column * kTileTokens + kTokenGroup * j);
      b[to][4 * j] = v.x, b[to][4 * j + 1] = v.y, b[to][4 * j + 2] = v.z, b[to][4 * j + 3] = v.w;
    }
    if constexpr (kTurns != 0) load_weights(to, column);
  }

  __device__ __forceinline__ void multiply(int from, float (&acc)[8][kTokens]) {
#pragma unroll
    for (int n = 0; n < 8 * kTokens; n++) {
      const int row = n / kTokens;
      const int i = kTurns == 0 ? row : 7 - row;
      const int j = kTurns == 0 ? n % kTokens : (n + row % (kTurns == 0 ? 1 : kTurns)) % kTokens;
      acc[i][j] = fmaf(a[from][i], b[from][j], acc[i][j]);
    }
  }
};

}  // namespace m40::cuda

#endif
