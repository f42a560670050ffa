// What sequences keep: KV blocks of K and V, slots of states, and their way to the host and back.
#include <string.h>

#include "../common/checks.h"
#include "../common/sizes.h"
#include "objects.h"

using m40::fail;
using m40::guarded;
using m40::require;
using m40::reference::align_up;
using m40::reference::CacheLayer;

namespace {

CacheLayer layer_of(const m40_cache_desc& desc, uint32_t layer) {
  const uint64_t heads = uint64_t{desc.n_kv_heads[layer]} * desc.kv_block_tokens;
  CacheLayer result = {};
  result.key_head_bytes = result.value_head_bytes = m40::checked_row_bytes(desc.type, desc.head_dim[layer]);
  if (desc.value_dim[layer] == 0) return result;
  result.value_head_bytes = m40::checked_row_bytes(desc.type, desc.value_dim[layer]);
  result.values = heads * result.key_head_bytes;
  return result;
}

// layers: [n_layers], or nullptr.
uint64_t place_layers(const m40_cache_desc& desc, CacheLayer* layers) {
  m40::check_cache_desc(desc);
  uint64_t offsets[M40_MAX_CACHE_LAYERS];
  const uint64_t kv_block_bytes = m40::place_cache_layers(desc, offsets, [&](uint32_t layer) {
    const CacheLayer one = layer_of(desc, layer);
    const uint64_t value_bytes = one.values == 0 ? 0 : one.value_head_bytes;
    return uint64_t{desc.n_kv_heads[layer]} * desc.kv_block_tokens * (one.key_head_bytes + value_bytes);
  });
  for (uint32_t i = 0; layers != nullptr && i < desc.n_layers; i++) {
    layers[i] = layer_of(desc, i);
    layers[i].keys = offsets[i];
    layers[i].values += offsets[i];
  }
  return align_up(kv_block_bytes);
}

void check_cache(const m40_cache* cache) {
  require(cache, "cache");
  if (!cache->arena->alive()) fail(M40_INVALID_ARGUMENT, "the cache's arena has been destroyed");
}

}  // namespace

extern "C" m40_status m40_cache_bytes(m40_context* context, const m40_cache_desc* desc, uint64_t* n_bytes, uint64_t* kv_block_bytes,
                                      uint64_t* slot_bytes, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(desc, "desc");
    const uint64_t page_size = place_layers(*desc, nullptr);
    const uint64_t slot_size = m40::place_states(*desc, nullptr, m40::reference::alignment);
    const uint64_t all = m40::checked_cache_bytes(*desc, page_size) + m40::checked_slots_bytes(*desc, slot_size);
    if (n_bytes != nullptr) *n_bytes = all;
    if (kv_block_bytes != nullptr) *kv_block_bytes = page_size;
    if (slot_bytes != nullptr) *slot_bytes = slot_size;
  });
}

extern "C" m40_status m40_cache_create(m40_arena* arena, const m40_cache_desc* desc, m40_cache** cache, m40_error* error) {
  return guarded(error, [&] {
    require(arena, "arena");
    require(desc, "desc");
    require(cache, "cache");
    std::unique_ptr<m40_cache> created(new m40_cache{arena, *desc, nullptr, 0, {}, nullptr, 0, {}});
    created->kv_block_bytes = place_layers(*desc, created->layers);
    created->slot_bytes = m40::place_states(*desc, created->states, m40::reference::alignment);
    const uint64_t kv_blocks_bytes = m40::checked_cache_bytes(*desc, created->kv_block_bytes);
    const uint64_t n_bytes = kv_blocks_bytes + m40::checked_slots_bytes(*desc, created->slot_bytes);
    created->memory = arena->next(n_bytes, "a KV cache");
    created->slots = created->memory + kv_blocks_bytes;
    auto& caches = arena->context->caches;
    caches.push_back(std::move(created));
    arena->take(n_bytes);
    *cache = caches.back().get();
  });
}

extern "C" m40_status m40_cache_copy_kv_blocks(m40_cache* cache, const uint32_t* from, const uint32_t* to, uint32_t n_kv_blocks,
                                           m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_kv_blocks(cache->desc, from, n_kv_blocks, "from");
    m40::check_kv_blocks(cache->desc, to, n_kv_blocks, "to");
    for (uint32_t i = 0; i < n_kv_blocks; i++) memmove(cache->kv_block(to[i]), cache->kv_block(from[i]), cache->kv_block_bytes);
  });
}

extern "C" m40_status m40_cache_save_kv_blocks(m40_cache* cache, const uint32_t* kv_blocks, uint32_t n_kv_blocks, void* memory,
                                           uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_kv_blocks(cache->desc, kv_blocks, n_kv_blocks, "pages");
    m40::check_kv_block_memory(cache->kv_block_bytes, memory, n_bytes, n_kv_blocks);
    for (uint32_t i = 0; i < n_kv_blocks; i++) {
      memcpy(static_cast<uint8_t*>(memory) + i * cache->kv_block_bytes, cache->kv_block(kv_blocks[i]), cache->kv_block_bytes);
    }
  });
}

extern "C" m40_status m40_cache_restore_kv_blocks(m40_cache* cache, const uint32_t* kv_blocks, uint32_t n_kv_blocks, const void* memory,
                                              uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_kv_blocks(cache->desc, kv_blocks, n_kv_blocks, "pages");
    m40::check_kv_block_memory(cache->kv_block_bytes, memory, n_bytes, n_kv_blocks);
    for (uint32_t i = 0; i < n_kv_blocks; i++) {
      memcpy(cache->kv_block(kv_blocks[i]), static_cast<const uint8_t*>(memory) + i * cache->kv_block_bytes, cache->kv_block_bytes);
    }
  });
}

extern "C" m40_status m40_cache_save_slots(m40_cache* cache, const uint32_t* slots, uint32_t n_slots, void* memory, uint64_t n_bytes,
                                           m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_slots(cache->desc, slots, n_slots, cache->slot_bytes, memory, n_bytes);
    for (uint32_t i = 0; i < n_slots; i++) {
      memcpy(static_cast<uint8_t*>(memory) + i * cache->slot_bytes, cache->slot(slots[i]), cache->slot_bytes);
    }
  });
}

extern "C" m40_status m40_cache_restore_slots(m40_cache* cache, const uint32_t* slots, uint32_t n_slots, const void* memory,
                                              uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_slots(cache->desc, slots, n_slots, cache->slot_bytes, memory, n_bytes);
    for (uint32_t i = 0; i < n_slots; i++) {
      memcpy(cache->slot(slots[i]), static_cast<const uint8_t*>(memory) + i * cache->slot_bytes, cache->slot_bytes);
    }
  });
}
