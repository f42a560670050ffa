// Arenas: blocks of memory straight from the system, filled from the bottom up; and the host's memory.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "host.h"
#include "objects.h"
#include "../program/memory_functions.h"

m40_arena::~m40_arena() { release(); }

void m40_arena::release() {
  if (memory != nullptr) munmap(memory, mapped_bytes);
  memory = nullptr;
}

std::unique_ptr<m40_arena> m40::allocate_arena(m40_context*, uint64_t n_bytes) {
  const reference::HostMemory host = reference::host_memory();
  if (host.total_bytes != 0 && n_bytes > host.available_bytes) {
    fail(M40_OUT_OF_MEMORY, "an arena of %llu bytes: the host has %llu bytes of memory, of which %llu are available",
         static_cast<unsigned long long>(n_bytes), static_cast<unsigned long long>(host.total_bytes),
         static_cast<unsigned long long>(host.available_bytes));
  }
  constexpr uint64_t page = 4096;
  if (n_bytes > UINT64_MAX - page) fail(M40_OUT_OF_MEMORY, "an arena of %llu bytes", static_cast<unsigned long long>(n_bytes));
  std::unique_ptr<m40_arena> arena(new m40_arena);
  arena->mapped_bytes = (n_bytes + page - 1) / page * page;
  void* memory = mmap(nullptr, arena->mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fail(M40_OUT_OF_MEMORY, "an arena of %llu bytes could not be allocated: %s", static_cast<unsigned long long>(n_bytes), strerror(errno));
  }
  arena->memory = static_cast<uint8_t*>(memory);
  // Fewer, larger pages where the system gives them; a hint, so its answer does not matter.
  madvise(memory, arena->mapped_bytes, MADV_HUGEPAGE);
  return arena;
}

void* m40::allocate_host_memory(m40_context* context, uint64_t n_bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, reference::alignment, n_bytes) != 0) {
    fail(M40_OUT_OF_MEMORY, "%llu bytes of host memory could not be allocated", static_cast<unsigned long long>(n_bytes));
  }
  memset(memory, 0, n_bytes);
  context->host_memory.push_back(memory);
  return memory;
}

extern "C" void m40_arena_destroy(m40_arena* arena) {
  if (arena == nullptr) return;
  arena->context->end_runs();
  arena->release();
}
