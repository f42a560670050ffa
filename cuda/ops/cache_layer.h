// A layer of the cache, for a kernel.
#ifndef M40_OPS_CACHE_LAYER_H
#define M40_OPS_CACHE_LAYER_H

#include "../kernels/kv_cache.cuh"
#include "ops.h"

namespace m40::cuda {

inline CacheLayer cache_layer(const CacheView& cache, uint32_t layer) {
  const uint64_t region = cache_region_bytes(cache.type, cache.n_kv_heads, cache.head_dim, cache.page_tokens);
  CacheLayer result = {};
  result.keys = cache.data + layer * 2 * region;
  result.page_bytes = cache.page_bytes;
  result.values = region;
  result.row_bytes = cache_row_bytes(cache.type, cache.head_dim);
  result.scale_row_bytes = cache_scale_row_bytes(cache.type, cache.head_dim);
  result.scales = uint64_t{cache.n_kv_heads} * cache.page_tokens * result.row_bytes;
  result.page_tokens = cache.page_tokens;
  result.page_shift = static_cast<uint32_t>(__builtin_ctz(cache.page_tokens));
  result.head_dim = cache.head_dim;
  return result;
}

}  // namespace m40::cuda

#endif
