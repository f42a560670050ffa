#include "../kernels/norm.cuh"

#include "ops.h"

namespace m40::cuda {

void launch_norm(const NormArgs& args, cudaStream_t stream) {
  const auto launch = [&](auto kernel) {
    M40_LAUNCH((kernel), dim3(args.n_rows), dim3(norm_warps * 32), 0, stream, args.input, args.input_stride, args.residual,
               args.residual_stride, args.output, args.output_stride, args.weight, args.bias, args.columns, args.epsilon);
  };
  if (args.norm == M40_NORM_LAYER) {
    launch(&norm<true>);
  } else {
    launch(&norm<false>);
  }
}

}  // namespace m40::cuda
