// Kernels of packed pairs of the types TQ1_0, TQ2_0 (which lie alike) and MXFP4.
#define M40_PACKED_INSTANTIATE
#include "matmul_packed_launch.cuh"

namespace m40::cuda {

M40_PACKED_TYPE(TQ2_0)
M40_PACKED_TYPE(MXFP4)

}  // namespace m40::cuda
