// Checks what a caller describes before anything is built from it: tensors, caches, limits and the records
// of a program. Every function throws Failure (error.h) with M40_INVALID_ARGUMENT, or M40_UNSUPPORTED for a
// tensor type that no library knows, and a message that says what was got and what was wanted.
#ifndef M40_RUNTIME_VALIDATE_H
#define M40_RUNTIME_VALIDATE_H

#include <stdint.h>

#include "../include/m40.h"
#include "error.h"

namespace m40 {

// Answers what a tensor index stands for; nullptr where there is no such tensor.
class TensorLookup {
 public:
  virtual const m40_tensor_desc* find(uint32_t tensor) const = 0;

 protected:
  ~TensorLookup() = default;
};

// A program as the caller describes it. cache may be nullptr.
struct ProgramDescription {
  const m40_limits* limits;
  const m40_cache_desc* cache;
  const m40_buffer_desc* buffers;
  uint32_t n_buffers;
  const m40_op* ops;
  uint32_t n_ops;
};

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

// With tensors == nullptr, tensor indices are not looked at.
void validate_program(const ProgramDescription& program, const TensorLookup* tensors);

// Positions that a token of the program may have: 0 .. the result - 1. The cache and the tables of learned
// positions limit it.
uint64_t position_limit(const ProgramDescription& program, const TensorLookup& tensors);

// "matmul" for M40_OP_MATMUL; "unknown" for what is not in m40.h.
const char* op_name(uint32_t kind);

}  // namespace m40

#endif
