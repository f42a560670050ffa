// Decode kernels of launches whose weights are of two types.
#define M40_MATMUL_INSTANTIATE
#include "matmul_launch.cuh"

namespace m40::cuda {

M40_MATMUL_PAIR(Q4_K, Q6_K)
M40_MATMUL_PAIR(Q5_K, Q6_K)

}  // namespace m40::cuda
