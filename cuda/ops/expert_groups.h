// Groups of slots by their experts (kernels/expert_groups.cuh), made once for all products of a routing.
#ifndef M40_OPS_EXPERT_GROUPS_H
#define M40_OPS_EXPERT_GROUPS_H

#include "../kernels/expert_groups.cuh"
#include "ops.h"

namespace m40::cuda {

// The groups of the rows of a product in tiles of tile_rows, made by a launch unless they lie there already.
ExpertGroups grouped_by_expert(const ExpertMatmulArgs& args, uint32_t tile_rows, cudaStream_t stream);

}  // namespace m40::cuda

#endif
