// Prefill kernels of the types F32 F16 BF16.
#define M40_MATMUL_INSTANTIATE
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

M40_MATMUL_TYPE(F32)
M40_MATMUL_TYPE(F16)
M40_MATMUL_TYPE(BF16)

}  // namespace m40::cuda
