// A kernel is a body and a launch of it.
//
// A body is a device function with the work of one thread block. It gets the arguments, the number of its block of how
// many, and shared memory, or those of them that it uses. Its launch, a __global__ function of the same name and
// "_kernel", has only the shared memory and the call. So the persistent kernel, which numbers its blocks itself, calls
// the same bodies. (A launch that is no template is with its host code in ops/, or every source that includes the body
// would compile it.) For the persistent kernel, a body
//
// - reads threadIdx alone: neither blockIdx, gridDim nor blockDim. A constant next to it is its number of threads; all
//   of them call it, with the same block;
// - declares no shared memory: it gets a struct, or one that says where its parts are, and other bodies may get the
//   same memory. Its contents before and after have no meaning; a caller puts a barrier between two bodies with the
//   same memory;
// - returns in no thread while others of its block still have a barrier to reach;
// - leaves counters at 0, where it found them;
// - is inlined, so that a launch has the machine code of a plain kernel.
#ifndef M40_KERNELS_BLOCK_CUH
#define M40_KERNELS_BLOCK_CUH

#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

struct BlockIndex {
  uint32_t x, y, z;
};

struct GridSize {
  uint32_t x, y, z;  // blocks
};

// Those of a launch: for __global__ functions.
__device__ __forceinline__ BlockIndex launched_block() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
__device__ __forceinline__ GridSize launched_grid() { return {gridDim.x, gridDim.y, gridDim.z}; }

// For a launch of fewer thread blocks than its body has, so that concurrent launches find room: each goes through every
// gridDim.x-th of n. at: shared memory of the kernel, which holds the number of the block, as a register would add to
// the body's register pressure. Where all are launched, each does one.
template <class Body>
__device__ __forceinline__ void walk_blocks(uint32_t n, volatile uint32_t& at, const Body& body) {
  if (threadIdx.x == 0) at = blockIdx.x;
  uint32_t block = blockIdx.x;
#pragma unroll 1
  for (;;) {
    body(block);
    if (gridDim.x == n) return;
    __syncthreads();
    if (threadIdx.x == 0) at = at + gridDim.x;
    __syncthreads();
    block = at;
    if (block >= n) return;
  }
}

// The same where the body's blocks have a grid. place: shared memory as well, where the block is in it.
template <class Body>
__device__ __forceinline__ void walk_grid(const GridSize& grid, volatile uint32_t& at, BlockIndex& place, const Body& body) {
  walk_blocks(grid.x * grid.y * grid.z, at, [&](uint32_t block) {
    if (threadIdx.x == 0) place = {block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y};
    __syncthreads();
    body();
  });
}

}  // namespace m40::cuda

#endif
