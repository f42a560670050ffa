// Arenas: blocks of memory straight from the system, filled from the bottom up.
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "host.h"
#include "objects.h"

using m40::fail;
using m40::guarded;
using m40::require;

m40_arena::~m40_arena() { release(); }

void m40_arena::release() {
  if (memory != nullptr) munmap(memory, mapped_bytes);
  memory = nullptr;
}

extern "C" m40_status m40_arena_create(m40_context* context, uint64_t arena_bytes, m40_arena** arena, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(arena, "arena");
    if (arena_bytes == 0) fail(M40_INVALID_ARGUMENT, "an arena of 0 bytes: wanted at least 1");
    const m40::reference::HostMemory host = m40::reference::host_memory();
    if (host.total_bytes != 0 && arena_bytes > host.available_bytes) {
      fail(M40_OUT_OF_MEMORY, "an arena of %llu bytes: the host has %llu bytes of memory, of which %llu are available",
           static_cast<unsigned long long>(arena_bytes), static_cast<unsigned long long>(host.total_bytes),
           static_cast<unsigned long long>(host.available_bytes));
    }
    constexpr uint64_t kv_block = 4096;
    if (arena_bytes > UINT64_MAX - kv_block) fail(M40_OUT_OF_MEMORY, "an arena of %llu bytes", static_cast<unsigned long long>(arena_bytes));
    const uint64_t mapped_bytes = (arena_bytes + kv_block - 1) / kv_block * kv_block;
    context->arenas.reserve(context->arenas.size() + 1);
    std::unique_ptr<m40_arena> created(new m40_arena);
    created->context = context;
    created->n_bytes = arena_bytes;
    created->mapped_bytes = mapped_bytes;
    void* memory = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      fail(M40_OUT_OF_MEMORY, "an arena of %llu bytes could not be allocated: %s",
           static_cast<unsigned long long>(arena_bytes), strerror(errno));
    }
    created->memory = static_cast<uint8_t*>(memory);
    // Fewer, larger KV blocks where the system gives them; a hint, so its answer does not matter.
    madvise(memory, mapped_bytes, MADV_HUGEPAGE);
    *arena = created.get();
    context->arenas.push_back(std::move(created));
  });
}

extern "C" void m40_arena_destroy(m40_arena* arena) {
  if (arena == nullptr) return;
  arena->context->end_runs();
  arena->release();
}

extern "C" uint64_t m40_arena_used_bytes(const m40_arena* arena) { return arena == nullptr ? 0 : arena->used_bytes; }
