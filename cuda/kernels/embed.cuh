// Rows of a packed weight as floats. A thread takes 32 columns of a row.
#ifndef M40_KERNELS_EMBED_CUH
#define M40_KERNELS_EMBED_CUH

#include "formats.cuh"

namespace m40::cuda {

// put(column, value) for the 32 columns of a block of a row.
template <uint32_t kType, class Put>
__device__ __forceinline__ void read_block(const PackedWeight& weight, uint32_t row, uint32_t block, const Put& put) {
  using F = Format<kType>;
  const uint32_t one = in_register(one_bits);
  const typename F::Cursor cursor(weight, row, block);
  const typename F::Super super = F::open(cursor.super(0), block % 8);
  const typename F::Factors factors = F::factors(super, cursor.scale(0));
#pragma unroll
  for (int load = 0; load < F::kLoads; load++) {
    const typename F::Quants quants = cursor.quants(load, 0);
#pragma unroll
    for (int i = 0; i < F::kColumns; i++) put(block * 32 + load * F::kColumns + i, F::weight(quants, load, i, factors, one));
  }
}

// output[t] = scale * table[rows[t]], or output[t] += table[rows[t]] where `adds` is set.
template <uint32_t kType>
__global__ void embed(float* output, uint32_t output_stride, PackedWeight table, const uint32_t* rows, uint32_t columns, float scale,
                      bool adds) {
  const uint32_t block = blockIdx.x * blockDim.x + threadIdx.x;
  if (block >= packed_blocks(columns)) return;
  float* to = output + size_t{blockIdx.y} * output_stride;
  read_block<kType>(table, rows[blockIdx.y], block, [&](uint32_t column, float value) {
    if (column >= columns) return;
    to[column] = adds ? to[column] + value : scale == 1 ? value : scale * value;
  });
}

// values[i] = row first_row + i, counted over all experts.
template <uint32_t kType>
__global__ void read_rows(PackedWeight weight, uint64_t first_row, float* values) {
  const uint32_t block = blockIdx.x * blockDim.x + threadIdx.x;
  if (block >= packed_blocks(weight.columns)) return;
  const uint64_t row = first_row + blockIdx.y;
  const PackedWeight expert = packed_expert(weight, static_cast<uint32_t>(row / weight.rows));
  float* to = values + size_t{blockIdx.y} * weight.columns;
  read_block<kType>(expert, static_cast<uint32_t>(row % weight.rows), block, [&](uint32_t column, float value) {
    if (column < weight.columns) to[column] = value;
  });
}

}  // namespace m40::cuda

#endif
