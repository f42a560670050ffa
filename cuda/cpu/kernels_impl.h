// The kernels, for the instruction set that the including file is compiled for. The including file defines
// M40_KERNELS, the name of the table, and M40_KERNELS_NAME, the instruction set's.
//
// A matrix product's output is always summed in one order, whichever way is taken to it: kLanes partial sums, each
// over the columns of its lane from first to last, then sum(). Hence the flag -ffp-contract=off: where a product
// and a sum are rounded as one is said in the source, by multiply_add, and not left to the optimiser.
#include "block_formats.h"
#include "fp4_formats.h"
#include "iq_formats.h"
#include "kernels.h"
#include "packed_products.h"
#include "state_kernels.h"
#include "ternary_formats.h"

namespace m40::reference {
namespace {

// ---- unpacking --------------------------------------------------------------------------------------

// Groups of 32 weights that are unrolled: all of a block, so that the compiler knows where each group lies in it. Where
// integers have four lanes that is too much code, which takes long to compile and runs no faster: two, so that it knows
// low from high halves.
#if defined(__AVX2__)
constexpr bool kWholeBlocks = true;
#else
constexpr bool kWholeBlocks = false;
#endif
template <class Format>
constexpr int kSteps = Format::kWeights / 32 < 2 || kWholeBlocks ? Format::kWeights / 32 : 2;

template <class Format>
void unpack(const uint8_t* blocks, size_t n_blocks, float* values) {
  M40_NO_UNROLL for (size_t b = 0; b < n_blocks; b++) {
    const Format block(blocks + b * Format::kBytes);
    M40_NO_UNROLL for (int group = 0; group < Format::kWeights / 32; group += kSteps<Format>) {
      M40_UNROLL for (int step = 0; step < kSteps<Format>; step++) {
        M40_UNROLL for (int i = 0; i < 32 / kLanes; i++) {
          store(values + 32 * step + kLanes * i, block.weights(group + step, i));
        }
      }
      values += 32 * kSteps<Format>;
    }
  }
}

// A format's facts and its unpacking, for code that is the same for all.
struct Unpacker {
  size_t block_weights, block_bytes;
  void (*unpack)(const uint8_t* blocks, size_t n_blocks, float* values);
};

// Columns that no format's block goes beyond: rows of F32, F16 and BF16 may end in fewer, which are padded with zeros.
constexpr size_t kTail = 32;

template <class Format>
void dequantize_as(const void* blocks, float* values, size_t n) {
  const uint8_t* const bytes = static_cast<const uint8_t*>(blocks);
  const size_t n_blocks = n / Format::kWeights, tail = n % Format::kWeights;
  unpack<Format>(bytes, n_blocks, values);
  if (tail != 0) {
    uint8_t padded[Format::kBytes] = {};
    float last[Format::kWeights];
    memcpy(padded, bytes + n_blocks * Format::kBytes, tail * Format::kBytes / Format::kWeights);
    unpack<Format>(padded, 1, last);
    memcpy(values + n_blocks * Format::kWeights, last, tail * sizeof(float));
  }
}

// ---- one token: weights go from memory through registers into the sums --------------------------------

// sums[r] += blocks of row r times the input. Several rows at once, because one sum alone would wait for itself.
template <class Format>
M40_INLINE void add_blocks_of_4_rows(const uint8_t* const rows[4], size_t n_blocks, const float* input, size_t ahead,
                                     Floats sums[4]) {
  Floats a = sums[0], b = sums[1], c = sums[2], d = sums[3];
  M40_NO_UNROLL for (size_t offset = 0; offset < n_blocks * Format::kBytes; offset += Format::kBytes) {
    M40_UNROLL for (int line = 0; line < Format::kBytes; line += 64) {
      M40_UNROLL for (int r = 0; r < 4; r++) __builtin_prefetch(rows[r] + offset + line + ahead);
    }
    const Format block_a(rows[0] + offset), block_b(rows[1] + offset), block_c(rows[2] + offset), block_d(rows[3] + offset);
    M40_NO_UNROLL for (int group = 0; group < Format::kWeights / 32; group += kSteps<Format>) {
      M40_UNROLL for (int step = 0; step < kSteps<Format>; step++) {
        M40_UNROLL for (int i = 0; i < 32 / kLanes; i++) {
          const Floats x = load(input + 32 * step + kLanes * i);
          a = multiply_add(block_a.weights(group + step, i), x, a);
          b = multiply_add(block_b.weights(group + step, i), x, b);
          c = multiply_add(block_c.weights(group + step, i), x, c);
          d = multiply_add(block_d.weights(group + step, i), x, d);
        }
      }
      input += 32 * kSteps<Format>;
    }
  }
  sums[0] = a, sums[1] = b, sums[2] = c, sums[3] = d;
}

template <class Format>
void multiply_vector(const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows, const float* input, float* output) {
  const size_t n_blocks = columns / Format::kWeights, tail = columns % Format::kWeights;
  const float* const input_tail = input + n_blocks * Format::kWeights;
  M40_NO_UNROLL for (size_t first = 0; first < n_rows; first += 4) {
    const size_t n = n_rows - first < 4 ? n_rows - first : 4;
    const uint8_t* rows[4];
    for (size_t r = 0; r < 4; r++) rows[r] = weight + (first + (r < n ? r : 0)) * row_bytes;
    Floats sums[4] = {};
    add_blocks_of_4_rows<Format>(rows, n_blocks, input, 4 * row_bytes, sums);
    if (tail != 0) {
      float last_input[Format::kWeights] = {};
      uint8_t last_weights[4][Format::kBytes] = {};
      memcpy(last_input, input_tail, tail * sizeof(float));
      for (size_t r = 0; r < 4; r++) {
        memcpy(last_weights[r], rows[r] + n_blocks * Format::kBytes, tail * Format::kBytes / Format::kWeights);
        rows[r] = last_weights[r];
      }
      add_blocks_of_4_rows<Format>(rows, 1, last_input, 0, sums);
    }
    for (size_t r = 0; r < n; r++) output[first + r] = sum(sums[r]);
  }
}

// ---- several tokens: a tile of weights is unpacked once for all of them --------------------------------

// Sums that fit the registers: kTileRows rows times kTileTokens tokens.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr size_t kGroupRows = 4, kGroupTokens = 6;
#elif defined(__FMA__)
constexpr size_t kGroupRows = 3, kGroupTokens = 4;
#else
constexpr size_t kGroupRows = 2, kGroupTokens = 4;
#endif
// A tile of unpacked weights and the tokens of a group over its columns fit the first-level cache.
constexpr size_t kTileRows = 12, kTileColumns = 256;
// The tokens that share one unpacking.
constexpr size_t kBlockTokens = 96;

constexpr size_t kTileFloats = kTileRows * kTileColumns;
constexpr size_t kSumFloats = kTileRows * kBlockTokens * 16;
constexpr size_t kTailFloats = kBlockTokens * kTail;

// sums[r][t] += weights of row r times the input of token t.
template <int kRows, int kTokens>
void multiply_group(const float* weights, const float* input, size_t input_stride, size_t columns, float* sums) {
  Floats acc[kRows][kTokens];
  M40_UNROLL for (int r = 0; r < kRows; r++) {
    M40_UNROLL for (int t = 0; t < kTokens; t++) acc[r][t] = load(sums + (r * kBlockTokens + t) * kLanes);
  }
  M40_NO_UNROLL for (size_t c = 0; c < columns; c += kLanes) {
    Floats w[kRows];
    M40_UNROLL for (int r = 0; r < kRows; r++) w[r] = load(weights + r * kTileColumns + c);
    M40_UNROLL for (int t = 0; t < kTokens; t++) {
      const Floats x = load(input + t * input_stride + c);
      M40_UNROLL for (int r = 0; r < kRows; r++) acc[r][t] = multiply_add(w[r], x, acc[r][t]);
    }
  }
  M40_UNROLL for (int r = 0; r < kRows; r++) {
    M40_UNROLL for (int t = 0; t < kTokens; t++) store(sums + (r * kBlockTokens + t) * kLanes, acc[r][t]);
  }
}

template <int kTokens>
void multiply_rows(const float* weights, size_t n_rows, const float* input, size_t input_stride, size_t columns, float* sums) {
  size_t r = 0;
  for (; r + kGroupRows <= n_rows; r += kGroupRows) {
    multiply_group<kGroupRows, kTokens>(weights + r * kTileColumns, input, input_stride, columns, sums + r * kBlockTokens * kLanes);
  }
  for (; r < n_rows; r++) {
    multiply_group<1, kTokens>(weights + r * kTileColumns, input, input_stride, columns, sums + r * kBlockTokens * kLanes);
  }
}

void multiply_tile(const float* weights, size_t n_rows, const float* input, size_t input_stride, size_t n_tokens, size_t columns,
                   float* sums) {
  size_t t = 0;
  for (; t + kGroupTokens <= n_tokens; t += kGroupTokens) {
    multiply_rows<kGroupTokens>(weights, n_rows, input + t * input_stride, input_stride, columns, sums + t * kLanes);
  }
  input += t * input_stride;
  sums += t * kLanes;
  switch (n_tokens - t) {
    case 1: return multiply_rows<1>(weights, n_rows, input, input_stride, columns, sums);
    case 2: return multiply_rows<2>(weights, n_rows, input, input_stride, columns, sums);
    case 3: return multiply_rows<3>(weights, n_rows, input, input_stride, columns, sums);
    case 4: return multiply_rows<4>(weights, n_rows, input, input_stride, columns, sums);
    case 5: return multiply_rows<5>(weights, n_rows, input, input_stride, columns, sums);
  }
}

void multiply_matrix(const Unpacker& format, const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows,
                     const float* input, size_t input_stride, size_t n_tokens, float* output, size_t output_stride,
                     float* scratch) {
  float* const tile = scratch;
  float* const sums = tile + kTileFloats;
  float* const tails = sums + kSumFloats;
  const size_t tail = columns % kTail, whole = columns - tail;
  for (size_t first_token = 0; first_token < n_tokens; first_token += kBlockTokens) {
    const size_t tokens = smaller(kBlockTokens, n_tokens - first_token);
    const float* const x = input + first_token * input_stride;
    if (tail != 0) {
      memset(tails, 0, kTailFloats * sizeof(float));
      for (size_t t = 0; t < tokens; t++) memcpy(tails + t * kTail, x + t * input_stride + whole, tail * sizeof(float));
    }
    for (size_t first_row = 0; first_row < n_rows; first_row += kTileRows) {
      const size_t rows = smaller(kTileRows, n_rows - first_row);
      const uint8_t* const w = weight + first_row * row_bytes;
      memset(sums, 0, kTileRows * kBlockTokens * kLanes * sizeof(float));
      for (size_t c = 0; c < whole; c += kTileColumns) {
        const size_t n = smaller(kTileColumns, whole - c);
        for (size_t r = 0; r < rows; r++) {
          format.unpack(w + r * row_bytes + c / format.block_weights * format.block_bytes, n / format.block_weights,
                        tile + r * kTileColumns);
        }
        multiply_tile(tile, rows, x + c, input_stride, tokens, n, sums);
      }
      if (tail != 0) {
        const size_t bytes_before = whole / format.block_weights * format.block_bytes;
        for (size_t r = 0; r < rows; r++) {
          uint8_t padded[kTail * sizeof(float)] = {};
          memcpy(padded, w + r * row_bytes + bytes_before, tail * format.block_bytes / format.block_weights);
          format.unpack(padded, 1, tile + r * kTileColumns);
        }
        multiply_tile(tile, rows, tails, kTail, tokens, kTail, sums);
      }
      for (size_t t = 0; t < tokens; t++) {
        for (size_t r = 0; r < rows; r++) {
          output[(first_token + t) * output_stride + first_row + r] = sum(load(sums + (r * kBlockTokens + t) * kLanes));
        }
      }
    }
  }
}

template <class Format>
void matmul_as(const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows, const float* input, size_t input_stride,
               size_t n_tokens, float* output, size_t output_stride, float* scratch) {
  if (n_tokens == 1) return multiply_vector<Format>(weight, row_bytes, columns, n_rows, input, output);
  const Unpacker format = {Format::kWeights, Format::kBytes, unpack<Format>};
  multiply_matrix(format, weight, row_bytes, columns, n_rows, input, input_stride, n_tokens, output, output_stride, scratch);
}

// ---- by type ----------------------------------------------------------------------------------------

// GGUF's ids.
#define M40_FORMATS(format) \
  format(0, F32) format(1, F16) format(2, Q4_0) format(3, Q4_1) format(6, Q5_0) format(7, Q5_1) format(8, Q8_0) \
  format(10, Q2_K) format(11, Q3_K) format(12, Q4_K) format(13, Q5_K) format(14, Q6_K) format(16, IQ2_XXS) \
  format(17, IQ2_XS) format(18, IQ3_XXS) format(19, IQ1_S) format(20, IQ4_NL) format(21, IQ3_S) format(22, IQ2_S) \
  format(23, IQ4_XS) format(29, IQ1_M) format(30, BF16) format(34, TQ1_0) format(35, TQ2_0) format(39, MXFP4) \
  format(40, NVFP4)

void dequantize(uint32_t type, const void* blocks, float* values, size_t n) {
  switch (type) {
#define M40_CASE(id, Format) \
  case id: return dequantize_as<Format>(blocks, values, n);
    M40_FORMATS(M40_CASE)
#undef M40_CASE
  }
}

void matmul(uint32_t type, const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows, const float* input,
            size_t input_stride, size_t n_tokens, float* output, size_t output_stride, float* scratch) {
  switch (type) {
#define M40_CASE(id, Format)                                                                                              \
  case id:                                                                                                                \
    return matmul_as<Format>(weight, row_bytes, columns, n_rows, input, input_stride, n_tokens, output, output_stride, scratch);
    M40_FORMATS(M40_CASE)
#undef M40_CASE
  }
}

// ---- vectors ----------------------------------------------------------------------------------------

M40_INLINE Floats load_values(const float* values) { return load(values); }
M40_INLINE Floats load_values(const uint16_t* values) { return load_f16(reinterpret_cast<const uint8_t*>(values)); }
M40_INLINE float value(float v) { return v; }
M40_INLINE float value(uint16_t v) { return half(reinterpret_cast<const uint8_t*>(&v)); }

// Four sums of kLanes each take turns; what is left over is added one by one.
template <class Element>
float dot_of(const float* a, const Element* b, size_t n) {
  Floats sums[4] = {};
  size_t i = 0;
  M40_NO_UNROLL for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    M40_UNROLL for (int k = 0; k < 4; k++) {
      sums[k] = multiply_add(load(a + i + kLanes * k), load_values(b + i + kLanes * k), sums[k]);
    }
  }
  M40_NO_UNROLL for (; i + kLanes <= n; i += kLanes) sums[0] = multiply_add(load(a + i), load_values(b + i), sums[0]);
  float total = sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  M40_NO_UNROLL for (; i < n; i++) total = multiply_add(a[i], value(b[i]), total);
  return total;
}

template <class Element>
void add_scaled_of(float* total, const Element* values, float scale, size_t n) {
  const Floats scales = broadcast(scale);
  size_t i = 0;
  M40_NO_UNROLL for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    M40_UNROLL for (int k = 0; k < 2; k++) {
      float* const at = total + i + kLanes * k;
      store(at, multiply_add(load_values(values + i + kLanes * k), scales, load(at)));
    }
  }
  M40_NO_UNROLL for (; i < n; i++) total[i] = multiply_add(value(values[i]), scale, total[i]);
}

float dot(const float* a, const float* b, size_t n) { return dot_of(a, b, n); }
float dot_f16(const float* a, const uint16_t* b, size_t n) { return dot_of(a, b, n); }
void add_scaled(float* total, const float* values, float scale, size_t n) { add_scaled_of(total, values, scale, n); }
void add_scaled_f16(float* total, const uint16_t* values, float scale, size_t n) { add_scaled_of(total, values, scale, n); }

void to_f16(const float* values, uint16_t* halves, size_t n) {
  size_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) {
    const __m128i eight = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(halves + i), eight);
  }
#endif
  for (; i < n; i++) halves[i] = float_to_half(values[i]);
}

}  // namespace

// Enough for every instruction set: their sums are at most 16 lanes wide.
static_assert(kTileFloats + kSumFloats + kTailFloats <= kScratchFloats, "kernels.cpp reserves too little scratch memory");

extern const Kernels M40_KERNELS;
const Kernels M40_KERNELS = {
    M40_KERNELS_NAME, dequantize, matmul, pack, packed_matmul, dot, dot_f16, add_scaled, add_scaled_f16, to_f16, delta_step, scan_step,
};

}  // namespace m40::reference
