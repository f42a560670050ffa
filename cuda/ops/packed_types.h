// Which tensor types have products with packed pairs of activations.
#ifndef M40_OPS_PACKED_TYPES_H
#define M40_OPS_PACKED_TYPES_H

#include "matmul_plan.h"

namespace m40::cuda {

// Types whose weights are integers of at most 4 bits times a scale.
constexpr bool has_packed_pairs(uint32_t type) {
  switch (type) {
    case M40_TYPE_Q4_0: case M40_TYPE_Q4_1: case M40_TYPE_Q4_K: case M40_TYPE_Q3_K: case M40_TYPE_Q2_K: case M40_TYPE_TQ1_0: case M40_TYPE_TQ2_0: case M40_TYPE_MXFP4:
      return true;
    default: return false;
  }
}

// Calls f with the type as a template argument; types that lie alike are one.
template <class Function>
void for_packed_type(uint32_t type, const Function& f) {
  if (type == M40_TYPE_TQ1_0) type = M40_TYPE_TQ2_0;
  for_type(type, [&](auto t) {
    if constexpr (has_packed_pairs(decltype(t)::value) && decltype(t)::value != M40_TYPE_TQ1_0) f(t);
  });
}

}  // namespace m40::cuda

#endif
