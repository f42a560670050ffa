// The tensor types that libraries know: the sizes of their blocks, as GGUF has them.
#ifndef M40_RUNTIME_TENSOR_TYPES_H
#define M40_RUNTIME_TENSOR_TYPES_H

#include <stdint.h>

#include "../include/m40.h"
#include "tensor_types.generated.h"

namespace m40 {

struct TensorType {
  uint32_t id;
  const char* name;
  uint32_t block_weights;
  uint32_t block_bytes;
};

constexpr TensorType tensor_types[] = {
#define TYPE(name, block_weights, block_bytes) {M40_TYPE_##name, #name, block_weights, block_bytes},
    M40_TENSOR_TYPES(TYPE)
#undef TYPE
};

// nullptr for a type that is not in the list.
inline const TensorType* find_tensor_type(uint32_t id) {
  for (const TensorType& type : tensor_types) {
    if (type.id == id) return &type;
  }
  return nullptr;
}

}  // namespace m40

#endif
