// How a kernel walks each tensor type's planes and turns quants into floats. Every kernel that reads weights uses
// these, so that a weight is the same float everywhere, to the bit.
//
// Format<type> has
//   kColumns           columns that one load of quants covers; kLoads of them make a block of 32
//   Quants             what such a load leaves in registers
//   Cursor             pointers into the planes at a row and a block; rows 32, 64 and 96 below it are at r = 1, 2, 3
//   StoredSuper, Super a super block's entry, and what of it all its blocks need
//   kSuperWords        words of that entry that hold scales of 8 / kSuperWords blocks each
//   kSkips             whether the Super holds scales that skip_blocks(...) shifts out, block by block
//   StoredScale, Scale a block's scales as they are stored, and widened to a word
//   Factors            a block's scales as floats ready to multiply
//   Expanded           what expand(quants, scale, bases) makes of a load's quants: table values are looked up
//   kTableBytes        bytes of that table(), which a thread block puts into shared memory
//   weight(...)        weight i of the columns that a load covers
//   kSumsParts         whether decode multiplies activations with field(...), sums those of each of kParts parts of a block,
//                      and multiplies the sum by a scale: the types of planes.cuh's InPlace. Activations are those times
//                      input_scale(column). The sum of a part's activations, times part_sum_scale(), is where the sum
//                      starts, or what the minimum is multiplied by (kMinimum). part_factors(...) has both factors. Of
//                      kDeltas groups of columns, each adds a delta(...) times the sum of activations and delta_scale()
#ifndef M40_KERNELS_FORMATS_CUH
#define M40_KERNELS_FORMATS_CUH

#include <type_traits>

#include "formats_levels.cuh"
#include "formats_ternary.cuh"
#include "planes.cuh"

namespace m40::cuda {

// 4- and 5-bit types with one scale, and perhaps a minimum, for 32 weights.
template <int B, class More, bool kMinimum>
using LegacyPlanes = InPlace<Blocks<Planes<32, uint4, 1, More, typename std::conditional<kMinimum, uint32_t, unsigned short>::type, Nothing>>, Packing<B>, 1, B == 4 ? 8 : 16, kMinimum>;

template <int B, class More, bool kHasMinimum>
struct LegacyFormat : LegacyPlanes<B, More, kHasMinimum> {
  using Base = LegacyPlanes<B, More, kHasMinimum>;
  using typename Base::PartFactors;
  using typename Base::Quants;
  using typename Base::Scale;
  using typename Base::Super;
  using Factors = Affine<B, 2>;
  static constexpr int kBits = B;
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale, uint32_t, uint32_t) {
    Factors f;
    if (kHasMinimum) {
      f.set(low_half(scale), high_half(scale));
    } else {
      f.set_centred(low_half(scale), B == 4 ? 8.0f : 16.0f);
    }
    return f;
  }
  __device__ static __forceinline__ PartFactors part_factors(const Super&, Scale scale, uint32_t, uint32_t) {
    PartFactors f;
    f.scale[0] = low_half(scale) * two_to_64;
    if constexpr (kHasMinimum) f.minimum[0] = high_half(scale);
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.at(Packing<B>::get(q.w, i, bases), Packing<B>::place(i));
  }
};

template <>
struct Format<M40_TYPE_Q4_0> : LegacyFormat<4, Nothing, false> {};
template <>
struct Format<M40_TYPE_Q4_1> : LegacyFormat<4, Nothing, true> {};
template <>
struct Format<M40_TYPE_Q5_0> : LegacyFormat<5, uint32_t, false> {};
template <>
struct Format<M40_TYPE_Q5_1> : LegacyFormat<5, uint32_t, true> {};

