// Rows of a packed weight as floats. A thread takes 32 columns of a row.
#ifndef M40_KERNELS_EMBED_CUH
#define M40_KERNELS_EMBED_CUH

#include "block.cuh"
#include "formats.cuh"

namespace m40::cuda {

// put(column, value) for the 32 columns of a block of a row.
template <uint32_t kType, class Put>
__device__ __forceinline__ void read_block(const PackedWeight& weight, uint32_t row, uint32_t block, const Put& put) {
  unpack_block<kType>(weight, row, block, [&](int i, float value) { put(block * 32 + i, value); });
}

constexpr uint32_t embed_threads = 64;

struct EmbedKernelArgs {
  float* output;
  uint32_t output_stride;
  PackedWeight table;
  const uint32_t* rows;  // of the table, one an output row
  uint32_t columns;
  float scale;
  bool adds;
};

// output[t] = scale * table[rows[t]], or output[t] += table[rows[t]] where `adds` is set. Grid: blocks of columns by
// embed_threads, output rows.
template <uint32_t kType>
__device__ __forceinline__ void embed(const EmbedKernelArgs& args, BlockIndex index) {
  const uint32_t block = index.x * embed_threads + threadIdx.x;
  if (block >= packed_blocks(args.columns)) return;
  float* to = args.output + size_t{index.y} * args.output_stride;
  read_block<kType>(args.table, args.rows[index.y], block, [&](uint32_t column, float value) {
    if (column >= args.columns) return;
    to[column] = args.adds ? to[column] + value : args.scale == 1 ? value : args.scale * value;
  });
}

template <uint32_t kType>
__global__ void embed_kernel(EmbedKernelArgs args) {
  embed<kType>(args, launched_block());
}

struct ReadRowsArgs {
  PackedWeight weight;
  uint64_t first_row;
  float* values;
};

// values[i] = row first_row + i, counted over all experts. Grid: blocks of columns by embed_threads, rows.
template <uint32_t kType>
__device__ __forceinline__ void read_rows(const ReadRowsArgs& args, BlockIndex index) {
  const PackedWeight& weight = args.weight;
  const uint32_t block = index.x * embed_threads + threadIdx.x;
  if (block >= packed_blocks(weight.columns)) return;
  const uint64_t row = args.first_row + index.y;
  const PackedWeight expert = packed_expert(weight, static_cast<uint32_t>(row / weight.rows));
  float* to = args.values + size_t{index.y} * weight.columns;
  read_block<kType>(expert, static_cast<uint32_t>(row % weight.rows), block, [&](uint32_t column, float value) {
    if (column < weight.columns) to[column] = value;
  });
}

template <uint32_t kType>
__global__ void read_rows_kernel(ReadRowsArgs args) {
  read_rows<kType>(args, launched_block());
}

}  // namespace m40::cuda

#endif
