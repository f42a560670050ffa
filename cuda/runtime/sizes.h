// Sizes of what a caller describes: tensors, cache pages, buffers. A description that has none is thrown as
// Failure (error.h): M40_INVALID_ARGUMENT, or M40_UNSUPPORTED for a tensor type that no library knows.
#ifndef M40_RUNTIME_SIZES_H
#define M40_RUNTIME_SIZES_H

#include <stdint.h>

#include "../include/m40.h"

namespace m40 {

// Bytes of one row of `columns` weights in the type's blocks. Fails where the type is unknown or the row is
// no whole number of blocks.
uint64_t checked_row_bytes(uint32_t type, uint64_t columns);

// Bytes of the tensor's data as a file holds it.
uint64_t checked_tensor_bytes(const m40_tensor_desc& desc);

// Bytes of K (or V) of one head and one token in the cache.
uint64_t cache_head_bytes(const m40_cache_desc& desc);

// Bytes of one page, K and V of every layer, before any alignment.
uint64_t checked_page_bytes(const m40_cache_desc& desc);

// Rows of a buffer in the largest step.
uint64_t buffer_rows(const m40_buffer_desc& buffer, uint64_t n_tokens, uint64_t n_outputs);

// Bytes of a buffer in the largest step.
uint64_t checked_buffer_bytes(const m40_buffer_desc& buffer, const m40_limits& limits);

}  // namespace m40

#endif
