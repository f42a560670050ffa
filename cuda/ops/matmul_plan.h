// What the planning of decode and of prefill share: weights by their type.
#ifndef M40_OPS_MATMUL_PLAN_H
#define M40_OPS_MATMUL_PLAN_H

#include <algorithm>
#include <type_traits>

#include "ops.h"

namespace m40::cuda {

// Calls f with the type as a template argument.
template <class Function>
void for_type(uint32_t type, const Function& f) {
  switch (type) {
#define M40_TYPE(name) case M40_TYPE_##name: return f(std::integral_constant<uint32_t, M40_TYPE_##name>());
    M40_TYPE(F32) M40_TYPE(F16) M40_TYPE(BF16) M40_TYPE(Q4_0) M40_TYPE(Q4_1) M40_TYPE(Q5_0) M40_TYPE(Q5_1) M40_TYPE(Q8_0)
    M40_TYPE(Q2_K) M40_TYPE(Q3_K) M40_TYPE(Q4_K) M40_TYPE(Q5_K) M40_TYPE(Q6_K) M40_TYPE(IQ4_NL) M40_TYPE(IQ4_XS)
    M40_TYPE(IQ1_S) M40_TYPE(IQ1_M) M40_TYPE(IQ2_XXS) M40_TYPE(IQ2_XS) M40_TYPE(IQ2_S) M40_TYPE(IQ3_XXS) M40_TYPE(IQ3_S)
    M40_TYPE(TQ1_0) M40_TYPE(TQ2_0) M40_TYPE(MXFP4) M40_TYPE(NVFP4)
#undef M40_TYPE
    default: return;
  }
}

// Calls f with the indices of the weights of each type.
template <class Function>
void for_each_type(const MatmulArgs& args, const Function& f) {
  bool done[M40_MAX_MATMUL_WEIGHTS] = {};
  for (uint32_t i = 0; i < args.n_weights; i++) {
    if (done[i]) continue;
    uint32_t indices[M40_MAX_MATMUL_WEIGHTS], n = 0;
    for (uint32_t k = i; k < args.n_weights; k++) {
      if (done[k] || args.weights[k].weight.type != args.weights[i].weight.type) continue;
      indices[n++] = k;
      done[k] = true;
    }
    f(args.weights[i].weight.type, indices, n);
  }
}

inline bool is_16_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

// Whether four columns of the input can be loaded at once, wherever a block of 32 starts.
inline bool can_load_four(const MatmulArgs& args) {
  return args.columns % 32 == 0 && args.input_stride % 4 == 0 && is_16_aligned(args.input);
}

// Whether four rows of the output, and of what is added to it, can be loaded and stored at once.
inline bool can_finish_four(const MatmulArgs& args, const uint32_t* indices, uint32_t n) {
  if (args.output_stride % 4 != 0 || !is_16_aligned(args.output) || !is_16_aligned(args.residual)) return false;
  return std::all_of(indices, indices + n, [&](uint32_t i) {
    const MatmulWeight& w = args.weights[i];
    return w.weight.rows % 4 == 0 && w.output_column % 4 == 0 && is_16_aligned(w.bias);
  });
}

}  // namespace m40::cuda

#endif
