// The functions of m40.h that make caches and copy what is in them. A library includes this behind its objects, in the
// one source that defines what it does in its own way.
#ifndef M40_PROGRAM_CACHE_FUNCTIONS_H
#define M40_PROGRAM_CACHE_FUNCTIONS_H

#include <memory>

#include "../common/checks.h"
#include "../common/error.h"
#include "../common/sizes.h"
#include "../include/m40.h"

namespace m40 {

// Equal pieces of memory: those at the indices, or one after the other.
struct Pieces {
  uint8_t* memory;
  uint64_t piece_bytes;
  const uint32_t* indices;  // or nullptr

  uint8_t* at(uint32_t i) const { return memory + (indices == nullptr ? i : indices[i]) * piece_bytes; }
};

enum class CopyWay : uint8_t { kWithinDevice, kToHost, kToDevice };

// ---- a library's own --------------------------------------------------------------------------------------------

// Bytes of a KV block and of a slot. cache: where the layers and the states in it are noted, or nullptr.
uint64_t place_layers(const m40_cache_desc& desc, m40_cache* cache);
uint64_t place_slot(const m40_cache_desc& desc, m40_cache* cache);
// What a cache of n_bytes takes of an arena.
uint64_t placed_cache_bytes(uint64_t n_bytes);
// Makes the memory of a new cache ready for every program.
void open_cache(const m40_cache& cache, uint64_t n_bytes);
// Copies n pieces in their order, and waits. what: what they are.
void copy_pieces(const m40_cache& cache, const char* what, CopyWay way, const Pieces& to, const Pieces& from, uint32_t n);

// ---- every library's --------------------------------------------------------------------------------------------

inline void check_cache(const m40_cache* cache) {
  require(cache, "cache");
  if (!cache->arena->alive()) fail(M40_INVALID_ARGUMENT, "the cache's arena has been destroyed");
}

inline void copy_kv_blocks(m40_cache* cache, CopyWay way, const uint32_t* kv_blocks, uint32_t n, const void* memory, uint64_t n_bytes) {
  check_cache(cache);
  check_kv_blocks(cache->desc, kv_blocks, n, "kv_blocks");
  check_kv_block_memory(cache->kv_block_bytes, memory, n_bytes, n);
  const Pieces device = {cache->memory, cache->kv_block_bytes, kv_blocks};
  const Pieces host = {static_cast<uint8_t*>(const_cast<void*>(memory)), cache->kv_block_bytes, nullptr};
  copy_pieces(*cache, "KV blocks of the KV cache", way, way == CopyWay::kToHost ? host : device, way == CopyWay::kToHost ? device : host, n);
}

inline void copy_slots(m40_cache* cache, CopyWay way, const uint32_t* slots, uint32_t n, const void* memory, uint64_t n_bytes) {
  check_cache(cache);
  check_slots(cache->desc, slots, n, cache->slot_bytes, memory, n_bytes);
  const Pieces device = {cache->slots, cache->slot_bytes, slots};
  const Pieces host = {static_cast<uint8_t*>(const_cast<void*>(memory)), cache->slot_bytes, nullptr};
  copy_pieces(*cache, "slots of states", way, way == CopyWay::kToHost ? host : device, way == CopyWay::kToHost ? device : host, n);
}

}  // namespace m40

extern "C" m40_status m40_cache_bytes(m40_context* context, const m40_cache_desc* desc, uint64_t* n_bytes, uint64_t* kv_block_bytes,
                                      uint64_t* slot_bytes, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(context, "context");
    m40::require(desc, "desc");
    const uint64_t kv_block = m40::place_layers(*desc, nullptr);
    const uint64_t slot = m40::place_slot(*desc, nullptr);
    const uint64_t all = m40::checked_cache_bytes(*desc, kv_block) + m40::checked_slots_bytes(*desc, slot);
    if (n_bytes != nullptr) *n_bytes = m40::placed_cache_bytes(all);
    if (kv_block_bytes != nullptr) *kv_block_bytes = kv_block;
    if (slot_bytes != nullptr) *slot_bytes = slot;
  });
}

extern "C" m40_status m40_cache_create(m40_arena* arena, const m40_cache_desc* desc, m40_cache** cache, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(arena, "arena");
    m40::require(desc, "desc");
    m40::require(cache, "cache");
    std::unique_ptr<m40_cache> created(new m40_cache{});
    created->arena = arena;
    created->desc = *desc;
    created->kv_block_bytes = m40::place_layers(*desc, created.get());
    created->slot_bytes = m40::place_slot(*desc, created.get());
    const uint64_t kv_blocks_bytes = m40::checked_cache_bytes(*desc, created->kv_block_bytes);
    const uint64_t n_bytes = kv_blocks_bytes + m40::checked_slots_bytes(*desc, created->slot_bytes);
    created->memory = arena->next(m40::placed_cache_bytes(n_bytes), "a KV cache");
    created->slots = created->memory + kv_blocks_bytes;
    auto& caches = arena->context->caches;
    caches.reserve(caches.size() + 1);
    m40::open_cache(*created, n_bytes);
    arena->take(m40::placed_cache_bytes(n_bytes));
    *cache = created.get();
    caches.push_back(std::move(created));
  });
}

extern "C" m40_status m40_cache_copy_kv_blocks(m40_cache* cache, const uint32_t* from, const uint32_t* to, uint32_t n_kv_blocks, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::check_cache(cache);
    m40::check_kv_blocks(cache->desc, from, n_kv_blocks, "from");
    m40::check_kv_blocks(cache->desc, to, n_kv_blocks, "to");
    const uint64_t bytes = cache->kv_block_bytes;
    m40::copy_pieces(*cache, "KV blocks of the KV cache", m40::CopyWay::kWithinDevice, {cache->memory, bytes, to}, {cache->memory, bytes, from}, n_kv_blocks);
  });
}

extern "C" m40_status m40_cache_save_kv_blocks(m40_cache* cache, const uint32_t* kv_blocks, uint32_t n_kv_blocks, void* memory, uint64_t n_bytes,
                                               m40_error* error) {
  return m40::guarded(error, [&] { m40::copy_kv_blocks(cache, m40::CopyWay::kToHost, kv_blocks, n_kv_blocks, memory, n_bytes); });
}

extern "C" m40_status m40_cache_restore_kv_blocks(m40_cache* cache, const uint32_t* kv_blocks, uint32_t n_kv_blocks, const void* memory, uint64_t n_bytes,
                                                  m40_error* error) {
  return m40::guarded(error, [&] { m40::copy_kv_blocks(cache, m40::CopyWay::kToDevice, kv_blocks, n_kv_blocks, memory, n_bytes); });
}

extern "C" m40_status m40_cache_save_slots(m40_cache* cache, const uint32_t* slots, uint32_t n_slots, void* memory, uint64_t n_bytes, m40_error* error) {
  return m40::guarded(error, [&] { m40::copy_slots(cache, m40::CopyWay::kToHost, slots, n_slots, memory, n_bytes); });
}

extern "C" m40_status m40_cache_restore_slots(m40_cache* cache, const uint32_t* slots, uint32_t n_slots, const void* memory, uint64_t n_bytes,
                                              m40_error* error) {
  return m40::guarded(error, [&] { m40::copy_slots(cache, m40::CopyWay::kToDevice, slots, n_slots, memory, n_bytes); });
}

#endif
