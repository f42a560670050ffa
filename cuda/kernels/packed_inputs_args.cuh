// Activations as packed pairs: how they lie in memory, and the arguments of the kernel that makes them.
//
// Two tokens' integers share a float, X = a1 * 5793 + a0. Integers of at most 4 bits times such floats, summed over a
// run of 16 columns, keep both tokens' sums exact: a run's integers are scaled so that neither sum is beyond 2888, and
// both lie within the 24 bits of a float. Sums are in units of 2^-48, for quants that stay where they stand are
// subnormal floats (fields.cuh); X carries the power of two that makes up for its column's place.
#ifndef M40_KERNELS_PACKED_INPUTS_ARGS_CUH
#define M40_KERNELS_PACKED_INPUTS_ARGS_CUH

#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

constexpr int packed_run = 16;             // columns that share a scale
constexpr float packed_base = 5793.0f;     // 2 * 2888 + 17
constexpr int packed_unit_exponent = -48;  // of the unit of sums
constexpr float packed_unit = 1.0f / 281474976710656.0f, packed_units = 281474976710656.0f;
// Sums of magnitudes of a run that count as zero, and that make the token's products NaN: what is between leaves room
// for scales, and for the unit, in the exponents of floats.
constexpr float packed_least_sum = 1e-24f, packed_most_sum = 1e20f;

// Of T tokens (1, 2, 4, 8 or 16) and a block of 32 columns, with n_sums sums of activations each (0: none, 1: of the
// block, 2: of its runs): X [32][pairs], what the runs' sums start from [2][pairs], the runs' scales [2][T], the sums
// [n_sums][T]. One token has no partner.
struct PackedLayoutOf {
  int pairs, starts, scales, sums, floats;

  __host__ __device__ constexpr PackedLayoutOf(int T, int n_sums)
      : pairs(T == 1 ? 1 : T / 2), starts(32 * pairs), scales(starts + 2 * pairs), sums(scales + 2 * T), floats((sums + n_sums * T + 3) / 4 * 4) {}
};

template <int T, int kSums>
struct PackedBlock {
  static constexpr PackedLayoutOf kLayout = PackedLayoutOf(T, kSums);
  static constexpr int kPairs = kLayout.pairs, kStarts = kLayout.starts, kScales = kLayout.scales, kSumsAt = kLayout.sums, kFloats = kLayout.floats;
};

struct PackedInputsArgs {
  const float* input;
  uint32_t input_stride;
  uint32_t n_tokens;
  uint32_t columns;  // a multiple of 32
  float* packed;     // [groups of T tokens][columns / 32][PackedBlock<T, kSums>::kFloats]
  uint32_t n_blocks;  // walk_blocks()
};

}  // namespace m40::cuda

#endif
