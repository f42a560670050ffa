#include "../kernels/norm.cuh"

#include "ops.h"

namespace m40::cuda {

namespace {

template <bool kLayer, int kValues>
void launch(const NormArgs& args, cudaStream_t stream) {
  M40_LAUNCH((norm<kLayer, kValues>), dim3(args.n_rows), dim3(norm_threads), 0, stream, args.input, args.input_stride, args.residual,
             args.residual_stride, args.output, args.output_stride, args.weight, args.bias, args.columns, args.epsilon);
}

template <bool kLayer>
void launch_for(const NormArgs& args, cudaStream_t stream) {
  if (args.columns <= 2 * norm_threads) return launch<kLayer, 2>(args, stream);
  if (args.columns <= 8 * norm_threads) return launch<kLayer, 8>(args, stream);
  if (args.columns <= 16 * norm_threads) return launch<kLayer, 16>(args, stream);
  launch<kLayer, 0>(args, stream);
}

}  // namespace

void launch_norm(const NormArgs& args, cudaStream_t stream) {
  if (args.norm == M40_NORM_LAYER) {
    launch_for<true>(args, stream);
  } else {
    launch_for<false>(args, stream);
  }
}

}  // namespace m40::cuda
