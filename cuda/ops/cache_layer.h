// A layer of the cache, and a step's KV blocks of its group, for a kernel.
#ifndef M40_OPS_CACHE_LAYER_H
#define M40_OPS_CACHE_LAYER_H

#include "../kernels/kv_cache.cuh"
#include "ops.h"

namespace m40::cuda {

inline CacheLayer cache_layer(const CacheView& cache, uint32_t layer) {
  const m40_cache_desc& desc = *cache.desc;
  const uint32_t head_dim = desc.head_dim[layer];
  CacheLayer result = {};
  result.keys = cache.data + cache.layer_offsets[layer];
  result.kv_block_bytes = cache.kv_block_bytes;
  result.row_bytes = cache_row_bytes(desc.type, head_dim);
  result.scale_row_bytes = cache_scale_row_bytes(desc.type, head_dim);
  const uint64_t rows = uint64_t{desc.n_kv_heads[layer]} * desc.kv_block_tokens;
  result.scales = rows * result.row_bytes;
  result.head_dim = head_dim;
  if (desc.value_dim[layer] == 0) {
    result.value_dim = head_dim;
    result.value_row_bytes = result.row_bytes;
    result.value_scale_row_bytes = result.scale_row_bytes;
  } else {
    result.values = cache_region_bytes(desc.type, desc.n_kv_heads[layer], head_dim, desc.kv_block_tokens);
    result.value_dim = desc.value_dim[layer];
    result.value_row_bytes = cache_row_bytes(desc.type, result.value_dim);
    result.value_scale_row_bytes = cache_scale_row_bytes(desc.type, result.value_dim);
  }
  result.value_scales = rows * result.value_row_bytes;
  result.kv_block_tokens = desc.kv_block_tokens;
  result.page_shift = static_cast<uint32_t>(__builtin_ctz(desc.kv_block_tokens));
  return result;
}

// The KV blocks of a layer's group: sequence s has its own from s * stride on.
struct LayerKvBlocks {
  const uint32_t* table;
  uint32_t stride;
};

inline LayerKvBlocks layer_kv_blocks(const CacheView& cache, const StepView& step, uint32_t layer) {
  return {step.kv_block_table + uint64_t{cache.desc->group[layer]} * step.kv_block_stride, step.n_groups * step.kv_block_stride};
}

}  // namespace m40::cuda

#endif
