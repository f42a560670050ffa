// What sequences keep: KV blocks of K and V, slots of states, and their way to the host and back.
#include "../ops/ops.h"
#include "../common/checks.h"
#include "device_objects.h"
#include "persistent/resident_seat.h"
#include "../common/sizes.h"

using m40::fail;
using m40::guarded;
using m40::require;
using m40::cuda::check;
using m40::cuda::placed_bytes;

namespace {

// offsets: of the layers, or nullptr.
uint64_t padded_kv_block_bytes(const m40_cache_desc& desc, uint64_t* offsets) {
  m40::check_cache_desc(desc);
  return m40::cuda::align_up(m40::cuda::place_cache(desc, offsets));
}

// offsets: of the states, or nullptr.
uint64_t padded_slot_bytes(const m40_cache_desc& desc, uint64_t* offsets) {
  return m40::place_states(desc, offsets, m40::cuda::alignment);
}

void check_cache(const m40_cache* cache) {
  require(cache, "cache");
  if (!cache->arena->alive()) fail(M40_INVALID_ARGUMENT, "the cache's arena has been destroyed");
}

// Copies n KV blocks or slots of each_bytes in their order and waits. Those that stand side by side go in one copy:
// continues(first, i) says whether number i can be copied with those from first on.
template <class Continues, class CopyRun>
void copy_runs(const m40_cache* cache, const char* what, uint32_t n, uint64_t each_bytes, const Continues& continues, const CopyRun& copy_run) {
  const m40_context* context = cache->arena->context;
  m40::cuda::LaunchedWork work;
  context->use(work);
  for (uint32_t first = 0, i = 1; first < n; i++) {
    if (i < n && continues(first, i)) continue;
    check(copy_run(first, (i - first) * each_bytes, context->stream), what);
    first = i;
  }
  context->watch.wait(context->stream, what);
}

template <class Continues, class CopyRun>
void copy_kv_blocks(const m40_cache* cache, uint32_t n_kv_blocks, const Continues& continues, const CopyRun& copy_run) {
  copy_runs(cache, "KV blocks of the KV cache", n_kv_blocks, cache->kv_block_bytes, continues, copy_run);
}

template <class Continues, class CopyRun>
void copy_slots(const m40_cache* cache, uint32_t n_slots, const Continues& continues, const CopyRun& copy_run) {
  copy_runs(cache, "slots of states", n_slots, cache->slot_bytes, continues, copy_run);
}

bool in_a_row(const uint32_t* kv_blocks, uint32_t first, uint32_t i) { return kv_blocks[i] == kv_blocks[first] + (i - first); }

}  // namespace

extern "C" m40_status m40_cache_bytes(m40_context* context, const m40_cache_desc* desc, uint64_t* n_bytes, uint64_t* kv_block_bytes,
                                      uint64_t* slot_bytes, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(desc, "desc");
    const uint64_t page_size = padded_kv_block_bytes(*desc, nullptr);
    const uint64_t slot_size = padded_slot_bytes(*desc, nullptr);
    const uint64_t all = m40::checked_cache_bytes(*desc, page_size) + m40::checked_slots_bytes(*desc, slot_size);
    if (n_bytes != nullptr) *n_bytes = placed_bytes(all);
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
    created->kv_block_bytes = padded_kv_block_bytes(*desc, created->layer_offsets);
    created->slot_bytes = padded_slot_bytes(*desc, created->state_offsets);
    const uint64_t kv_blocks_bytes = m40::checked_cache_bytes(*desc, created->kv_block_bytes);
    const uint64_t n_bytes = kv_blocks_bytes + m40::checked_slots_bytes(*desc, created->slot_bytes);
    created->memory = arena->next(placed_bytes(n_bytes), "a KV cache");
    created->slots = created->memory + kv_blocks_bytes;
    auto& caches = arena->context->caches;
    caches.reserve(caches.size() + 1);
    m40_context* context = arena->context;
    m40::cuda::LaunchedWork work;
    context->use(work);
    m40::cuda::permit(created->memory, n_bytes);
    check(cudaMemsetAsync(created->memory, 0, n_bytes, context->stream), "a KV cache");
    // Programs of other streams use it, too.
    context->watch.wait(context->stream, "a KV cache");
    caches.push_back(std::move(created));
    arena->take(placed_bytes(n_bytes));
    *cache = caches.back().get();
  });
}

