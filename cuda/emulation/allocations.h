// The emulated device's memory, for the functions that allocate it.
#ifndef M40_EMULATION_ALLOCATIONS_H
#define M40_EMULATION_ALLOCATIONS_H

#include <stddef.h>

namespace m40::emulation {

// Bytes from one of cudaMalloc's results on that are this allocation's alone, whole pages of host memory; 0: it is
// none.
size_t allocation_bytes(void* memory);
// Other processes have that memory no more: it is about to be freed.
void forget_peers(void* memory, size_t n_bytes);

}  // namespace m40::emulation

#endif
