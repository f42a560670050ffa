// Decode kernels of launches with weights of two types.
#define M40_MATMUL_INSTANTIATE
#include "matmul_launch.cuh"

namespace m40::cuda {

M40_MATMUL_PAIRS(M40_MATMUL_PAIR)

}  // namespace m40::cuda
