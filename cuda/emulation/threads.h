// The threads of a block as fibers: what they wait for, and what they exchange. Kernel sources use CUDA's own names
// for all of this (cuda.h).
#ifndef M40_EMULATION_THREADS_H
#define M40_EMULATION_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include <functional>

#include "types.h"

namespace m40::emulation {

// Where the running thread is. Only the fiber that runs may look.
struct Indices {
  uint3 thread;
  uint3 block;
  dim3 block_size;
  dim3 grid_size;
};
extern Indices indices;

// Dynamic shared memory of the running block, as many bytes as its launch asked for.
extern void* dynamic_shared;

// What a warp does together.
enum class WarpOperation : uint8_t { kSync, kShuffle, kVote };

// A place in a kernel's source.
struct Site {
  const char* file;
  int line;
};

// Waits until every thread of the block is here; returns how many of them brought a predicate other than 0.
int sync_block(Site site, int predicate);

// Waits until all lanes of the mask have arrived. Each brings a value and takes the one that lane `source` brought. For
// a vote, the result has the bits of the lanes with a value other than 0.
uint64_t sync_warp(WarpOperation operation, Site site, uint32_t mask, uint64_t value, uint32_t source);

// The lane of the running thread in its warp.
inline uint32_t lane() {
  return (indices.thread.x + indices.block_size.x * (indices.thread.y + indices.block_size.y * indices.thread.z)) % 32;
}

// Yields to the other blocks of a cooperative grid, or to the host.
void yield();
// The same of a thread that waits for another device: its grid holds up no other one meanwhile.
void yield_to_devices();

// Of a clock of the device's.
uint64_t nanoseconds();

// Runs all blocks of a grid, one after the other. Returns nullptr, or what a kernel did wrong; the rest of the grid is
// then not run.
const char* run_grid(const char* kernel, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread);

// The same of blocks that are there together and may wait for each other, and for the host: it is to be called on a
// thread of its own. They have dynamic shared memory alone. While all of them wait, other grids may be run. late: so
// many of the last blocks come only when all others have returned.
const char* run_grid_together(const char* kernel, dim3 grid, dim3 block, size_t shared_bytes, uint64_t late, const std::function<void()>& thread);

}  // namespace m40::emulation

#endif
