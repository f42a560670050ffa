// The arguments of elementwise operations.
#ifndef M40_KERNELS_ELEMENTWISE_ARGS_CUH
#define M40_KERNELS_ELEMENTWISE_ARGS_CUH

#include <stdint.h>

namespace m40::cuda {

struct ActivationArgs {
  const float* input;
  uint32_t input_stride;
  const float* up;  // what is multiplied with; nullptr: it is not gated
  uint32_t up_stride;
  float* output;
  uint32_t output_stride;
  uint32_t n_rows;
  uint32_t columns;
  uint32_t activation;  // M40_ACTIVATION_*
  float alpha;          // of the clamped SwiGLU
  float limit;
};

struct AddArgs {
  const float* a;
  uint32_t a_stride;
  const float* b;
  uint32_t b_stride;
  const float* gate;  // a value a row: b is multiplied by its sigmoid; or nullptr
  uint32_t gate_stride;
  float* output;
  uint32_t output_stride;
  uint32_t n_rows;
  uint32_t columns;
};

// The first values of each head, which stand head_stride apart.
struct CopyHeadsArgs {
  const float* input;
  uint32_t input_stride;
  uint32_t input_head_stride;
  float* output;
  uint32_t output_stride;
  uint32_t output_head_stride;
  uint32_t n_rows;
  uint32_t n_heads;
  uint32_t copied;
};

struct SoftcapArgs {
  const float* input;
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  uint32_t n_rows;
  uint32_t columns;
  float scale;
  float softcap;
};

struct ExpertSumArgs {
  const float* input;  // [n_tokens * n_used]
  uint32_t input_stride;
  const float* weights;  // or nullptr: ones
  uint32_t weights_stride;
  const float* residual;  // or nullptr
  uint32_t residual_stride;
  float* output;
  uint32_t output_stride;
  uint32_t n_tokens;
  uint32_t n_used;
  uint32_t columns;
  float scale;
};

}  // namespace m40::cuda

#endif