// Quants are stored plus 128.
template <>
struct Format<M40_TYPE_Q8_0> : InPlace<Blocks<Planes<16, uint4, 1, Nothing, unsigned short, Nothing>>, Packing<8>, 1, 128, false> {
  using Factors = Affine<8, 1>;
  static constexpr int kBits = 8;
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale, uint32_t, uint32_t) {
    Factors f;
    f.set_centred(low_half(scale), 128.0f);
    return f;
  }
  __device__ static __forceinline__ PartFactors part_factors(const Super&, Scale scale, uint32_t, uint32_t) { return {{low_half(scale) * two_to_64}}; }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.at(Packing<8>::get(q.w, i, bases), 0);
  }
};

template <class More, int B>
struct PairFormat : InPlace<Planes<32, uint4, 1, More, Nothing, uint4>, Packing<B>, 1, 0, true> {
  using Base = InPlace<Planes<32, uint4, 1, More, Nothing, uint4>, Packing<B>, 1, 0, true>;
  using typename Base::PartFactors;
  using typename Base::Quants;
  using Super = PairsOf6;
  using Factors = Affine<B, 2>;
  static constexpr int kBits = B;
  static constexpr int kSuperWords = 4;
  __device__ static __forceinline__ Super open(uint4 stored) { return PairsOf6::open(stored); }
  __device__ static __forceinline__ Factors factors(const Super& s, Nothing, uint32_t word, uint32_t block) {
    const uint32_t pair = PairsOf6::pair(word, block);
    Factors f;
    f.set(low_half(s.halves) * PairsOf6::first(pair, 0), -high_half(s.halves) * PairsOf6::second(pair, 0));
    return f;
  }
  __device__ static __forceinline__ PartFactors part_factors(const Super& s, Nothing, uint32_t word, uint32_t block) {
    const uint32_t pair = PairsOf6::pair(word, block);
    return {{low_half(s.halves) * PairsOf6::first_in_units(pair, 0)}, {-high_half(s.halves) * PairsOf6::second(pair, 0)}};
  }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.at(Packing<B>::get(q.w, i, bases), Packing<B>::place(i));
  }
};

template <>
struct Format<M40_TYPE_Q4_K> : PairFormat<Nothing, 4> {};
template <>
struct Format<M40_TYPE_Q5_K> : PairFormat<uint32_t, 5> {};

// Types with a scale for every 16 weights.
template <int B, int P>
struct TwoAffines {
  Affine<B, P> half[2];
};

template <>
struct Format<M40_TYPE_Q3_K> : InPlace<Planes<32, uint2, 1, uint32_t, Nothing, uint4>, Packing<3>, 2, 4, false> {
  using Super = PairsOf6;
  using Factors = TwoAffines<3, 3>;
  static constexpr int kBits = 3;
  static constexpr int kSuperWords = 4;
  __device__ static __forceinline__ Super open(uint4 stored) { return PairsOf6::open(stored); }
  __device__ static __forceinline__ Factors factors(const Super& s, Nothing, uint32_t word, uint32_t block) {
    const uint32_t pair = PairsOf6::pair(word, block);
    const float d = low_half(s.halves);
    Factors f;
    f.half[0].set_centred(d * PairsOf6::first(pair, 32), 4.0f);
    f.half[1].set_centred(d * PairsOf6::second(pair, 32), 4.0f);
    return f;
  }
  __device__ static __forceinline__ PartFactors part_factors(const Super& s, Nothing, uint32_t word, uint32_t block) {
    const uint32_t pair = PairsOf6::pair(word, block);
    const float d = low_half(s.halves) * two_to_64;
    return {{d * PairsOf6::first(pair, 32), d * PairsOf6::second(pair, 32)}};
  }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.half[i / 16].at(Packing<3>::get(q.w, i, bases), Packing<3>::place(i));
  }
};

