// Host memory that is not the library's own, made fit for the device. Each library does this in its own way.
#ifndef M40_RUNTIME_HOST_MEMORY_H
#define M40_RUNTIME_HOST_MEMORY_H

#include <stdint.h>

#include "../include/m40.h"

namespace m40 {

// The device may read and write it from now on. It starts and ends with a KV block.
void register_host_memory(m40_context* context, void* memory, uint64_t n_bytes);
// False where the device hangs, and may use it still: the memory must be left alone.
bool unregister_host_memory(m40_context* context, void* memory);

}  // namespace m40

#endif
