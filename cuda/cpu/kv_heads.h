// K and V heads of one layer and one sequence in the cache's KV blocks, in the cache's own type.
#ifndef M40_REFERENCE_KV_HEADS_H
#define M40_REFERENCE_KV_HEADS_H

#include "execution.h"

namespace m40::reference {

class KvHeads {
 public:
  static constexpr uint32_t k = 0;
  static constexpr uint32_t v = 1;

  KvHeads(const Execution& execution, uint32_t layer, uint32_t sequence)
      : kernels_(execution.kernels),
        cache_(*execution.program.cache),
        kv_blocks_(execution.step.kv_blocks_of(sequence, cache_.desc.group[layer])),
        place_(cache_.layers[layer]),
        layer_(layer),
        page_shift_(static_cast<uint32_t>(__builtin_ctz(cache_.desc.kv_block_tokens))) {}

  // The heads of K or V of a KV block of the sequence, one a token: head_bytes() apart.
  const uint8_t* heads(uint32_t value, uint32_t kv_head, uint32_t kv_block) const {
    return cache_.kv_block(kv_blocks_[kv_block]) + heads_offset(value, kv_head);
  }
  uint64_t head_bytes(uint32_t value) const { return value == k ? place_.key_head_bytes : place_.value_head_bytes; }

  void write(uint32_t value, uint32_t kv_head, uint32_t position, const float* head) const;

  // The product of q with a K head.
  float dot(const float* q, const uint8_t* head, float* scratch) const {
    const uint32_t n = cache_.desc.head_dim[layer_];
    switch (cache_.desc.type) {
      case M40_TYPE_F32:
        return kernels_.dot(q, reinterpret_cast<const float*>(head), n);
      case M40_TYPE_F16:
        return kernels_.dot_f16(q, reinterpret_cast<const uint16_t*>(head), n);
      default:
        kernels_.dequantize(cache_.desc.type, head, scratch, n);
        return kernels_.dot(q, scratch, n);
    }
  }

  // sum [n] += weight * the first n values of a V head
  void add_scaled(float* sum, const uint8_t* head, float weight, uint32_t n, float* scratch) const {
    switch (cache_.desc.type) {
      case M40_TYPE_F32:
        return kernels_.add_scaled(sum, reinterpret_cast<const float*>(head), weight, n);
      case M40_TYPE_F16:
        return kernels_.add_scaled_f16(sum, reinterpret_cast<const uint16_t*>(head), weight, n);
      default:
        kernels_.dequantize(cache_.desc.type, head, scratch, n);
        return kernels_.add_scaled(sum, scratch, weight, n);
    }
  }

 private:
  uint64_t heads_offset(uint32_t value, uint32_t kv_head) const {
    return (value == k ? place_.keys : place_.values) + uint64_t{kv_head} * cache_.desc.kv_block_tokens * head_bytes(value);
  }

  const Kernels& kernels_;
  const m40_cache& cache_;
  const uint32_t* kv_blocks_;
  const CacheLayer& place_;
  uint32_t layer_;
  uint32_t page_shift_;
};

}  // namespace m40::reference

#endif
