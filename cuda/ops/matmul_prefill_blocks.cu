// Prefill kernels of the types Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 IQ4_NL.
#define M40_MATMUL_INSTANTIATE
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

M40_MATMUL_TYPE(Q4_0)
M40_MATMUL_TYPE(Q4_1)
M40_MATMUL_TYPE(Q5_0)
M40_MATMUL_TYPE(Q5_1)
M40_MATMUL_TYPE(Q8_0)
M40_MATMUL_TYPE(IQ4_NL)

}  // namespace m40::cuda
