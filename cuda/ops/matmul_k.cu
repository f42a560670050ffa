// Decode kernels of the types Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_XS.
#define M40_MATMUL_INSTANTIATE
#include "matmul_launch.cuh"

namespace m40::cuda {

M40_MATMUL_TYPE(Q2_K)
M40_MATMUL_TYPE(Q3_K)
M40_MATMUL_TYPE(Q4_K)
M40_MATMUL_TYPE(Q5_K)
M40_MATMUL_TYPE(Q6_K)
M40_MATMUL_TYPE(IQ4_XS)

}  // namespace m40::cuda
