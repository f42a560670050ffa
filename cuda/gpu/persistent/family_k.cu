// Persistent kernels of weights of Q4_K and Q6_K.
#define M40_RESIDENT_INSTANTIATE
#include "family_launch.cuh"

namespace m40::cuda {

M40_RESIDENT_FAMILY(FamilyK)

}  // namespace m40::cuda
