// Prefill kernels of the types IQ3_XXS IQ3_S.
#define M40_MATMUL_INSTANTIATE
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

M40_MATMUL_TYPE(IQ3_XXS)
M40_MATMUL_TYPE(IQ3_S)

}  // namespace m40::cuda
