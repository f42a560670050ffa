// Kernels of packed pairs of the types Q2_K Q3_K Q4_K.
#define M40_PACKED_INSTANTIATE
#include "matmul_packed_launch.cuh"

namespace m40::cuda {

M40_PACKED_TYPE(Q2_K)
M40_PACKED_TYPE(Q3_K)
M40_PACKED_TYPE(Q4_K)

}  // namespace m40::cuda
