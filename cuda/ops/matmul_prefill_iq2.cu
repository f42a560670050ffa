// Prefill kernels of the types IQ2_XXS IQ2_XS IQ2_S.
#define M40_MATMUL_INSTANTIATE
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

M40_MATMUL_TYPE(IQ2_XXS)
M40_MATMUL_TYPE(IQ2_XS)
M40_MATMUL_TYPE(IQ2_S)

}  // namespace m40::cuda