template <>
struct Format<M40_TYPE_Q2_K> : InPlace<Planes<32, uint2, 1, Nothing, unsigned short, uint32_t>, Packing<2>, 2, 0, true> {
  using Super = uint32_t;
  static constexpr int kSuperWords = 0;
  using Factors = TwoAffines<2, 2>;
  static constexpr int kBits = 2;
  __device__ static __forceinline__ Super open(uint32_t stored) { return stored; }
  __device__ static __forceinline__ Factors factors(Super s, Scale scale, uint32_t, uint32_t) {
    const float d = low_half(s), m = -high_half(s);
    Factors f;
    f.half[0].set(d * static_cast<float>(scale & 15), m * static_cast<float>(scale >> 4 & 15));
    f.half[1].set(d * static_cast<float>(scale >> 8 & 15), m * static_cast<float>(scale >> 12));
    return f;
  }
  __device__ static __forceinline__ PartFactors part_factors(Super s, Scale scale, uint32_t, uint32_t) {
    const float d = low_half(s) * two_to_64, m = -high_half(s);
    return {{d * static_cast<float>(scale & 15), d * static_cast<float>(scale >> 8 & 15)}, {m * static_cast<float>(scale >> 4 & 15), m * static_cast<float>(scale >> 12)}};
  }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.half[i / 16].at(Packing<2>::get(q.w, i, bases), Packing<2>::place(i));
  }
};

template <>
struct Format<M40_TYPE_Q6_K> : InPlace<Planes<32, uint4, 1, uint2, unsigned short, unsigned short>, Packing<6>, 2, 32, false> {
  using Super = float;
  static constexpr int kSuperWords = 0;
  using Factors = TwoAffines<6, 1>;
  static constexpr int kBits = 6;
  __device__ static __forceinline__ Super open(unsigned short stored) { return low_half(stored); }
  __device__ static __forceinline__ Factors factors(Super d, Scale scale, uint32_t, uint32_t) {
    Factors f;
    f.half[0].set_centred(d * static_cast<float>(static_cast<signed char>(scale & 255)), 32.0f);
    f.half[1].set_centred(d * static_cast<float>(static_cast<signed char>(scale >> 8)), 32.0f);
    return f;
  }
  __device__ static __forceinline__ PartFactors part_factors(Super d, Scale scale, uint32_t, uint32_t) {
    const float in_units = d * two_to_64;
    return {{in_units * static_cast<float>(static_cast<signed char>(scale & 255)), in_units * static_cast<float>(static_cast<signed char>(scale >> 8))}};
  }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.half[i / 16].at(Packing<6>::get(q.w, i, bases), 0);
  }
};

// The IQ4 types: a quant is an index into 16 values of -127 .. 113. Nibble k of a word is weight k; four nibbles choose
// four bytes of the table, values plus 127. select_bytes chooses among 8 bytes, and fills with the sign where the
// nibble is 8 or more. That fills with zeros, as the bytes of both halves of the table are kept below 128. The upper
// half lacks 128; the nibble's own highest bit then replaces it.
struct Iq4 {
  __device__ static __forceinline__ uint32_t bytes(uint32_t word, int half_word) {
    const uint32_t selector = half_word == 0 ? word : word >> 16;
    const uint32_t low = select_bytes(0x3E2C1700, 0x75695C4E, selector);
    const uint32_t high = select_bytes(0x25180C00, 0x70584434, selector ^ 0x8888);
    const uint32_t sign = select_bytes(0x80808080, 0x80808080, selector) << 7;  // 0x80 shifted out, 0xFF: bit 7 stays
    return low | high | (sign & 0x80808080);
  }
};

struct PackingIq4 {
  __host__ __device__ static constexpr int bit(int i) { return i % 2 * 8; }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) {
    const uint32_t four = Iq4::bytes(words[i / 8], i / 4 % 2);
    return bits_to_float((i % 4 < 2 ? four : four >> 16) & 255u << bit(i));
  }
};

template <class Base_>
struct Iq4Format : InPlace<Base_, PackingIq4, 1, 127, false> {
  using typename Base_::Quants;
  using Factors = Affine<8, 1>;
  static constexpr int kBits = 8;
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    const uint32_t four = Iq4::bytes(q.w[i / 8], i / 4 % 2);
    const int to = 15, from = 8 * (i % 4);
    const uint32_t turned = rotate_right(four, (from - to + 32) % 32);
    return f.at(bits_to_float(and_or(turned, 255u << to, bases.at[0])), 0);
  }
};