extern "C" m40_status m40_cache_copy_kv_blocks(m40_cache* cache, const uint32_t* from, const uint32_t* to, uint32_t n_kv_blocks,
                                           m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_kv_blocks(cache->desc, from, n_kv_blocks, "from");
    m40::check_kv_blocks(cache->desc, to, n_kv_blocks, "to");
    // Copies are made in their order, so a run must not write what it still has to read.
    const auto apart = [&](uint32_t i) { return from[i] > to[i] ? from[i] - to[i] : to[i] - from[i]; };
    const auto continues = [&](uint32_t first, uint32_t i) {
      return in_a_row(from, first, i) && in_a_row(to, first, i) && i - first < apart(first);
    };
    copy_kv_blocks(cache, n_kv_blocks, continues, [&](uint32_t i, uint64_t run_bytes, cudaStream_t stream) {
      if (from[i] == to[i]) return cudaSuccess;
      return cudaMemcpyAsync(cache->kv_block(to[i]), cache->kv_block(from[i]), run_bytes, cudaMemcpyDeviceToDevice, stream);
    });
  });
}

extern "C" m40_status m40_cache_save_kv_blocks(m40_cache* cache, const uint32_t* kv_blocks, uint32_t n_kv_blocks, void* memory,
                                           uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_kv_blocks(cache->desc, kv_blocks, n_kv_blocks, "pages");
    m40::check_kv_block_memory(cache->kv_block_bytes, memory, n_bytes, n_kv_blocks);
    const auto continues = [&](uint32_t first, uint32_t i) { return in_a_row(kv_blocks, first, i); };
    copy_kv_blocks(cache, n_kv_blocks, continues, [&](uint32_t i, uint64_t run_bytes, cudaStream_t stream) {
      return cudaMemcpyAsync(static_cast<uint8_t*>(memory) + i * cache->kv_block_bytes, cache->kv_block(kv_blocks[i]), run_bytes,
                             cudaMemcpyDeviceToHost, stream);
    });
  });
}

extern "C" m40_status m40_cache_restore_kv_blocks(m40_cache* cache, const uint32_t* kv_blocks, uint32_t n_kv_blocks, const void* memory,
                                              uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_kv_blocks(cache->desc, kv_blocks, n_kv_blocks, "pages");
    m40::check_kv_block_memory(cache->kv_block_bytes, memory, n_bytes, n_kv_blocks);
    const auto continues = [&](uint32_t first, uint32_t i) { return in_a_row(kv_blocks, first, i); };
    copy_kv_blocks(cache, n_kv_blocks, continues, [&](uint32_t i, uint64_t run_bytes, cudaStream_t stream) {
      return cudaMemcpyAsync(cache->kv_block(kv_blocks[i]), static_cast<const uint8_t*>(memory) + i * cache->kv_block_bytes, run_bytes,
                             cudaMemcpyHostToDevice, stream);
    });
  });
}

extern "C" m40_status m40_cache_save_slots(m40_cache* cache, const uint32_t* slots, uint32_t n_slots, void* memory, uint64_t n_bytes,
                                           m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_slots(cache->desc, slots, n_slots, cache->slot_bytes, memory, n_bytes);
    const auto continues = [&](uint32_t first, uint32_t i) { return in_a_row(slots, first, i); };
    copy_slots(cache, n_slots, continues, [&](uint32_t i, uint64_t run_bytes, cudaStream_t stream) {
      return cudaMemcpyAsync(static_cast<uint8_t*>(memory) + i * cache->slot_bytes, cache->slot(slots[i]), run_bytes,
                             cudaMemcpyDeviceToHost, stream);
    });
  });
}

extern "C" m40_status m40_cache_restore_slots(m40_cache* cache, const uint32_t* slots, uint32_t n_slots, const void* memory,
                                              uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    check_cache(cache);
    m40::check_slots(cache->desc, slots, n_slots, cache->slot_bytes, memory, n_bytes);
    const auto continues = [&](uint32_t first, uint32_t i) { return in_a_row(slots, first, i); };
    copy_slots(cache, n_slots, continues, [&](uint32_t i, uint64_t run_bytes, cudaStream_t stream) {
      return cudaMemcpyAsync(cache->slot(slots[i]), static_cast<const uint8_t*>(memory) + i * cache->slot_bytes, run_bytes,
                             cudaMemcpyHostToDevice, stream);
    });
  });
}
