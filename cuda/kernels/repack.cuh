// GGUF's blocks into the planes of packed.cuh, on the device as the weights arrive. A thread takes 32 columns of a row.
#ifndef M40_KERNELS_REPACK_CUH
#define M40_KERNELS_REPACK_CUH

#include "block.cuh"
#include "formats.cuh"
#include "raw_bytes.cuh"
#include "repack_iq.cuh"

namespace m40::cuda {

// 32 columns of a row, as the planes want them: quants as small integers, scales as stored bits.
struct RawBlock {
  uint8_t q[32];
  uint32_t scale;
};

// Nibbles of 16 bytes: the low halves first.
__device__ inline void raw_nibbles(const uint8_t* at, uint8_t* q) {
  for (int i = 0; i < 32; i++) q[i] = at[i % 16] >> (i / 16 * 4) & 15;
}

// Scale and minimum of 6 bits number `group` of the 12 bytes of Q4_K and Q5_K.
__device__ inline uint32_t raw_pair(const uint8_t* at, int group) {
  if (group < 4) return (at[group] & 63) | (at[group + 4] & 63) << 6;
  const uint32_t scale = (at[group + 4] & 15) | at[group - 4] >> 6 << 4;
  const uint32_t minimum = at[group + 4] >> 4 | at[group] >> 6 << 4;
  return scale | minimum << 6;
}

// Scale number i (of 16) of the 12 bytes of Q3_K.
__device__ inline uint32_t raw_q3_scale(const uint8_t* at, int i) {
  return (at[i % 8] >> (i / 8 * 4) & 15) | (at[8 + i % 4] >> (i / 4 * 2) & 3) << 4;
}

// Five digits of base 3 as a fraction in units of 1/256, rounded up: multiplying by three moves the first digit ahead
// of the point.
__device__ inline uint8_t raw_digit(uint32_t byte, int n) {
  for (int i = 0; i < n; i++) byte = byte * 3 & 255;
  return static_cast<uint8_t>(byte * 3 >> 8);
}

// Block number `group` of the raw block at `at`, which may be of 32 columns, 64 or 256.
template <uint32_t kType>
__device__ void unpack_raw(const uint8_t* at, int group, RawBlock& block) {
  if constexpr (kType == M40_TYPE_Q4_0 || kType == M40_TYPE_IQ4_NL) {
    block.scale = raw_u16(at);
    raw_nibbles(at + 2, block.q);
  } else if constexpr (kType == M40_TYPE_Q4_1) {
    block.scale = raw_u32(at);
    raw_nibbles(at + 4, block.q);
  } else if constexpr (kType == M40_TYPE_Q5_0 || kType == M40_TYPE_Q5_1) {
    const int d_bytes = kType == M40_TYPE_Q5_0 ? 2 : 4;
    block.scale = kType == M40_TYPE_Q5_0 ? raw_u16(at) : raw_u32(at);
    const uint32_t high = raw_u32(at + d_bytes);
    raw_nibbles(at + d_bytes + 4, block.q);
    for (int i = 0; i < 32; i++) block.q[i] |= (high >> i & 1) << 4;
  } else if constexpr (kType == M40_TYPE_Q8_0) {
    block.scale = raw_u16(at);
    for (int i = 0; i < 32; i++) block.q[i] = static_cast<uint8_t>(at[2 + i] ^ 128);
  } else if constexpr (kType == M40_TYPE_Q2_K) {
    block.scale = raw_u16(at + 2 * group);
    for (int i = 0; i < 32; i++) block.q[i] = at[16 + group / 4 * 32 + i] >> (group % 4 * 2) & 3;
  } else if constexpr (kType == M40_TYPE_Q3_K) {
    for (int i = 0; i < 32; i++) {
      block.q[i] = (at[32 + group / 4 * 32 + i] >> (group % 4 * 2) & 3) | (at[i] >> group & 1) << 2;
    }
  } else if constexpr (kType == M40_TYPE_Q4_K) {
    for (int i = 0; i < 32; i++) block.q[i] = at[16 + group / 2 * 32 + i] >> (group % 2 * 4) & 15;
  } else if constexpr (kType == M40_TYPE_Q5_K) {
    for (int i = 0; i < 32; i++) {
      block.q[i] = (at[48 + group / 2 * 32 + i] >> (group % 2 * 4) & 15) | (at[16 + i] >> group & 1) << 4;
    }
  } else if constexpr (kType == M40_TYPE_Q6_K) {
    block.scale = raw_u16(at + 192 + 2 * group);
    for (int i = 0; i < 32; i++) {
      block.q[i] = (at[group / 4 * 64 + group % 2 * 32 + i] >> (group % 4 / 2 * 4) & 15) |
                   (at[128 + group / 4 * 32 + i] >> (group % 4 * 2) & 3) << 4;
    }
  } else if constexpr (kType == M40_TYPE_IQ4_XS) {
    raw_nibbles(at + 8 + 16 * group, block.q);
  } else if constexpr (kType == M40_TYPE_MXFP4) {
    block.scale = at[0];
    raw_nibbles(at + 1, block.q);
  } else if constexpr (kType == M40_TYPE_NVFP4) {
    // The largest scale is no number, and taken for 0.
    for (int part = 0; part < 2; part++) {
      const uint32_t scale = at[2 * group + part];
      block.scale |= (scale == 127 ? 0 : scale & 127) << 8 * part;
    }
    for (int i = 0; i < 32; i++) block.q[i] = at[4 + 16 * group + i / 16 * 8 + i % 8] >> (i / 8 % 2 * 4) & 15;
  } else if constexpr (kType == M40_TYPE_TQ1_0) {
    for (int i = 0; i < 32; i++) {
      const int column = 32 * group + i;  // 160 of 32 bytes, 80 of 16, 16 of 4
      block.q[i] = column < 160   ? raw_digit(at[column % 32], column / 32)
                   : column < 240 ? raw_digit(at[32 + column % 16], (column - 160) / 16)
                                  : raw_digit(at[48 + column % 4], (column - 240) / 4);
    }
  } else if constexpr (kType == M40_TYPE_TQ2_0) {
    for (int i = 0; i < 32; i++) block.q[i] = at[group / 4 * 32 + i] >> (group % 4 * 2) & 3;
  }
}

// A super block's entry.
template <uint32_t kType>
__device__ typename Format<kType>::StoredSuper pack_super(const uint8_t* at) {
  if constexpr (kType == M40_TYPE_Q2_K) {
    return raw_u32(at + 80);
  } else if constexpr (kType == M40_TYPE_Q6_K) {
    return static_cast<unsigned short>(raw_u16(at + 208));
  } else if constexpr (kType == M40_TYPE_IQ4_XS) {
    uint32_t words[2] = {uint32_t{at[0]} << 24, uint32_t{at[1]} << 24};
    for (int g = 0; g < 8; g++) {
      const uint32_t scale = (at[4 + g / 2] >> (g % 2 * 4) & 15) | (raw_u16(at + 2) >> (2 * g) & 3) << 4;
      words[g / 4] |= scale << g % 4 * 6;
    }
    return make_uint2(words[0], words[1]);
  } else if constexpr (kType == M40_TYPE_TQ1_0 || kType == M40_TYPE_TQ2_0) {
    return static_cast<unsigned short>(raw_u16(at + (kType == M40_TYPE_TQ1_0 ? 52 : 64)));
  } else if constexpr (has_codebook(kType)) {
    return pack_iq_super<kType>(at);
  } else if constexpr (Format<kType>::kHasSuper) {
    const uint32_t halves = kType == M40_TYPE_Q3_K ? raw_u16(at + 108) : raw_u32(at);
    uint32_t words[4];
    for (int i = 0; i < 4; i++) words[i] = (halves >> 8 * i & 255) << 24;
    for (int g = 0; g < 8; g++) {
      const uint32_t pair = kType == M40_TYPE_Q3_K ? raw_q3_scale(at + 96, 2 * g) | raw_q3_scale(at + 96, 2 * g + 1) << 6 : raw_pair(at + 4, g);
      words[g / 2] |= pair << g % 2 * 12;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
  } else {
    return {};
  }
}

// The bits of quants that a type packs by, 0 for those that are stored otherwise.
__host__ __device__ constexpr int field_bits(uint32_t type) {
  switch (type) {
    case M40_TYPE_Q2_K: return 2;
    case M40_TYPE_Q3_K: return 3;
    case M40_TYPE_Q4_0: case M40_TYPE_Q4_1: case M40_TYPE_Q4_K: return 4;
    case M40_TYPE_Q5_0: case M40_TYPE_Q5_1: case M40_TYPE_Q5_K: return 5;
    case M40_TYPE_Q6_K: return 6;
    case M40_TYPE_Q8_0: return 8;
    default: return 0;
  }
}

template <uint32_t kType>
__device__ void pack_quants(const uint8_t* q, uint32_t* words) {
  for (int i = 0; i < 8; i++) words[i] = 0;
  constexpr int bits = field_bits(kType);
  if constexpr (kType == M40_TYPE_TQ1_0 || kType == M40_TYPE_TQ2_0) {
    for (int i = 0; i < 32; i++) words[i / 16] |= uint32_t{q[i]} << (2 * (i % 16));
  } else if constexpr (bits == 0) {
    for (int i = 0; i < 32; i++) words[i / 8] |= uint32_t{q[i]} << (4 * (i % 8));
  } else if constexpr (bits == 8) {
    for (int i = 0; i < 32; i++) Packing<8>::put(words + i / 16 * 4, i % 16, q[i]);
  } else {
    for (int i = 0; i < 32; i++) Packing<bits>::put(words, i, q[i]);
  }
}

constexpr uint32_t repack_threads = 64;

struct RepackArgs {
  uint64_t row_bytes;  // of the raw rows
  PackedWeight weight;
  uint64_t first_row;  // counted over all experts
  uint64_t n_rows;
};

// Rows [first_row, first_row + n_rows); the padding below an expert's last row is filled with zeros. Grid: rows by
// repack_threads, blocks of columns. raw: [n_rows][row_bytes].
template <uint32_t kType>
__device__ __forceinline__ void repack(const uint8_t* __restrict__ raw, const RepackArgs& args, BlockIndex index) {
  using F = Format<kType>;
  constexpr uint32_t kRaw = F::kColumns == 8 ? 0 : F::kHasSuper ? 256 : kType == M40_TYPE_NVFP4 ? 64 : 32;  // columns of a raw block; 0: single values
  const PackedWeight& weight = args.weight;
  const uint32_t block = index.y;
  const uint32_t n_blocks = packed_blocks(weight.columns);
  const uint64_t given = uint64_t{index.x} * repack_threads + threadIdx.x;
  if (given >= args.n_rows) return;
  const uint32_t expert = static_cast<uint32_t>((args.first_row + given) / weight.rows);
  const uint32_t row = static_cast<uint32_t>((args.first_row + given) % weight.rows);
  const PackedWeight own = packed_expert(weight, expert);
  const uint8_t* raw_row = raw + given * args.row_bytes;

  constexpr int kBlockWords = F::kLoads * F::kWords;
  uint32_t words[kBlockWords < 8 ? 8 : kBlockWords];
  RawBlock values = {};
  typename F::StoredSuper super = {};
  if constexpr (kRaw == 0) {
    constexpr uint32_t kBytes = kType == M40_TYPE_F32 ? 4 : 2;
    for (int i = 0; i < kBlockWords; i++) words[i] = 0;
    for (uint32_t i = 0; i < 32 && block * 32 + i < weight.columns; i++) {
      const uint8_t* at = raw_row + (uint64_t{block} * 32 + i) * kBytes;
      if (kBytes == 4) {
        words[i] = raw_u32(at);
      } else {
        words[i / 2] |= raw_u16(at) << i % 2 * 16;
      }
    }
  } else {
    constexpr uint32_t kPerBlock = kRaw / 32;
    const uint64_t raw_block_bytes = args.row_bytes / (weight.columns / kRaw);
    const uint8_t* at = raw_row + block / kPerBlock * raw_block_bytes;
    if constexpr (has_codebook(kType)) {
      IqBlock packed;
      pack_iq<kType>(at, block % kPerBlock, packed);
      for (int i = 0; i < kBlockWords; i++) words[i] = packed.words[i];
      values.scale = packed.scale;
    } else {
      unpack_raw<kType>(at, block % kPerBlock, values);
      pack_quants<kType>(values.q, words);
    }
    if (F::kHasSuper && block % 8 == 0) super = pack_super<kType>(at);
  }

  // The padding below the expert's last row goes with that row.
  const uint32_t end = row + 1 == weight.rows ? packed_tiles(weight.rows) * packed_tile_rows : row + 1;
  for (uint32_t r = row; r < end; r++) {
    if (r == row + 1) {
      for (uint32_t& word : words) word = 0;
      values.scale = 0;
      super = {};
    }
    using First = typename F::First;
    using More = typename F::More;
    const uint32_t tile = r / packed_tile_rows, in_tile = r % packed_tile_rows;
    uint8_t* const at = static_cast<uint8_t*>(const_cast<void*>(own.planes[0])) + (size_t{tile} * n_blocks + block) * F::kBlockBytes;
    constexpr int kFirstWords = F::kFirstWords, kFirstLoads = F::kLoads * F::kFirstLoads;
    for (int i = 0; i < kFirstLoads; i++) {
      uint32_t* to = reinterpret_cast<uint32_t*>(reinterpret_cast<First*>(at) + i * packed_tile_rows + in_tile);
      for (int k = 0; k < kFirstWords; k++) to[k] = words[i * kFirstWords + k];
    }
    if constexpr (F::kHasMore) {
      uint32_t* to = reinterpret_cast<uint32_t*>(reinterpret_cast<More*>(at + F::kMoreAt) + in_tile);
      for (size_t k = 0; k < sizeof(More) / 4; k++) to[k] = words[kFirstWords + k];
    }
    if constexpr (F::kHasScale) {
      reinterpret_cast<typename F::StoredScale*>(at + F::kScaleAt)[in_tile] = static_cast<typename F::StoredScale>(values.scale);
    }
    if constexpr (F::kHasSuper) {
      if (block % 8 == 0) {
        const size_t super_at = size_t{tile} * packed_supers(weight.columns) + block / 8;
        static_cast<typename F::StoredSuper*>(const_cast<void*>(own.planes[1]))[super_at * packed_tile_rows + in_tile] = super;
      }
    }
  }
}

template <uint32_t kType>
__global__ void repack_kernel(const uint8_t* __restrict__ raw, RepackArgs args) {
  repack<kType>(raw, args, launched_block());
}

}  // namespace m40::cuda

#endif
