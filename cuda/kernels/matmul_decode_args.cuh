// The arguments of a product of few tokens: its weights, the split-K of their columns, the place of the sums.
#ifndef M40_KERNELS_MATMUL_DECODE_ARGS_CUH
#define M40_KERNELS_MATMUL_DECODE_ARGS_CUH

#include "../common/product_splits.h"
#include "packed.cuh"

namespace m40::cuda {

struct DecodeWeight {
  PackedWeight weight;
  const float* bias;    // or nullptr
  const float* factor;  // [1], or nullptr
  uint32_t output_column;
  uint32_t splits;
  uint32_t first_block;    // of the launch's thread blocks
  uint32_t first_counter;  // of its row sets and token blocks, where splits > 1
  uint64_t partials;       // where its partial sums start in scratch, in floats
};

struct MatmulDecodeArgs {
  const float* input;  // n_tokens * input_stride is below 2^32
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  const float* residual;  // or nullptr
  float scale;
  uint32_t n_tokens;
  uint32_t columns;
  uint32_t n_weights;
  DecodeWeight weights[3];
  float* partials;     // [splits][tokens][rows] of each weight
  uint32_t* counters;  // 0 between launches
  // What is done to the input first, by a kernel of that prologue.
  const float* norm_weight;
  float* normed;  // where the norm's output is wanted, too; else nullptr
  uint32_t n_blocks;
  float epsilon;
  uint32_t activation;
};

}  // namespace m40::cuda

#endif
