// The tensor types that libraries know: the sizes of their blocks, as GGUF has them.
#ifndef M40_RUNTIME_TENSOR_TYPES_H
#define M40_RUNTIME_TENSOR_TYPES_H

#include <stdint.h>

#include "../include/m40.h"

namespace m40 {

struct TensorType {
  uint32_t id;
  const char* name;
  uint32_t block_weights;
  uint32_t block_bytes;
};

constexpr TensorType tensor_types[] = {
    {M40_TYPE_F32, "F32", 1, 4},                {M40_TYPE_F16, "F16", 1, 2},                {M40_TYPE_Q4_0, "Q4_0", 32, 18},
    {M40_TYPE_Q4_1, "Q4_1", 32, 20},            {M40_TYPE_Q5_0, "Q5_0", 32, 22},            {M40_TYPE_Q5_1, "Q5_1", 32, 24},
    {M40_TYPE_Q8_0, "Q8_0", 32, 34},            {M40_TYPE_Q2_K, "Q2_K", 256, 84},           {M40_TYPE_Q3_K, "Q3_K", 256, 110},
    {M40_TYPE_Q4_K, "Q4_K", 256, 144},          {M40_TYPE_Q5_K, "Q5_K", 256, 176},          {M40_TYPE_Q6_K, "Q6_K", 256, 210},
    {M40_TYPE_IQ2_XXS, "IQ2_XXS", 256, 66},     {M40_TYPE_IQ2_XS, "IQ2_XS", 256, 74},       {M40_TYPE_IQ3_XXS, "IQ3_XXS", 256, 98},
    {M40_TYPE_IQ1_S, "IQ1_S", 256, 50},         {M40_TYPE_IQ4_NL, "IQ4_NL", 32, 18},        {M40_TYPE_IQ3_S, "IQ3_S", 256, 110},
    {M40_TYPE_IQ2_S, "IQ2_S", 256, 82},         {M40_TYPE_IQ4_XS, "IQ4_XS", 256, 136},      {M40_TYPE_IQ1_M, "IQ1_M", 256, 56},
    {M40_TYPE_BF16, "BF16", 1, 2},              {M40_TYPE_TQ1_0, "TQ1_0", 256, 54},         {M40_TYPE_TQ2_0, "TQ2_0", 256, 66},
    {M40_TYPE_MXFP4, "MXFP4", 32, 17},          {M40_TYPE_NVFP4, "NVFP4", 64, 36},
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
