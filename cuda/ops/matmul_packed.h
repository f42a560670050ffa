// Products with packed pairs of activations: their launches.
#ifndef M40_OPS_MATMUL_PACKED_H
#define M40_OPS_MATMUL_PACKED_H

#include "ops.h"
#include "packed_types.h"

namespace m40::cuda {

// Bytes of scratch memory that the product takes.
uint64_t packed_scratch_bytes(const uint32_t* rows, uint32_t n_weights, uint32_t columns, uint32_t max_rows);
// A product whose weights all have packed pairs. Their columns are a multiple of 32, as those types are.
void launch_packed_matmul(const MatmulArgs& args, cudaStream_t stream);

}  // namespace m40::cuda

#endif
