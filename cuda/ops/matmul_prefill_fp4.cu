// Prefill kernels of the types MXFP4 NVFP4.
#define M40_MATMUL_INSTANTIATE
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

M40_MATMUL_TYPE(MXFP4)
M40_MATMUL_TYPE(NVFP4)

}  // namespace m40::cuda
