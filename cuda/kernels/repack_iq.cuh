// Blocks of the IQ1, IQ2 and IQ3 types into what formats_levels.cuh and formats_ternary.cuh read.
#ifndef M40_KERNELS_REPACK_IQ_CUH
#define M40_KERNELS_REPACK_IQ_CUH

#include "formats.cuh"
#include "raw_bytes.cuh"

namespace m40::cuda {

// 32 columns of a row: words of quants, and the values that go with them.
struct IqBlock {
  uint32_t words[3];
  uint32_t scale;
};

// The signs of eight weights, number g of four: `bits` has eight, or seven.
__device__ inline uint32_t iq_sign_bits(uint32_t bits, int g) {
  uint32_t signs = 0;
  for (int j = 0; j < 8; j++) signs |= (bits >> j & 1) << (4 * j + g);
  return signs;
}

__device__ inline uint32_t rotate_left(uint32_t value, int n) { return rotate_right(value, (32 - n) % 32); }

// Four numbers of 11 bits; see Iq1Format. The caller fills the rest of words and scale.
__device__ inline void pack_iq1(const uint32_t* numbers, IqBlock& block) {
  block.words[0] = numbers[0] << 1 | numbers[1] << 12 | numbers[2] << 23;
  block.scale = numbers[2] >> 9 | numbers[3] << 2;
}

// Block number `group` (0..7) of the super block at `at`.
template <uint32_t kType>
__device__ void pack_iq(const uint8_t* at, int group, IqBlock& block) {
  block = {};
  if constexpr (kType == M40_TYPE_IQ2_XXS || kType == M40_TYPE_IQ3_XXS) {
    // IQ2: numbers and signs in turns; IQ3: all numbers, then the signs.
    const bool is_iq2 = kType == M40_TYPE_IQ2_XXS;
    const uint32_t signs = raw_u32(at + (is_iq2 ? 2 + 8 * group + 4 : 66 + 4 * group));
    block.scale = signs >> 28 << 28;
    for (int g = 0; g < 4; g++) block.scale |= iq_sign_bits(signs >> 7 * g & 127, g);
    if (is_iq2) {
      block.words[0] = rotate_left(raw_u32(at + 2 + 8 * group), 2);
    } else {
      for (int i = 0; i < 2; i++) block.words[i] = rotate_left(raw_u32(at + 2 + 8 * group + 4 * i), 1);
    }
  } else if constexpr (kType == M40_TYPE_IQ2_XS) {
    for (int g = 0; g < 4; g++) {
      const uint32_t quant = raw_u16(at + 2 + 8 * group + 2 * g), number = quant & 511;
      block.words[1] |= iq_sign_bits(quant >> 9, g);
      if (g < 3) {
        block.words[0] |= number << (2 + 9 * g);
      } else {
        block.words[0] |= rotate_left(number & 31, 29);
        block.words[1] |= number >> 5 << 28;
      }
    }
    block.scale = at[66 + group];
  } else if constexpr (kType == M40_TYPE_IQ2_S) {
    for (int g = 0; g < 4; g++) {
      const uint32_t number = at[2 + 4 * group + g] | (uint32_t{at[66 + group]} >> 2 * g & 3) << 8;
      block.words[1] |= iq_sign_bits(at[34 + 4 * group + g], g);
      if (g < 3) {
        block.words[0] |= number << (2 + 10 * g);
      } else {
        block.words[0] |= number & 3;
        block.scale |= number >> 2 << 4;
      }
    }
    const uint32_t scales = at[74 + group];
    block.scale |= (scales & 15) << 12 | scales >> 4;
  } else if constexpr (kType == M40_TYPE_IQ3_S) {
    for (int i = 0; i < 2; i++) block.words[i] = rotate_left(raw_u32(at + 2 + 8 * group + 4 * i), 1);
    for (int g = 0; g < 4; g++) block.words[2] |= iq_sign_bits(at[74 + 4 * group + g], g);
    block.scale = at[66 + group];
  } else if constexpr (kType == M40_TYPE_IQ1_S) {
    const uint32_t high = raw_u16(at + 34 + 2 * group);
    uint32_t numbers[4];
    for (int g = 0; g < 4; g++) numbers[g] = at[2 + 4 * group + g] | (high >> 3 * g & 7) << 8;
    pack_iq1(numbers, block);
    block.words[0] |= high >> 15;
    block.scale |= (high >> 12 & 7) << 13;
  } else if constexpr (kType == M40_TYPE_IQ1_M) {
    uint32_t numbers[4], minus = 0;  // a bit for each eight weights
    for (int g = 0; g < 4; g++) {
      const uint32_t high = at[32 + 2 * group + g / 2] >> g % 2 * 4;
      numbers[g] = at[4 * group + g] | (high & 7) << 8;
      minus |= (high >> 3 & 1) << g;
    }
    pack_iq1(numbers, block);
    block.words[0] |= minus & 1;
    block.scale |= minus >> 1 << 13;
  }
}

__host__ __device__ constexpr bool has_codebook(uint32_t type) {
  switch (type) {
    case M40_TYPE_IQ1_S: case M40_TYPE_IQ1_M: case M40_TYPE_IQ2_XXS: case M40_TYPE_IQ2_XS: case M40_TYPE_IQ2_S:
    case M40_TYPE_IQ3_XXS: case M40_TYPE_IQ3_S: return true;
    default: return false;
  }
}

// A super block's entry: d in the highest bytes of two words, scales in the others; or d alone.
template <uint32_t kType>
__device__ typename Format<kType>::StoredSuper pack_iq_super(const uint8_t* at) {
  if constexpr (kType == M40_TYPE_IQ3_S) {
    return make_uint2(uint32_t{at[0]} << 24 | raw_u16(at + 106), uint32_t{at[1]} << 24 | raw_u16(at + 108));
  } else if constexpr (kType == M40_TYPE_IQ1_M) {
    // Four words with four scales of 3 bits each; their highest bits are d.
    uint64_t pairs = 0;
    for (int i = 0; i < 4; i++) {
      const uint32_t scales = raw_u16(at + 48 + 2 * i);
      pairs |= uint64_t{scales & 0xFFF} << 12 * i | uint64_t{scales >> 12} << (48 + 4 * i);
    }
    return make_uint2(static_cast<uint32_t>(pairs), static_cast<uint32_t>(pairs >> 32));
  } else {
    return static_cast<unsigned short>(raw_u16(at));
  }
}

}  // namespace m40::cuda

#endif
