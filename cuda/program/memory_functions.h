// The functions of m40.h for memory: arenas, and the host's. A library includes this behind its objects, in the one
// source that defines what it does in its own way.
#ifndef M40_PROGRAM_MEMORY_FUNCTIONS_H
#define M40_PROGRAM_MEMORY_FUNCTIONS_H

#include <memory>

#include "../common/error.h"
#include "../include/m40.h"

namespace m40 {

// ---- a library's own --------------------------------------------------------------------------------------------

// Memory of an arena, and of the host.
std::unique_ptr<m40_arena> allocate_arena(m40_context* context, uint64_t n_bytes);
void* allocate_host_memory(m40_context* context, uint64_t n_bytes);

}  // namespace m40

// ---- every library's --------------------------------------------------------------------------------------------

extern "C" m40_status m40_arena_create(m40_context* context, uint64_t arena_bytes, m40_arena** arena, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(context, "context");
    m40::require(arena, "arena");
    if (arena_bytes == 0) m40::fail(M40_INVALID_ARGUMENT, "an arena of 0 bytes: wanted at least 1");
    context->arenas.reserve(context->arenas.size() + 1);
    std::unique_ptr<m40_arena> created = m40::allocate_arena(context, arena_bytes);
    created->context = context;
    created->n_bytes = arena_bytes;
    *arena = created.get();
    context->arenas.push_back(std::move(created));
  });
}

extern "C" uint64_t m40_arena_used_bytes(const m40_arena* arena) { return arena == nullptr ? 0 : arena->used_bytes; }

extern "C" m40_status m40_host_alloc(m40_context* context, uint64_t n_bytes, void** memory, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(context, "context");
    m40::require(memory, "memory");
    if (n_bytes == 0) m40::fail(M40_INVALID_ARGUMENT, "host memory of 0 bytes: wanted at least 1");
    if (n_bytes > uint64_t{1} << 48) {
      m40::fail(M40_OUT_OF_MEMORY, "%llu bytes of host memory could not be allocated", static_cast<unsigned long long>(n_bytes));
    }
    context->host_memory.reserve(context->host_memory.size() + 1);
    *memory = m40::allocate_host_memory(context, n_bytes);
    context->host_areas.add(*memory, n_bytes);
  });
}

extern "C" m40_status m40_host_share(m40_context* context, const m40_shared* shared, void** memory, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(context, "context");
    m40::require(shared, "shared");
    m40::require(memory, "memory");
    *memory = context->shared_host.add(context, *shared);
  });
}

#endif
