// Groups of slots by their experts (kernels/expert_groups.cuh), made once for all products of a routing.
#ifndef M40_OPS_EXPERT_GROUPS_H
#define M40_OPS_EXPERT_GROUPS_H

#include "../kernels/expert_groups.cuh"
#include "ops.h"

namespace m40::cuda {

// The groups of the rows of a product in tiles of tile_rows and rests of up to rest_rows, made by a launch unless they
// lie there already.
ExpertGroups grouped_by_expert(const ExpertMatmulArgs& args, uint32_t tile_rows, uint32_t rest_rows, cudaStream_t stream);

// The products of an operation's rows with its weights, by the kernel of decoded rows: of the slots in groups.tiles, or
// each alone where there are none. whole: in the order of additions of prompts, one chain over all columns.
void launch_expert_tiles(const ExpertMatmulArgs& args, const ExpertGroups& groups, bool whole, cudaStream_t stream);

}  // namespace m40::cuda

#endif
