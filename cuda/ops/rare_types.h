// Which tensor types have fewer kernels, and kernels that others have not.
#ifndef M40_OPS_RARE_TYPES_H
#define M40_OPS_RARE_TYPES_H

#include <stdint.h>

#include "../include/m40.h"

namespace m40::cuda {

// Types of few models, or in a model of few weights: each kernel takes time to compile, so they have fewer variants,
// and none with a prologue.
constexpr bool is_rare(uint32_t type) {
  switch (type) {
    case M40_TYPE_IQ1_S: case M40_TYPE_IQ1_M: case M40_TYPE_IQ2_XXS: case M40_TYPE_IQ2_XS: case M40_TYPE_IQ2_S: case M40_TYPE_IQ3_XXS:
    case M40_TYPE_IQ3_S: case M40_TYPE_TQ1_0: case M40_TYPE_TQ2_0: case M40_TYPE_MXFP4: case M40_TYPE_NVFP4: return true;
    default: return false;
  }
}

constexpr bool is_float(uint32_t type) { return type == M40_TYPE_F32 || type == M40_TYPE_F16 || type == M40_TYPE_BF16; }

// Types with a kernel of 16 tokens, which others have no registers for.
constexpr bool multiplies_sixteen(uint32_t type) {
  return !is_rare(type) && !is_float(type) && type != M40_TYPE_Q3_K && type != M40_TYPE_IQ4_NL && type != M40_TYPE_IQ4_XS;
}

// Types with a kernel of decoded rows for what whole tiles leave of a prompt's rows.
constexpr bool multiplies_rests(uint32_t type) {
  switch (type) {
    case M40_TYPE_IQ1_S: case M40_TYPE_IQ1_M: case M40_TYPE_IQ2_XXS: case M40_TYPE_IQ2_XS: case M40_TYPE_IQ2_S: case M40_TYPE_TQ1_0: case M40_TYPE_TQ2_0:
      return false;
    default: return true;
  }
}

}  // namespace m40::cuda

#endif
