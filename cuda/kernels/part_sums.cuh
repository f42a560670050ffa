// What decode stores in addition to the activations of a block, of types that sum parts (kSumsParts, see formats.cuh).
//
// The sum of a part's weight * activation is scale * (sum of field * activation - zero * sum of activations), or scale *
// (sum of field * activation) + minimum * (sum of activations). The sum of activations is the same for all rows: the
// threads that store the activations compute it once. Where each group of columns has a delta of each row, the sums of
// the groups' activations are stored, too.
#ifndef M40_KERNELS_PART_SUMS_CUH
#define M40_KERNELS_PART_SUMS_CUH

#include "planes.cuh"

namespace m40::cuda {

__host__ __device__ constexpr int larger(int a, int b) { return a > b ? a : b; }

// Whether a buffer has the activations of a column side by side, [32 columns][input_pitch], not those of a token, [T][32].
// Eight tokens of types with quants in place: products then go through the tokens of a row, which costs an H200 7%
// less, and an M40 by its schedule 11%. A lane has fours of columns of one token, lane % T.
template <class F, int T>
constexpr bool by_column = T == 8 && F::kSumsParts && F::kDeltas == 0;
// Columns lie so far apart that what lanes store at a time lies in different banks.
template <int T>
constexpr int input_pitch = T + 4;

// Floats of a block's activations.
template <class F, int T>
__host__ __device__ constexpr int block_floats() {
  return by_column<F, T> ? 32 * input_pitch<T> : 32 * T;
}

// Floats of a buffer of activations: a block's, and what store_sums() adds.
template <class F, int T>
__host__ __device__ constexpr int input_floats() {
  return block_floats<F, T>() + (F::kSumsParts ? (T * (F::kParts + F::kDeltas) + 3) / 4 * 4 : 0);
}

// Called by all lanes with N columns' activations, one or four, of the token `token` of T, from `column` on; `to` gets
// the sums of parts, [kParts][T], times part_sum_scale(), and those of groups, [kDeltas][T], times delta_scale(). They
// are added up in one order for any N.
template <class F, int T, int N>
__device__ __forceinline__ void store_sums(const float (&x)[N], float* to, uint32_t token, uint32_t column) {
  constexpr int kPart = 32 / F::kParts, kGroup = F::kDeltas == 0 ? kPart : 32 / F::kDeltas;
  static_assert(F::kColumns > 8 && F::kDeltas % F::kParts == 0, "as they are added here");
  float sum = x[0];
  if constexpr (N == 4) sum = (x[0] + x[1]) + (x[2] + x[3]);
#pragma unroll
  for (int width = N; width <= kPart; width *= 2) {
    // Of `width` columns. Products are rounded, whatever is added to them.
    if constexpr (F::kDeltas != 0) {
      if (width == kGroup && column % kGroup == 0) to[(F::kParts + column / kGroup) * T + token] = __fmul_rn(sum, F::delta_scale(column / kGroup));
    }
    if (width == kPart && column % kPart == 0) to[column / kPart * T + token] = F::kMinimum ? sum : __fmul_rn(sum, F::part_sum_scale());
    if (width < kPart) sum += __shfl_xor_sync(0xFFFFFFFF, sum, width / N);
  }
}

// The same by column: x[i] are four columns of token lane % T, number lane / T + 32 / T * i of the block's eight fours.
template <class F, int T, int N>
__device__ __forceinline__ void store_sums_by_column(const float (&x)[N][4], float* to) {
  static_assert(F::kDeltas == 0 && N == T / 4 && F::kParts <= N, "as they are added here");
  const uint32_t lane = threadIdx.x % 32;
  float sums[N];  // of 128 / T columns
#pragma unroll
  for (int i = 0; i < N; i++) {
    sums[i] = (x[i][0] + x[i][1]) + (x[i][2] + x[i][3]);
#pragma unroll
    for (int d = T; d < 32; d *= 2) sums[i] += __shfl_xor_sync(0xFFFFFFFF, sums[i], d);
  }
#pragma unroll
  for (int n = N; n > F::kParts; n /= 2) {
#pragma unroll
    for (int i = 0; i < n / 2; i++) sums[i] = sums[2 * i] + sums[2 * i + 1];
  }
  if (lane < T) {
#pragma unroll
    for (int p = 0; p < F::kParts; p++) to[p * T + lane] = F::kMinimum ? sums[p] : __fmul_rn(sums[p], F::part_sum_scale());
  }
}

// Of a part or a group: what store_sums() stored at `from`, of all tokens.
template <int T>
__device__ __forceinline__ void read_sums(const float* from, float (&sums)[T]) {
#pragma unroll
  for (int t = 0; t < T; t++) {
    if constexpr (T % 4 != 0) {
      sums[t] = from[t];
    } else if (t % 4 == 0) {
      const float4 four = *reinterpret_cast<const float4*>(from + t);
      sums[t] = four.x, sums[t + 1] = four.y, sums[t + 2] = four.z, sums[t + 3] = four.w;
    }
  }
}

}  // namespace m40::cuda

#endif
