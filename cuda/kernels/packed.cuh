// Weights as the kernels read them. An upload repacks GGUF's blocks into two planes, of blocks of 32 columns and of
// super blocks of 256: [experts][rows / 128][columns / 32 (or 256)]. What stands there for 128 rows is one array after
// the other, each [128 rows], so that a warp whose lanes are rows reads contiguous memory, and all that a lane reads of
// a block, of its first row and of those 32, 64 and 96 below it, lies at constant distances from one pointer. Rows are
// padded to 128, columns to 32 (with zeros). The arrays of a block, and of a super block, have for a row:
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
//   MXFP4          16 bytes     -            a byte           -
//   NVFP4          16 bytes     -            two bytes        -
//   TQ1_0 TQ2_0    8 bytes      -            -                d
//   IQ1_S          4 bytes      -            2 bytes          d
//   IQ1_M          4 bytes      -            2 bytes          8 bytes: d, 16 scales of 3 bits
//   IQ2_XXS        4 bytes      -            4 bytes          d
//   IQ2_XS         8 bytes      -            two nibbles      d
//   IQ2_S          8 bytes      -            2 bytes          d
//   IQ3_XXS        8 bytes      -            4 bytes          d
//   IQ3_S          8 bytes      4 bytes      a byte           8 bytes: d, 8 scales of 4 bits
//
// so a weight takes the bytes that it takes in the file (Q3_K and IQ3_S: 2% more; TQ1_0: 22%, see formats_ternary.cuh),
// and every value is the file's. (Quants of more than 16 bytes are several arrays of 16 bytes a row.) How the bits of
// quants lie in their words is fields.cuh's; how they become floats, formats.cuh's.
#ifndef M40_KERNELS_PACKED_CUH
#define M40_KERNELS_PACKED_CUH

#include <stddef.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../gpu/device.h"

namespace m40::cuda {

struct PackedWeight {
  uint32_t type, n_experts, rows, columns;
  const void* planes[2];  // blocks, super blocks (nullptr where the type has none)
};

constexpr uint32_t packed_tile_rows = 128;
constexpr uint32_t packed_block_columns = 32;
constexpr uint32_t packed_super_columns = 256;

// Bytes of a row: of a block's quants, more quants and scale, and of a super block.
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
    case M40_TYPE_MXFP4: return {{16, 0, 1, 0}};
    case M40_TYPE_NVFP4: return {{16, 0, 2, 0}};
    case M40_TYPE_TQ1_0: return {{8, 0, 0, 2}};
    case M40_TYPE_TQ2_0: return {{8, 0, 0, 2}};
    case M40_TYPE_IQ1_S: return {{4, 0, 2, 2}};
    case M40_TYPE_IQ1_M: return {{4, 0, 2, 8}};
    case M40_TYPE_IQ2_XXS: return {{4, 0, 4, 2}};
    case M40_TYPE_IQ2_XS: return {{8, 0, 1, 2}};
    case M40_TYPE_IQ2_S: return {{8, 0, 2, 2}};
    case M40_TYPE_IQ3_XXS: return {{8, 0, 4, 2}};
    case M40_TYPE_IQ3_S: return {{8, 4, 1, 8}};
    default: return {{0, 0, 0, 0}};
  }
}

__host__ __device__ inline uint32_t packed_tiles(uint32_t rows) { return rows / packed_tile_rows + (rows % packed_tile_rows != 0); }
__host__ __device__ inline uint32_t packed_blocks(uint32_t columns) { return columns / packed_block_columns + (columns % packed_block_columns != 0); }
__host__ __device__ inline uint32_t packed_supers(uint32_t columns) { return columns / packed_super_columns + (columns % packed_super_columns != 0); }

// Bytes of one plane of one expert.
__host__ __device__ inline uint64_t packed_expert_bytes(uint32_t type, uint32_t rows, uint32_t columns, int plane) {
  const PackedLayout layout = packed_layout(type);
  const uint64_t tile = uint64_t{packed_tiles(rows)} * packed_tile_rows;
  return plane == 0 ? tile * packed_blocks(columns) * (layout.bytes[0] + layout.bytes[1] + layout.bytes[2]) : tile * packed_supers(columns) * layout.bytes[3];
}

// Bytes of one plane of all experts, a multiple of 256.
inline uint64_t packed_plane_bytes(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns, int plane) {
  return (n_experts * packed_expert_bytes(type, rows, columns, plane) + 255) / 256 * 256;
}

// Bytes of the whole weight; its memory has to be 256-byte aligned.
inline uint64_t packed_bytes(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns) {
  return packed_plane_bytes(type, n_experts, rows, columns, 0) + packed_plane_bytes(type, n_experts, rows, columns, 1);
}

inline PackedWeight packed_view(uint32_t type, uint32_t n_experts, uint32_t rows, uint32_t columns, void* memory) {
  uint8_t* const blocks = static_cast<uint8_t*>(memory);
  uint8_t* const supers = blocks + packed_plane_bytes(type, n_experts, rows, columns, 0);
  return {type, n_experts, rows, columns, {blocks, packed_layout(type).bytes[3] != 0 ? supers : nullptr}};
}

// One expert's weight as a weight of its own.
__host__ __device__ inline PackedWeight packed_expert(const PackedWeight& weight, uint32_t expert) {
  PackedWeight one = weight;
  one.n_experts = 1;
  for (int plane = 0; plane < 2; plane++) {
    if (weight.planes[plane] == nullptr) continue;
    one.planes[plane] = static_cast<const uint8_t*>(weight.planes[plane]) + expert * packed_expert_bytes(weight.type, weight.rows, weight.columns, plane);
  }
  return one;
}

// As packed_expert; that of index n_experts is the shared expert's, which lies in planes of its own.
__host__ __device__ inline PackedWeight packed_expert(const PackedWeight& weight, const void* const (&shared)[2], uint32_t expert) {
  PackedWeight one = packed_expert(weight, expert);
  if (expert == weight.n_experts) one.planes[0] = shared[0], one.planes[1] = shared[1];
  return one;
}

// Repacks n_rows rows of GGUF's blocks (device memory; rows counted over all experts, from first_row on).
void launch_repack(const void* raw_rows, const PackedWeight& weight, uint64_t first_row, uint64_t n_rows, cudaStream_t stream);

// Bytes of a row as GGUF stores it.
uint64_t raw_row_bytes(uint32_t type, uint32_t columns);

}  // namespace m40::cuda

#endif
