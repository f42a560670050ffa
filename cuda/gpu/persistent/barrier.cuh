// A barrier of all thread blocks of a cooperative kernel, and their other waits.
//
// There is one counter. To arrive, a block's threads meet, then one of them fences and adds 1. At the n-th barrier of
// so many blocks, it waits until the counter shows n * blocks, then fences, and its threads meet again. The counter
// cannot show that while a block is missing. A block adds for the n-th time only after it has seen (n - 1) * blocks, so
// all (n - 1)-th additions come before any n-th one. After the barrier, all blocks see what any block wrote before it
// arrived. The writes come before the block's own barrier, that before the fence and the addition (fences are
// cumulative). The addition comes before the read that saw it, and that read, with its fence and its block's barrier,
// before the loads. Read-only loads (__ldg) are not ordered by this: they never load what other blocks wrote.
//
// The wait ends because all blocks are on the device: there are only as many as fit, and none works until all have
// arrived.
#ifndef M40_PERSISTENT_BARRIER_CUH
#define M40_PERSISTENT_BARRIER_CUH

#include "../../kernels/intrinsics.cuh"
#include "../../kernels/waiting.cuh"
#include "mailbox.cuh"

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
