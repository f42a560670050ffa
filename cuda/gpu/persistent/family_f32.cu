// Persistent kernels of weights of F32.
#define M40_RESIDENT_INSTANTIATE
#include "family_launch.cuh"

namespace m40::cuda {

M40_RESIDENT_FAMILY(FamilyF32)

}  // namespace m40::cuda
