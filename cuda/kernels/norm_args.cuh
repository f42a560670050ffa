// The arguments of a norm.
#ifndef M40_KERNELS_NORM_ARGS_CUH
#define M40_KERNELS_NORM_ARGS_CUH

#include <stdint.h>

namespace m40::cuda {

// The gate of a norm: rows of its own. The input, or the output, is multiplied by their silu.
enum class NormGate { kNone, kInput, kOutput };

// The input, the residual and the output may be one. They point to their first group.
struct NormArgs {
  const float* input;
  uint32_t input_stride;
  const float* residual;  // or nullptr
  uint32_t residual_stride;
  float* output;
  uint32_t output_stride;
  const float* weight;  // nullptr: ones
  const float* bias;    // or nullptr
  const float* factor;  // [1], or nullptr
  const float* gate;    // nullptr where there is none
  uint32_t gate_stride;
  NormGate gates;
  uint32_t n_rows;
  uint32_t n_groups;       // of a row, one after the other
  uint32_t group_weights;  // weights and biases from a group's to the next one's: columns, or 0
  uint32_t columns;        // of a group
  uint32_t norm;  // M40_NORM_*
  float epsilon;
};

}  // namespace m40::cuda

#endif
