// How things are placed in the device's memory.
#ifndef M40_RUNTIME_DEVICE_MEMORY_H
#define M40_RUNTIME_DEVICE_MEMORY_H

#include <stdint.h>

#ifdef M40_EMULATED
#include "../emulation/poison.h"
#endif

namespace m40::cuda {

// Everything in an arena starts at a multiple of this: what cudaMalloc gives, and the widest transaction.
constexpr uint64_t alignment = 256;
constexpr uint64_t align_up(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

#ifdef M40_EMULATED
// Forbidden bytes between objects, so that the address sanitizer reports a read or write past an end.
constexpr uint64_t guard_bytes = alignment;
inline void forbid(void* memory, uint64_t n_bytes) { emulation::poison(memory, n_bytes); }
// Filled with NaNs, so that a read of unwritten memory shows.
inline void permit(void* memory, uint64_t n_bytes) { emulation::unpoison(memory, n_bytes); }
inline void release(void* memory, uint64_t n_bytes) { emulation::unpoison_for_free(memory, n_bytes); }
#else
constexpr uint64_t guard_bytes = 0;
inline void forbid(void*, uint64_t) {}
inline void permit(void*, uint64_t) {}
inline void release(void*, uint64_t) {}
#endif

// What n_bytes take of an arena.
constexpr uint64_t placed_bytes(uint64_t n_bytes) { return align_up(n_bytes) + guard_bytes; }

}  // namespace m40::cuda

#endif
