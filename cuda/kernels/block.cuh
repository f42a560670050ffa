// A kernel is a body and a launch of it.
//
// A body is a function on the device that does what one thread block does. It is told the arguments, which block of how
// many it is, and what shared memory it has; one that has no use for some of these goes without. Its launch, a __global__
// function of the same name and "_kernel", has nothing but the shared memory and the call, so that a kernel that stays on the
// device and goes through blocks of its own numbering calls the same bodies. (Where the launch is no template it stands with
// its host code in ops/, or every source that includes the body would compile it.) For its sake a body
//
// - looks at threadIdx alone: neither at blockIdx, gridDim nor blockDim. How many threads it wants is a constant beside it;
//   all of them call it, with the same block;
// - declares no shared memory: it gets a struct, or one that says where its parts are, and other bodies may get the same
//   memory. What stands in it before and after is of no meaning, and whoever calls two bodies with the same memory puts a
//   barrier between them;
// - returns in no thread while others of its block have a barrier before them;
// - leaves counters at 0, where it found them;
// - is inlined, so that a launch has the machine code that it would have without all this.
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

// For a launch of fewer thread blocks than its body has, so that other launches find room beside it: each goes through
// every gridDim.x-th of n. at: shared memory of the kernel, where the number of the block stands meanwhile: in a register it
// would be one of the body's. Where all are launched, each does one.
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
