// Products with packed pairs of activations: which types have them, and their launches.
#ifndef M40_OPS_MATMUL_PACKED_H
#define M40_OPS_MATMUL_PACKED_H

#include "ops.h"

namespace m40::cuda {

// Types whose weights are integers of at most 4 bits times a scale.
constexpr bool has_packed_pairs(uint32_t type) {
  switch (type) {
#ifdef M40_PACKED_ONLY_Q4_K
    case M40_TYPE_Q4_K: return true;
#else
    case M40_TYPE_Q4_0: case M40_TYPE_Q4_1: case M40_TYPE_Q4_K: case M40_TYPE_Q3_K: case M40_TYPE_Q2_K: case M40_TYPE_TQ1_0: case M40_TYPE_TQ2_0: case M40_TYPE_MXFP4:
      return true;
#endif
    default: return false;
  }
}

// Bytes of scratch memory that a decoded pass of the product takes.
uint64_t packed_scratch_bytes(const uint32_t* rows, uint32_t n_weights, uint32_t columns, uint32_t max_rows);
// A product of decoded tokens whose weights all have packed pairs. The columns are a multiple of 32.
void launch_packed_matmul(const MatmulArgs& args, cudaStream_t stream);

}  // namespace m40::cuda

#endif
