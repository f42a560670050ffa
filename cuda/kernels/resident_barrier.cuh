// A barrier of all thread blocks of a kernel that are on the device together, and other waiting of theirs.
//
// One counter. A block's threads meet, then one of them fences and adds 1: it arrives. It waits, at the n-th barrier of so
// many blocks, until the counter shows n * blocks, fences, and its threads meet again. The counter cannot show that while a
// block is missing: a block adds for the n-th time only after it has seen (n - 1) * blocks, so nobody's n-th addition comes
// before everybody's (n - 1)-th. What a block wrote before it arrived is seen by all after they have waited: the writes come
// before the block's own barrier, that before the fence and the addition (fences are cumulative), the addition before the
// look that saw it, and that, with its fence and its block's barrier, before the loads. Loads that are told that nobody
// writes (__ldg) are outside of all that: what other blocks wrote is never loaded so.
//
// It ends because all blocks are on the device: as many as fit at a time, and none does anything before all have come.
#ifndef M40_KERNELS_RESIDENT_BARRIER_CUH
#define M40_KERNELS_RESIDENT_BARRIER_CUH

#include "intrinsics.cuh"
#include "resident_node.cuh"
#include "waiting.cuh"

namespace m40::cuda {

// All threads of a block call these. The target is of shared memory.
struct GridBarrier {
  ResidentState* state;
  uint32_t blocks;
  uint32_t& target;

  __device__ __forceinline__ void arrive() const {
    __syncthreads();
    if (threadIdx.x == 0) {
      target += blocks;
      __threadfence();
      atomicAdd(&state->arrived, 1u);
    }
  }
  // meanwhile(): what the block's other warps do.
  template <class Meanwhile>
  __device__ __forceinline__ void wait(const Meanwhile& meanwhile) const {
    if (threadIdx.x == 0) {
      while (static_cast<int32_t>(look(&state->arrived) - target) < 0) spin_pause();
      __threadfence();
    }
    meanwhile();
    __syncthreads();
  }
  __device__ __forceinline__ void wait() const {
    wait([] {});
  }
};

}  // namespace m40::cuda

#endif
