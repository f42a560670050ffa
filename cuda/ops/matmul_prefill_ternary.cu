// Prefill kernels of the types TQ1_0 TQ2_0 IQ1_S IQ1_M.
#define M40_MATMUL_INSTANTIATE
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

M40_MATMUL_TYPE(TQ1_0)
M40_MATMUL_TYPE(TQ2_0)
M40_MATMUL_TYPE(IQ1_S)
M40_MATMUL_TYPE(IQ1_M)

}  // namespace m40::cuda
