// What decode stores in addition to the activations of a block, of types that sum parts (kSumsParts, see formats.cuh).
//
// The sum of a part's weight * activation is scale * (sum of field * activation - sum of offset * activation). The
// second is the same for all rows: the threads that store the activations compute it once, and the sum over fields
// starts from it. Where each group of columns has a delta of each row, the sums of the groups' activations are stored,
// too.
#ifndef M40_KERNELS_PART_SUMS_CUH
#define M40_KERNELS_PART_SUMS_CUH

#include "planes.cuh"

namespace m40::cuda {

__host__ __device__ constexpr int larger(int a, int b) { return a > b ? a : b; }

// Floats of a buffer of activations: a block's, and what store_sums() adds.
template <class F, int T>
__host__ __device__ constexpr int input_floats() {
  return T * 32 + (F::kSumsParts ? (T * (F::kParts + F::kDeltas) + 3) / 4 * 4 : 0);
}

// Called by all lanes with N columns' activations, one or four, of the token `token` of T, from `column` on; `to` gets
// the sums of parts, [T][kParts], times the offset with its sign turned, and those of groups, [T][kDeltas], times
// delta_scale(). They are added up in one order for any N.
template <class F, int T, int N>
__device__ __forceinline__ void store_sums(const float (&x)[N], float* to, uint32_t token, uint32_t column) {
  constexpr int kPart = 32 / F::kParts, kGroup = F::kDeltas == 0 ? kPart : 32 / F::kDeltas;
  static_assert(F::kColumns == 32 && F::kDeltas % F::kParts == 0, "as they are added here");
  float sum = x[0];
  if constexpr (N == 4) sum = (x[0] + x[1]) + (x[2] + x[3]);
#pragma unroll
  for (int width = N; width <= kPart; width *= 2) {
    // Of `width` columns. Products are rounded, whatever is added to them.
    if constexpr (F::kDeltas != 0) {
      if (width == kGroup && column % kGroup == 0) to[T * F::kParts + token * F::kDeltas + column / kGroup] = __fmul_rn(sum, F::delta_scale(column / kGroup));
    }
    if (width == kPart && column % kPart == 0) to[token * F::kParts + column / kPart] = __fmul_rn(sum, -F::offset());
    if (width < kPart) sum += __shfl_xor_sync(0xFFFFFFFF, sum, width / N);
  }
}

}  // namespace m40::cuda

#endif
