// The persistent kernels of a family of types. Each family is instantiated in a source of its own, so that compilers
// can share the work.
#ifndef M40_PERSISTENT_FAMILY_LAUNCH_CUH
#define M40_PERSISTENT_FAMILY_LAUNCH_CUH

#include "../../ops/multiprocessors.h"
#include "families.h"
#include "kernel.cuh"

namespace m40::cuda {

using FamilyK = WeightFamily<M40_TYPE_Q4_K, M40_TYPE_Q6_K>;
using FamilyQ8 = WeightFamily<M40_TYPE_Q8_0, M40_TYPE_Q8_0>;
using FamilyF16 = WeightFamily<M40_TYPE_F16, M40_TYPE_F16>;
using FamilyF32 = WeightFamily<M40_TYPE_F32, M40_TYPE_F32>;

// The types of caches that these kernels have attention for.
constexpr uint32_t resident_cache = M40_TYPE_F16;

template <class Family, int T>
uint32_t blocks_of_resident();
template <class Family, int T>
void launch_resident_of(const ResidentArgs& args, uint32_t blocks, cudaStream_t stream);

#ifdef M40_RESIDENT_INSTANTIATE

// Thread blocks a multiprocessor that the compiler is to leave registers for, as launches of the same products have.
template <class Family, int T>
constexpr int resident_residency() {
  return Family::first == M40_TYPE_F32 && T != 2 ? 1 : 2;
}

template <class Family, int T>
uint32_t blocks_of_resident() {
  int each = 0;
  const auto kernel = &resident_kernel<Family, T, resident_cache, resident_residency<Family, T>()>;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, static_cast<int>(resident_threads), sizeof(ResidentShared<Family, T, resident_cache>)) != cudaSuccess) {
    cudaGetLastError();  // it does not stay, then
    return 0;
  }
  return static_cast<uint32_t>(each) * multiprocessors();
}

template <class Family, int T>
void launch_resident_of(const ResidentArgs& args, uint32_t blocks, cudaStream_t stream) {
  M40_LAUNCH_TOGETHER((resident_kernel<Family, T, resident_cache, resident_residency<Family, T>()>), dim3(blocks), dim3(resident_threads),
                      sizeof(ResidentShared<Family, T, resident_cache>), stream, args);
}

#define M40_RESIDENT_TOKENS(Family, T)              \
  template uint32_t blocks_of_resident<Family, T>(); \
  template void launch_resident_of<Family, T>(const ResidentArgs&, uint32_t, cudaStream_t);
#define M40_RESIDENT_FAMILY(Family) \
  M40_RESIDENT_TOKENS(Family, 1) M40_RESIDENT_TOKENS(Family, 2) M40_RESIDENT_TOKENS(Family, 4) M40_RESIDENT_TOKENS(Family, 8)

#endif

}  // namespace m40::cuda

#endif
