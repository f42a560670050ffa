// What sequences keep: KV blocks of K and V, slots of states, and their way to the host and back.
#include <string.h>

#include "objects.h"
#include "../program/cache_functions.h"

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

}  // namespace

uint64_t m40::place_layers(const m40_cache_desc& desc, m40_cache* cache) {
  check_cache_desc(desc);
  uint64_t offsets[M40_MAX_CACHE_LAYERS];
  const uint64_t kv_block_bytes = place_cache_layers(desc, offsets, [&](uint32_t layer) {
    const CacheLayer one = layer_of(desc, layer);
    const uint64_t value_bytes = one.values == 0 ? 0 : one.value_head_bytes;
    return uint64_t{desc.n_kv_heads[layer]} * desc.kv_block_tokens * (one.key_head_bytes + value_bytes);
  });
  for (uint32_t i = 0; cache != nullptr && i < desc.n_layers; i++) {
    cache->layers[i] = layer_of(desc, i);
    cache->layers[i].keys = offsets[i];
    cache->layers[i].values += offsets[i];
  }
  return align_up(kv_block_bytes);
}

uint64_t m40::place_slot(const m40_cache_desc& desc, m40_cache* cache) {
  return place_states(desc, cache == nullptr ? nullptr : cache->states, reference::alignment);
}

// KV blocks and slots are multiples of the alignment.
uint64_t m40::placed_cache_bytes(uint64_t n_bytes) { return n_bytes; }

// The system gives zeros.
void m40::open_cache(const m40_cache&, uint64_t) {}

void m40::copy_pieces(const m40_cache&, const char*, CopyWay, const Pieces& to, const Pieces& from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) memmove(to.at(i), from.at(i), to.piece_bytes);
}
