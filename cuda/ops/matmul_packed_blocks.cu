// Kernels of packed pairs of the types Q4_0 Q4_1.
#define M40_PACKED_INSTANTIATE
#include "matmul_packed_launch.cuh"

namespace m40::cuda {

M40_PACKED_TYPE(Q4_0)
M40_PACKED_TYPE(Q4_1)

}  // namespace m40::cuda
