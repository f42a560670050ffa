// Checks a program as a caller describes it: limits, buffers and records. What is wrong is thrown as Failure
// (error.h) with a message that says what was got and what was wanted.
#ifndef M40_RUNTIME_VALIDATE_H
#define M40_RUNTIME_VALIDATE_H

#include <stdint.h>

#include "../include/m40.h"
#include "../common/error.h"
#include "../common/sizes.h"

namespace m40 {

// Returns the tensor of an index; nullptr where there is no such tensor.
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

// With tensors == nullptr, it ignores tensor indices.
void validate_program(const ProgramDescription& program, const TensorLookup* tensors);

// Positions that a token of the program may have: 0 .. the result - 1. The cache and the tables of learned
// positions limit it.
uint64_t position_limit(const ProgramDescription& program, const TensorLookup& tensors);

}  // namespace m40

#endif
