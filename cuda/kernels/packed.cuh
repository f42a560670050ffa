// Weights as the kernels read them. An upload repacks GGUF's blocks into up to four planes, each
// [experts][rows / 128][columns / 32][128 rows]: a warp whose lanes are rows reads contiguous memory, and the rows that
// a lane owns beside its first lie at constant distances. Rows are padded to 128, columns to 32 (with zeros). The
// planes hold, for 32 columns ("block") or 256 columns ("super block") of a row:
//
//   type           quants       more quants  scale a block    super block
//   F32 F16 BF16   the values   -            -                -
//   Q4_0 IQ4_NL    16 bytes     -            d                -
//   Q4_1           16 bytes     -            d, m             -
//   Q5_0           16 bytes     4 bytes      d                -
//   Q5_1           16 bytes     4 bytes      d, m             -
//   Q8_0           2 x 16 bytes -            d                -
//   Q2_K           8 bytes      -            two bytes        d, dmin
//   Q3_K           8 bytes      4 bytes      -                16 bytes: d, 8 pairs of scales of 6 bits
//   Q4_K           16 bytes     -            -                16 bytes: d, dmin, 8 pairs of scale and minimum
//   Q5_K           16 bytes     4 bytes      -                16 bytes: the same
//   Q6_K           16 bytes     8 bytes      two bytes        d
//   IQ4_XS         16 bytes     -            -                8 bytes: d, 8 scales of 6 bits
//
// so a weight takes the bytes that it takes in the file (Q3_K: 2% more), and every value is the file's. How the bits of
// quants lie in their words is fields.cuh's; how they become floats, formats.cuh's.
#ifndef M40_KERNELS_PACKED_CUH
#define M40_KERNELS_PACKED_CUH

#include <stddef.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../runtime/device.h"

namespace m40::cuda {

struct PackedWeight {
  uint32_t type, n_experts, rows, columns;
  const void* planes[4];  // quants, more quants, scales, super blocks; nullptr where the type has none
};

constexpr uint32_t packed_tile_rows = 128;
constexpr uint32_t packed_block_columns = 32;
constexpr uint32_t packed_super_columns = 256;

// Bytes of a row in each plane: for a block of 32 columns in planes 0 to 2, for a super block in plane 3.
struct PackedLayout {
  uint32_t bytes[4];
};

// All zeros for a type that is not known.
__host__ __device__ inline PackedLayout packed_layout(uint32_t type) {
  switch (type) {
    case M40_TYPE_F32: return {{128, 0, 0, 0}};
    case M40_TYPE_F16: return {{64, 0, 0, 0}};
    case M40_TYPE_BF16: return {{64, 0, 0, 0}};
    case M40_TYPE_Q4_0: return {{16, 0, 2, 0}};
    case M40_TYPE_Q4_1: return {{16, 0, 4, 0}};
    case M40_TYPE_Q5_0: return {{16, 4, 2, 0}};
    case M40_TYPE_Q5_1: return {{16, 4, 4, 0}};
    case M40_TYPE_Q8_0: return {{32, 0, 2, 0}};
    case M40_TYPE_Q2_K: return {{8, 0, 2, 4}};
    case M40_TYPE_Q3_K: return {{8, 4, 0, 16}};
    case M40_TYPE_Q4_K: return {{16, 0, 0, 16}};
    case M40_TYPE_Q5_K: return {{16, 4, 0, 16}};
    case M40_TYPE_Q6_K: return {{16, 8, 2, 2}};
    case M40_TYPE_IQ4_NL: return {{16, 0, 2, 0}};
    case M40_TYPE_IQ4_XS: return {{16, 0, 0, 8}};
    default: return {{0, 0, 0, 0}};
  }
}

__host__ __device__ inline uint32_t packed_tiles(uint32_t rows) { return rows / packed_tile_rows + (rows % packed_tile_rows != 0); }
__host__ __device__ inline uint32_t packed_blocks(uint32_t columns) { return columns / packed_block_columns + (columns % packed_block_columns != 0); }
__host__ __device__ inline uint32_t packed_supers(uint32_t columns) { return columns / packed_super_columns + (columns % packed_super_columns != 0); }

// Bytes of one plane of all experts, a multiple of 256.
__host__ __device__ inline uint64_t packed_plane_bytes(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns, int plane) {
  const uint64_t across = plane == 3 ? packed_supers(columns) : packed_blocks(columns);
  const uint64_t bytes = uint64_t{n_experts} * packed_tiles(rows) * packed_tile_rows * across * packed_layout(type).bytes[plane];
  return (bytes + 255) / 256 * 256;
}

// Bytes of the whole weight; its memory has to be 256-byte aligned.
inline uint64_t packed_bytes(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns) {
  uint64_t bytes = 0;
  for (int plane = 0; plane < 4; plane++) bytes += packed_plane_bytes(type, n_experts, rows, columns, plane);
  return bytes;
}

inline PackedWeight packed_view(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns, void* memory) {
  PackedWeight weight = {type, n_experts, rows, columns, {}};
  uint8_t* next = static_cast<uint8_t*>(memory);
  for (int plane = 0; plane < 4; plane++) {
    const uint64_t bytes = packed_plane_bytes(type, n_experts, rows, columns, plane);
    weight.planes[plane] = bytes != 0 ? next : nullptr;
    next += bytes;
  }
  return weight;
}

// One expert's weight as a weight of its own.
__host__ __device__ inline PackedWeight packed_expert(const PackedWeight& weight, uint32_t expert) {
  PackedWeight one = weight;
  one.n_experts = 1;
  const PackedLayout layout = packed_layout(weight.type);
  for (int plane = 0; plane < 4; plane++) {
    const uint64_t across = plane == 3 ? packed_supers(weight.columns) : packed_blocks(weight.columns);
    const uint64_t bytes = uint64_t{packed_tiles(weight.rows)} * packed_tile_rows * across * layout.bytes[plane];
    if (weight.planes[plane] != nullptr) one.planes[plane] = static_cast<const uint8_t*>(weight.planes[plane]) + bytes * expert;
  }
  return one;
}

// Where the values of a row and a block (or super block) stand in a plane, counted in what the plane holds for one row.
__host__ __device__ inline size_t packed_index(uint32_t row, uint32_t across, uint32_t n_across) {
  return (size_t{row / packed_tile_rows} * n_across + across) * packed_tile_rows + row % packed_tile_rows;
}

// Repacks n_rows rows of GGUF's blocks (device memory; rows counted over all experts, from first_row on).
void launch_repack(const void* raw_rows, const PackedWeight& weight, uint64_t first_row, uint64_t n_rows, cudaStream_t stream);

// Bytes of a row as GGUF stores it.
uint64_t raw_row_bytes(uint32_t type, uint32_t columns);

}  // namespace m40::cuda

#endif
