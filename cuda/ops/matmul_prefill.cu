// Plans products of prompts.
#include "matmul_prefill.h"

#include "matmul_plan.h"
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

uint64_t prefill_scratch_bytes(const uint32_t*, uint32_t, uint32_t, uint32_t) { return 0; }

void launch_prefill_matmul(const MatmulArgs& args, cudaStream_t stream) {
  for_each_type(args, [&](uint32_t type, const uint32_t* indices, uint32_t n) {
    PrefillArgs prefill = {};
    prefill.input = args.input;
    prefill.input_stride = args.input_stride;
    prefill.output = args.output;
    prefill.output_stride = args.output_stride;
    prefill.residual = args.residual;
    prefill.n_tokens = args.n_rows;
    prefill.columns = args.columns;
    prefill.n_weights = n;
    prefill.aligned = can_load_four(args);
    uint32_t n_tiles = 0;
    for (uint32_t i = 0; i < n; i++) {
      const MatmulWeight& from = args.weights[indices[i]];
      prefill.weights[i] = {from.weight, from.bias, from.output_column, n_tiles};
      n_tiles += packed_tiles(from.weight.rows);
    }
    for_type(type, [&](auto t) { launch_prefill<decltype(t)::value>(prefill, n_tiles, stream); });
  });
}

}  // namespace m40::cuda
