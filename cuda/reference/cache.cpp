// The KV cache: its pages, and their way to the host and back.
#include <string.h>

#include "../runtime/checks.h"
#include "objects.h"

using m40::fail;
using m40::guarded;
using m40::require;
using m40::reference::align_up;

namespace {

uint64_t padded_page_bytes(const m40_cache_desc& desc) { return align_up(m40::checked_page_bytes(desc)); }

void check_cache(const m40_cache* cache) {
  require(cache, "cache");
  if (!cache->arena->alive()) fail(M40_INVALID_ARGUMENT, "the cache's arena has been destroyed");
}

}  // namespace

extern "C" m40_status m40_cache_bytes(m40_context* context, const m40_cache_desc* desc, uint64_t* n_bytes, uint64_t* page_bytes,
                                      m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(desc, "desc");
    const uint64_t size = padded_page_bytes(*desc);
    const uint64_t all = m40::checked_cache_bytes(*desc, size);
    if (n_bytes != nullptr) *n_bytes = all;
    if (page_bytes != nullptr) *page_bytes = size;
  });
}

extern "C" m40_status m40_cache_create(m40_arena* arena, const m40_cache_desc* desc, m40_cache** cache, m40_error* error) {
  return guarded(error, [&] {
    require(arena, "arena");
    require(desc, "desc");
    require(cache, "cache");
    const uint64_t page_bytes = padded_page_bytes(*desc);
    const uint64_t n_bytes = m40::checked_cache_bytes(*desc, page_bytes);
    uint8_t* memory = arena->next(n_bytes, "a KV cache");
    auto& caches = arena->context->caches;
    caches.reserve(caches.size() + 1);
    caches.emplace_back(new m40_cache{arena, *desc, memory, page_bytes, m40::cache_head_bytes(*desc)});
    arena->take(n_bytes);
    *cache = caches.back().get();
  });
}

extern "C" m40_status m40_cache_copy_pages(m40_cache* cache, const uint32_t* from, const uint32_t* to, uint32_t n_pages,
                                           m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_pages(cache->desc, from, n_pages, "from");
    m40::check_pages(cache->desc, to, n_pages, "to");
    for (uint32_t i = 0; i < n_pages; i++) memmove(cache->page(to[i]), cache->page(from[i]), cache->page_bytes);
  });
}

extern "C" m40_status m40_cache_save_pages(m40_cache* cache, const uint32_t* pages, uint32_t n_pages, void* memory,
                                           uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_pages(cache->desc, pages, n_pages, "pages");
    m40::check_page_memory(cache->page_bytes, memory, n_bytes, n_pages);
    for (uint32_t i = 0; i < n_pages; i++) {
      memcpy(static_cast<uint8_t*>(memory) + i * cache->page_bytes, cache->page(pages[i]), cache->page_bytes);
    }
  });
}

extern "C" m40_status m40_cache_restore_pages(m40_cache* cache, const uint32_t* pages, uint32_t n_pages, const void* memory,
                                              uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_pages(cache->desc, pages, n_pages, "pages");
    m40::check_page_memory(cache->page_bytes, memory, n_bytes, n_pages);
    for (uint32_t i = 0; i < n_pages; i++) {
      memcpy(cache->page(pages[i]), static_cast<const uint8_t*>(memory) + i * cache->page_bytes, cache->page_bytes);
    }
  });
}
