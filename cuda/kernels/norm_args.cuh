// What a norm is told.
#ifndef M40_KERNELS_NORM_ARGS_CUH
#define M40_KERNELS_NORM_ARGS_CUH

#include <stdint.h>

namespace m40::cuda {

// The input, the residual and the output may be one.
struct NormArgs {
  const float* input;
  uint32_t input_stride;
  const float* residual;  // or nullptr
  uint32_t residual_stride;
  float* output;
  uint32_t output_stride;
  const float* weight;
  const float* bias;  // or nullptr
  uint32_t n_rows;
  uint32_t columns;
  uint32_t norm;  // M40_NORM_*
  float epsilon;
};

}  // namespace m40::cuda

#endif
