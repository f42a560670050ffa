// The vector code of the reference library: weights in GGUF's block layouts, dot products and matrix
// products over them. One source, compiled once an instruction set; which one runs is chosen at run time.
#ifndef M40_REFERENCE_KERNELS_H
#define M40_REFERENCE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include <string>

#include "../include/m40.h"

namespace m40::reference {

// ---- packed arithmetic (M40_ARITHMETIC_PACKED) --------------------------------------------------------

constexpr size_t kPackedRun = 16;  // columns that are rounded together

// What there is of a run, beside its integers: what they are in units of, the sum of them, and unit * sum.
struct PackedRun {
  float unit, part;
  int32_t sum;
};

// A row's 16-bit integers, then its runs; a multiple of 64. Whole runs alone are packed.
constexpr size_t packed_row_bytes(size_t columns) {
  return (columns * sizeof(int16_t) + columns / kPackedRun * sizeof(PackedRun) + 63) / 64 * 64;
}

// What the absolute values of a run's integers sum up to, about, for weights of a type; 0: packed arithmetic leaves it
// as it is. Twice eight times that many fit what two tokens share on a GPU, one float's 24 bits.
constexpr float packed_room(uint32_t type) {
  switch (type) {
    case M40_TYPE_Q4_0:
    case M40_TYPE_Q4_1:
    case M40_TYPE_Q2_K:
    case M40_TYPE_Q3_K:
    case M40_TYPE_Q4_K:
    case M40_TYPE_TQ1_0:
    case M40_TYPE_TQ2_0: return 352.875f;
    case M40_TYPE_MXFP4: return 232.875f;
    default: return 0;
  }
}

// The columns of a row are cut into splits * parts chains, whose sums are added a split at a time.
struct PackedChains {
  uint32_t splits, parts;
};

// The functions of one instruction set. None of them allocates, throws or keeps state.
//
// The bits of a result depend on the values that go into it and on their count alone: never on alignment, and
// for matmul never on how many rows or tokens are computed in the same call.
struct Kernels {
  const char* name;  // "avx512", "avx2", "avx" or "baseline"

  // The n values of blocks of a tensor type, exactly; n is a multiple of the type's block size. Nothing happens
  // for a type that is not in runtime/tensor_types.h, here and in matmul.
  void (*dequantize)(uint32_t type, const void* blocks, float* values, size_t n);

  // output[t * output_stride + r] = sum over c of weight[r][c] * input[t * input_stride + c]
  // for r in [0, n_rows), t in [0, n_tokens). Rows of the weight are row_bytes apart; columns is a multiple of
  // the type's block size. scratch: scratch_floats(columns) floats, 64-byte aligned, of the calling thread.
  // To give a thread a part of the rows, move weight and output to its first row.
  void (*matmul)(uint32_t type, const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows, const float* input,
                 size_t input_stride, size_t n_tokens, float* output, size_t output_stride, float* scratch);

  // The integers of `columns` values, whole runs, into their places.
  void (*pack)(const float* input, size_t columns, float room, int16_t* integers, PackedRun* runs);
  // As matmul, of a type with a packed_room(), with rows of packed_row_bytes(columns) as its input.
  void (*packed_matmul)(uint32_t type, const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows, const uint8_t* input,
                        size_t n_tokens, PackedChains chains, float* output, size_t output_stride, float* scratch);

  float (*dot)(const float* a, const float* b, size_t n);
  float (*dot_f16)(const float* a, const uint16_t* b, size_t n);
  // sum += scale * values
  void (*add_scaled)(float* sum, const float* values, float scale, size_t n);
  void (*add_scaled_f16)(float* sum, const uint16_t* values, float scale, size_t n);
  // Rounds to nearest, ties to even.
  void (*to_f16)(const float* values, uint16_t* halves, size_t n);

  // One token of the gated delta rule (m40_op_delta_rule) over a head's state [n_rows, n_columns], q and k of one
  // length 1: state *= decay; state += k (beta * (v - state^T k))^T; output = scale * state^T q.
  void (*delta_step)(float* state, size_t n_rows, size_t n_columns, const float* q, const float* k, const float* v, float decay,
                     float beta, float scale, float* output);
  // One token of a head's state space (m40_op_selective_scan). The state is [n_rows, n_columns], a row for each value
  // of B and C: state = decay * state + b (step_size * x)^T; output = state^T c + skip * x.
  void (*scan_step)(float* state, size_t n_rows, size_t n_columns, const float* x, const float* b, const float* c, float decay,
                    float step_size, float skip, float* output);
};

// Floats of scratch memory that one thread needs for matmul over so many columns: the same for any number.
constexpr size_t kScratchFloats = 24576;
size_t scratch_floats(size_t columns);

// The functions of the instruction set of that name, "" for the best that this processor has; nullptr where
// the processor or the build lacks it.
const Kernels* kernels_by_name(const char* name);
// The names of those that this build has, whatever the processor: "avx2, baseline".
std::string kernels_in_build();

float half_to_float(uint16_t half);
uint16_t float_to_half(float value);  // to nearest, ties to even
float bfloat16_to_float(uint16_t value);

}  // namespace m40::reference

#endif
