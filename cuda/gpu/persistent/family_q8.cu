// Persistent kernels of weights of Q8_0.
#define M40_RESIDENT_INSTANTIATE
#include "family_launch.cuh"

namespace m40::cuda {

M40_RESIDENT_FAMILY(FamilyQ8)

}  // namespace m40::cuda
