#include "../kernels/route.cuh"

#include "ops.h"

namespace m40::cuda {

template <int kHeld>
__global__ void __launch_bounds__(route_warps * 32) route_kernel(RouteKernelArgs args) { route<kHeld>(args, launched_block()); }

uint32_t most_route_groups() { return route_most_groups; }

void launch_route(const RouteArgs& args, cudaStream_t stream) {
  const uint32_t blocks = (args.n_tokens + route_warps - 1) / route_warps;
  const m40_op_route& op = args.op;
  const RouteKernelArgs kernel = {args.input, args.input_stride, args.experts, args.experts_stride, args.weights, args.weights_stride, args.bias, args.n_tokens,
                                  op.n_experts, op.n_used, op.n_shared, op.n_groups, op.n_groups_used, op.score, op.normalise != 0, op.scale, op.least_sum};
  if (op.n_experts <= 32 * route_held) {
    M40_LAUNCH((route_kernel<route_held>), blocks, route_warps * 32, 0, stream, kernel);
  } else {
    M40_LAUNCH((route_kernel<0>), blocks, route_warps * 32, 0, stream, kernel);
  }
}

}  // namespace m40::cuda