template <>
struct Format<M40_TYPE_IQ4_NL> : Iq4Format<Blocks<Planes<32, uint4, 1, Nothing, unsigned short, Nothing>>> {
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale, uint32_t, uint32_t) {
    Factors f;
    f.set_centred(low_half(scale), 127.0f);
    return f;
  }
  __device__ static __forceinline__ PartFactors part_factors(const Super&, Scale scale, uint32_t, uint32_t) { return {{low_half(scale) * two_to_64}}; }
};

// Two words with four scales of 6 bits each; their highest bytes are d.
template <>
struct Format<M40_TYPE_IQ4_XS> : Iq4Format<Planes<32, uint4, 1, Nothing, Nothing, uint2>> {
  using Super = float;
  static constexpr int kSuperWords = 2;
  __device__ static __forceinline__ Super open(uint2 stored) { return half_bits_to_float(select_bytes(stored.x, stored.y, 0x0073) & 0xFFFF); }
  __device__ static __forceinline__ Factors factors(Super d, Nothing, uint32_t word, uint32_t block) {
    Factors f;
    f.set_centred(d * scale_of(word, block), 127.0f);
    return f;
  }
  __device__ static __forceinline__ PartFactors part_factors(Super d, Nothing, uint32_t word, uint32_t block) { return {{d * two_to_64 * scale_of(word, block)}}; }
  __device__ static __forceinline__ float scale_of(uint32_t word, uint32_t block) {
    return bits_to_float(and_or(word >> block % 4 * 6, 0x3F, two_to_23_bits)) - (two_to_23 + 32);
  }
};

// Floating point: 8 columns a load.
template <class First, int kFirst>
struct FloatPlanes : Blocks<Planes<8, First, kFirst, Nothing, Nothing, Nothing>> {
  using Factors = Nothing;
  static constexpr int kBits = 8;
  __device__ static __forceinline__ Factors factors(Nothing, Nothing, uint32_t, uint32_t) { return {}; }
};

template <>
struct Format<M40_TYPE_F32> : FloatPlanes<uint4, 2> {
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors&, const Bases&) { return bits_to_float(q.w[i]); }
};

template <>
struct Format<M40_TYPE_F16> : FloatPlanes<uint4, 1> {
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors&, const Bases&) {
    return i % 2 == 0 ? low_half(q.w[i / 2]) : high_half(q.w[i / 2]);
  }
};

template <>
struct Format<M40_TYPE_BF16> : FloatPlanes<uint4, 1> {
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors&, const Bases&) {
    return bits_to_float(i % 2 == 0 ? q.w[i / 2] << 16 : q.w[i / 2] & 0xFFFF0000);
  }
};

// Calls put(i, value) for the 32 weights of a row in one block, columns beyond the weight's included.
template <uint32_t kType, class Put>
__device__ __forceinline__ void unpack_block(const PackedWeight& weight, uint32_t row, uint32_t block, const Put& put) {
  using F = Format<kType>;
  const typename F::Cursor cursor(weight, row, block);
  const Bases bases = make_bases<F::kBits, F::kBasesTimes>(F::table());
  uint32_t word = 0;
  if constexpr (F::kSuperWords != 0) word = cursor.super_word(0, block % 8 / (8 / F::kSuperWords));
  const typename F::Scale scale = cursor.scale(0);
  const typename F::Factors factors = F::factors(open_at<F>(cursor.super(0), block), scale, word, block);
#pragma unroll
  for (int load = 0; load < F::kLoads; load++) {
    const typename F::Expanded quants = F::expand(cursor.quants(load, 0), scale, bases);
#pragma unroll
    for (int i = 0; i < F::kColumns; i++) put(load * F::kColumns + i, F::weight(quants, i, factors, bases));
  }
}

}  // namespace m40::cuda

#endif
