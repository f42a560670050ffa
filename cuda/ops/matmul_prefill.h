// Products of prompts, for matmul.cu.
#ifndef M40_OPS_MATMUL_PREFILL_H
#define M40_OPS_MATMUL_PREFILL_H

#include "ops.h"

namespace m40::cuda {

// Tokens of the tiles that a prompt is computed in, rising.
inline constexpr uint32_t prefill_tile_tokens[] = {32, 64, 128};

uint64_t prefill_scratch_bytes(const uint32_t* rows, uint32_t n_weights, uint32_t columns, uint32_t max_rows);
void launch_prefill_matmul(const MatmulArgs& args, cudaStream_t stream);

void launch_prefill_expert_matmul(const ExpertMatmulArgs& args, cudaStream_t stream);

}  // namespace m40::cuda

#endif
