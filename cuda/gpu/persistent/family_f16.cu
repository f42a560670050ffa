// Persistent kernels of weights of F16.
#define M40_RESIDENT_INSTANTIATE
#include "family_launch.cuh"

namespace m40::cuda {

M40_RESIDENT_FAMILY(FamilyF16)

}  // namespace m40::cuda
