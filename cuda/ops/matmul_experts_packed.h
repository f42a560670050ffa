// Products with experts with packed pairs of activations, for matmul_experts.cu.
#ifndef M40_OPS_MATMUL_EXPERTS_PACKED_H
#define M40_OPS_MATMUL_EXPERTS_PACKED_H

#include "../kernels/matmul_experts.cuh"

namespace m40::cuda {

// The tiles of args.groups, or each slot alone where there are none, by weights of a type that has packed pairs.
// row_groups: as launch_experts() has it. share: of the device's places for thread blocks.
void launch_packed_expert_tiles(const MatmulExpertsArgs& args, uint32_t type, uint32_t row_groups, void* scratch, uint32_t share, cudaStream_t stream);

}  // namespace m40::cuda

#endif
