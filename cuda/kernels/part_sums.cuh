// What decode stores beside the activations of a block, of types that sum parts (kSumsParts, see formats.cuh).
//
// The sum of a part's weight * activation is scale * (sum of field * activation - sum of offset * activation). The second is the
// same for all rows: it is made once, by those who store the activations, and the sum over fields starts from it. Where
// each group of columns has a delta that is a row's own, the sums of the groups' activations are stored, too.
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

// Called by all lanes with N columns' activations, one or four, of the token `token` of T, from `column` on; `to` gets the sums
// of parts, [T][kParts], with the offsets' sign turned, and those of groups, [T][kDeltas]. They are added up in one order for
// any N: columns of one place by twos, then the places.
template <class F, int T, int N>
__device__ __forceinline__ void store_sums(const float (&x)[N], float* to, uint32_t token, uint32_t column) {
  constexpr int kPart = 32 / F::kParts, kGroup = F::kDeltas == 0 ? 32 : 32 / F::kDeltas, kPlaces = F::kPlaces;
  static_assert(kPlaces <= 2 && F::kColumns == 32 && (F::kDeltas == 0 || kPlaces == 2) && F::kDeltas % F::kParts == 0, "as they are added here");
  float sum[N == 4 ? kPlaces : 1];  // of the column's place, or of both
  if constexpr (N == 4 && kPlaces == 2) {
    sum[0] = x[0] + x[2], sum[1] = x[1] + x[3];
  } else if constexpr (N == 4) {
    sum[0] = (x[0] + x[1]) + (x[2] + x[3]);
  } else {
    sum[0] = x[0];
  }
  const auto both = [](const float(&of)[N == 4 ? kPlaces : 1]) {
    if constexpr (kPlaces == 1) {
      return of[0];
    } else if constexpr (N == 4) {
      return of[0] + of[1];
    } else {
      return of[0] + __shfl_xor_sync(0xFFFFFFFF, of[0], 1);
    }
  };
#pragma unroll
  for (int width = N == 4 ? 4 : kPlaces; width <= 32; width *= 2) {
    // Of `width` columns.
    if (F::kDeltas != 0 && width == kGroup) {
      const float group = both(sum);
      if (column % kGroup == 0) to[T * F::kParts + token * F::kDeltas + column / kGroup] = group;
    }
    if (width == kPart) {
      float taken[N == 4 ? kPlaces : 1];
      // Rounded, whatever is added to it.
      if constexpr (N == 4 || kPlaces == 1) {
#pragma unroll
        for (int place = 0; place < kPlaces; place++) taken[place] = __fmul_rn(sum[place], -F::offset(place));
      } else {
        taken[0] = __fmul_rn(sum[0], -F::offset(column % 2));
      }
      const float part = both(taken);
      if (column % kPart == 0) to[token * F::kParts + column / kPart] = part;
    }
    if (width < larger(kPart, F::kDeltas == 0 ? 0 : kGroup)) {
#pragma unroll
      for (float& s : sum) s += __shfl_xor_sync(0xFFFFFFFF, s, N == 4 ? width / 4 : width);
    }
  }
}

}  // namespace m40::cuda

#endif
