#include "../kernels/route.cuh"

#include "ops.h"

namespace m40::cuda {

__global__ void __launch_bounds__(route_warps * 32) route_kernel(RouteKernelArgs args) { route(args, launched_block()); }

void launch_route(const RouteArgs& args, cudaStream_t stream) {
  const uint32_t blocks = (args.n_tokens + route_warps - 1) / route_warps;
  const RouteKernelArgs kernel = {args.input, args.input_stride, args.experts, args.experts_stride, args.weights, args.weights_stride,
                                  args.n_tokens, args.n_experts, args.n_used, args.normalise, args.scale};
  M40_LAUNCH((route_kernel), blocks, route_warps * 32, 0, stream, kernel);
}

}  // namespace m40::cuda
