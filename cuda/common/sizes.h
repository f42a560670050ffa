// Sizes of what a caller describes: tensors, cache KV blocks, buffers. A description that has none is thrown as
// Failure (error.h): M40_INVALID_ARGUMENT, or M40_UNSUPPORTED for a tensor type that no library knows.
#ifndef M40_RUNTIME_SIZES_H
#define M40_RUNTIME_SIZES_H

#include <stdint.h>

#include "../include/m40.h"

namespace m40 {

// Bytes of one row of `columns` weights in the type's blocks. Fails where the type is unknown or the row is
// no whole number of blocks.
uint64_t checked_row_bytes(uint32_t type, uint64_t columns);

// Fails for a KV block of more bytes than any device has.
void check_page_size(uint64_t n_bytes);

// Bytes of the tensor's data as a file holds it.
uint64_t checked_tensor_bytes(const m40_tensor_desc& desc);

// Checks all of a cache's description but how many bytes it takes.
void check_cache_desc(const m40_cache_desc& desc);

// Places the layers of each group one after the other in the group's KV blocks. layer_bytes(layer): of K and V of one
// KV block. offsets: [n_layers], where each layer starts, or nullptr. The result is the bytes of a KV block: of the
// largest group. Fails where that is more than any device has.
template <class LayerBytes>
uint64_t place_cache_layers(const m40_cache_desc& desc, uint64_t* offsets, const LayerBytes& layer_bytes) {
  uint64_t ends[M40_MAX_CACHE_GROUPS] = {};
  uint64_t kv_block_bytes = 0;
  for (uint32_t layer = 0; layer < desc.n_layers; layer++) {
    uint64_t& end = ends[desc.group[layer]];
    if (offsets != nullptr) offsets[layer] = end;
    end += layer_bytes(layer);
    check_page_size(end);
    if (end > kv_block_bytes) kv_block_bytes = end;
  }
  return kv_block_bytes;
}

// Places the states one after the other in a slot, each from a multiple of `alignment` bytes on. offsets: [n_states],
// or nullptr. The result is the bytes of a slot, a multiple of it.
uint64_t place_states(const m40_cache_desc& desc, uint64_t* offsets, uint64_t alignment);

// Rows of a buffer in the largest step.
uint64_t buffer_rows(const m40_buffer_desc& buffer, uint64_t n_tokens, uint64_t n_outputs);

// Bytes of a buffer in the largest step.
uint64_t checked_buffer_bytes(const m40_buffer_desc& buffer, const m40_limits& limits);

}  // namespace m40

#endif
