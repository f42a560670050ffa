// What each tensor type's planes mean: how a kernel walks them and turns quants into floats. Every kernel that reads
// weights does it with these, so that a weight is the same float to the bit wherever it is used.
//
// Format<type> has
//   kColumns           columns that one load of quants covers; kLoads of them make a block of 32
//   Quants             what such a load leaves in registers
//   Cursor             pointers into the planes at a row and a block; rows 32, 64 and 96 below it are at r = 1, 2, 3
//   Super, open, next  state over the blocks of a super block, for one row
//   Scale, Factors     a block's scales as they are stored, and as floats ready to multiply
//   weight(...)        weight i of the columns that a load covers
#ifndef M40_KERNELS_FORMATS_CUH
#define M40_KERNELS_FORMATS_CUH

#include <type_traits>

#include "fields.cuh"
#include "packed.cuh"

namespace m40::cuda {

struct Nothing {};

// ---- quants ---------------------------------------------------------------------------------------------

template <int N>
struct Words {
  uint32_t w[N];
};

__device__ __forceinline__ void load_words(uint32_t* to, const uint4* from) {
  const uint4 v = __ldg(from);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void load_words(uint32_t* to, const uint2* from) {
  const uint2 v = __ldg(from);
  to[0] = v.x, to[1] = v.y;
}
__device__ __forceinline__ void load_words(uint32_t* to, const uint32_t* from) { to[0] = __ldg(from); }
__device__ __forceinline__ void load_words(uint32_t*, const Nothing*) {}

// First: what a row's quants are loaded by; kFirst such loads follow each other (in planes of 128 rows); More: from the plane of more quants.
template <int kColumns_, class First_, int kFirst, class More_, class Scale_, class Super_>
struct Planes {
  static constexpr int kColumns = kColumns_, kLoads = 32 / kColumns_;
  static constexpr int kFirstWords = sizeof(First_) / 4;
  static constexpr bool kHasMore = !__is_empty(More_), kHasScale = !__is_empty(Scale_), kHasSuper = !__is_empty(Super_);
  static constexpr int kWords = kFirst * kFirstWords + (kHasMore ? sizeof(More_) / 4 : 0);
  static constexpr int kFirstLoads = kFirst;
  using First = First_;
  using More = More_;
  using Quants = Words<kWords>;
  using Scale = Scale_;
  using StoredSuper = Super_;

  struct Cursor {
    const First_* quants_at;
    const More_* more_at;
    const Scale_* scale_at;
    const Super_* super_at;

    __device__ __forceinline__ Cursor(const PackedWeight& weight, uint32_t row, uint32_t block) {
      const uint32_t n_blocks = packed_blocks(weight.columns), n_supers = packed_supers(weight.columns);
      const size_t tile = row / packed_tile_rows, in_tile = row % packed_tile_rows;
      const size_t at = tile * n_blocks + block;
      quants_at = static_cast<const First_*>(weight.planes[0]) + at * (kLoads * kFirst * packed_tile_rows) + in_tile;
      if (kHasMore) more_at = static_cast<const More_*>(weight.planes[1]) + at * packed_tile_rows + in_tile;
      if (kHasScale) scale_at = static_cast<const Scale_*>(weight.planes[2]) + at * packed_tile_rows + in_tile;
      if (kHasSuper) super_at = static_cast<const Super_*>(weight.planes[3]) + (tile * n_supers + block / 8) * packed_tile_rows + in_tile;
    }
    __device__ __forceinline__ Quants quants(int load, int r) const {
      Quants q;
#pragma unroll
      for (int i = 0; i < kFirst; i++) load_words(q.w + i * kFirstWords, quants_at + (load * kFirst + i) * packed_tile_rows + r * 32);
      if (kHasMore) load_words(q.w + kFirst * kFirstWords, more_at + r * 32);
      return q;
    }
    __device__ __forceinline__ Scale scale(int r) const {
      if constexpr (kHasScale) {
        return __ldg(scale_at + r * 32);
      } else {
        return {};
      }
    }
    __device__ __forceinline__ StoredSuper super(int r) const {
      if constexpr (kHasSuper) {
        return __ldg(super_at + r * 32);
      } else {
        return {};
      }
    }
    __device__ __forceinline__ void next_block() {
      quants_at += kLoads * kFirst * packed_tile_rows;
      if (kHasMore) more_at += packed_tile_rows;
      if (kHasScale) scale_at += packed_tile_rows;
    }
    __device__ __forceinline__ void next_super() {
      if (kHasSuper) super_at += packed_tile_rows;
    }
  };
};

// ---- scales ---------------------------------------------------------------------------------------------

// weight = scale * q + minimum, for the quants that Packing<B> makes into 1 + q / 2^(B * (place + 1)).
template <int B, int P>
struct Affine {
  float c[P], b[P];
  __device__ __forceinline__ void set(float scale, float minimum) {
#pragma unroll
    for (int p = 0; p < P; p++) {
      c[p] = scale * static_cast<float>(1u << B * (p + 1));
      b[p] = minimum - c[p];
    }
  }
  // weight = scale * (q - zero)
  __device__ __forceinline__ void set_centred(float scale, float zero) {
#pragma unroll
    for (int p = 0; p < P; p++) {
      c[p] = scale * static_cast<float>(1u << B * (p + 1));
      b[p] = scale * -(zero + static_cast<float>(1u << B * (p + 1)));
    }
  }
  __device__ __forceinline__ float at(float field, int place) const { return fmaf(field, c[place], b[place]); }
};

// An integer below 2^23 in the mantissa of 2^23.
constexpr uint32_t two_to_23_bits = 0x4B000000;
constexpr float two_to_23 = 8388608.0f;
constexpr uint32_t two_to_17_bits = 0x48000000;
constexpr float two_to_17 = 131072.0f;

__device__ __forceinline__ float low_half(uint32_t word) { return half_bits_to_float(word & 0xFFFF); }
__device__ __forceinline__ float high_half(uint32_t word) { return half_bits_to_float(word >> 16); }

// What the blocks of 32 weights with scales of their own have in common: no super block.
template <class Base>
struct Blocks : Base {
  using Super = Nothing;
  __device__ static __forceinline__ Super open(Nothing, uint32_t) { return {}; }
  __device__ static __forceinline__ void next(Super&) {}
};

// Eight pairs of 6 bits in 96, and one or two halves: the super block of Q3_K, Q4_K and Q5_K.
struct PairsOf6 {
  uint32_t halves;
  uint32_t low, middle, high;
  __device__ __forceinline__ void next() {
    low = shift_pair_right(low, middle, 12);
    middle = shift_pair_right(middle, high, 12);
    high >>= 12;
  }
  // The pair's numbers, less an offset. The second stands six bits higher: the mantissa of 2^17 makes up for it.
  __device__ __forceinline__ float first(float offset) const { return bits_to_float(and_or(low, 0x3F, two_to_23_bits)) - (two_to_23 + offset); }
  __device__ __forceinline__ float second(float offset) const { return bits_to_float(and_or(low, 0xFC0, two_to_17_bits)) - (two_to_17 + offset); }
  __device__ static __forceinline__ PairsOf6 open(uint4 stored, uint32_t skip) {
    PairsOf6 s = {stored.x, stored.y, stored.z, stored.w};
    for (uint32_t i = 0; i < skip; i++) s.next();
    return s;
  }
};

// ---- the types ------------------------------------------------------------------------------------------

template <uint32_t kType>
struct Format;

// 4- and 5-bit types with one scale, and perhaps a minimum, for 32 weights.
template <int B, class More, bool kMinimum>
struct LegacyFormat : Blocks<Planes<32, uint4, 1, More, typename std::conditional<kMinimum, uint32_t, unsigned short>::type, Nothing>> {
  using Base = Blocks<Planes<32, uint4, 1, More, typename std::conditional<kMinimum, uint32_t, unsigned short>::type, Nothing>>;
  using typename Base::Quants;
  using typename Base::Scale;
  using typename Base::Super;
  using Factors = Affine<B, 2>;
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale) {
    Factors f;
    if (kMinimum) {
      f.set(low_half(scale), high_half(scale));
    } else {
      f.set_centred(low_half(scale), B == 4 ? 8.0f : 16.0f);
    }
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors& f, uint32_t one) {
    return f.at(Packing<B>::get(q.w, i, one), Packing<B>::place(i));
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
struct Format<M40_TYPE_Q8_0> : Blocks<Planes<16, uint4, 1, Nothing, unsigned short, Nothing>> {
  using Factors = Affine<8, 1>;
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale) {
    Factors f;
    f.set_centred(low_half(scale), 128.0f);
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors& f, uint32_t one) {
    return f.at(Packing<8>::get(q.w, i, one), 0);
  }
};

template <class More, int B>
struct PairFormat : Planes<32, uint4, 1, More, Nothing, uint4> {
  using Base = Planes<32, uint4, 1, More, Nothing, uint4>;
  using typename Base::Quants;
  using Super = PairsOf6;
  using Factors = Affine<B, 2>;
  __device__ static __forceinline__ Super open(uint4 stored, uint32_t skip) { return PairsOf6::open(stored, skip); }
  __device__ static __forceinline__ void next(Super& s) { s.next(); }
  __device__ static __forceinline__ Factors factors(const Super& s, Nothing) {
    Factors f;
    f.set(low_half(s.halves) * s.first(0), -high_half(s.halves) * s.second(0));
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors& f, uint32_t one) {
    return f.at(Packing<B>::get(q.w, i, one), Packing<B>::place(i));
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
struct Format<M40_TYPE_Q3_K> : Planes<32, uint2, 1, uint32_t, Nothing, uint4> {
  using Super = PairsOf6;
  using Factors = TwoAffines<3, 3>;
  __device__ static __forceinline__ Super open(uint4 stored, uint32_t skip) { return PairsOf6::open(stored, skip); }
  __device__ static __forceinline__ void next(Super& s) { s.next(); }
  __device__ static __forceinline__ Factors factors(const Super& s, Nothing) {
    Factors f;
    const float d = low_half(s.halves);
    f.half[0].set_centred(d * s.first(32), 4.0f);
    f.half[1].set_centred(d * s.second(32), 4.0f);
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors& f, uint32_t one) {
    return f.half[i / 16].at(Packing<3>::get(q.w, i, one), Packing<3>::place(i));
  }
};

template <>
struct Format<M40_TYPE_Q2_K> : Planes<32, uint2, 1, Nothing, unsigned short, uint32_t> {
  struct Super {
    float d, m;
  };
  using Factors = TwoAffines<2, 2>;
  __device__ static __forceinline__ Super open(uint32_t stored, uint32_t) { return {low_half(stored), -high_half(stored)}; }
  __device__ static __forceinline__ void next(Super&) {}
  __device__ static __forceinline__ Factors factors(const Super& s, unsigned short scale) {
    Factors f;
    f.half[0].set(s.d * static_cast<float>(scale & 15), s.m * static_cast<float>(scale >> 4 & 15));
    f.half[1].set(s.d * static_cast<float>(scale >> 8 & 15), s.m * static_cast<float>(scale >> 12));
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors& f, uint32_t one) {
    return f.half[i / 16].at(Packing<2>::get(q.w, i, one), Packing<2>::place(i));
  }
};

template <>
struct Format<M40_TYPE_Q6_K> : Planes<32, uint4, 1, uint2, unsigned short, unsigned short> {
  struct Super {
    float d;
  };
  using Factors = TwoAffines<6, 1>;
  __device__ static __forceinline__ Super open(unsigned short stored, uint32_t) { return {low_half(stored)}; }
  __device__ static __forceinline__ void next(Super&) {}
  __device__ static __forceinline__ Factors factors(const Super& s, unsigned short scale) {
    Factors f;
    f.half[0].set_centred(s.d * static_cast<float>(static_cast<signed char>(scale & 255)), 32.0f);
    f.half[1].set_centred(s.d * static_cast<float>(static_cast<signed char>(scale >> 8)), 32.0f);
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors& f, uint32_t one) {
    return f.half[i / 16].at(Packing<6>::get(q.w, i, one), 0);
  }
};

// The IQ4 types: a quant is an index into 16 values of -127 .. 113. Nibble k of a word is weight k; four nibbles choose
// four bytes of the table, values plus 127. select_bytes chooses among 8 bytes, and fills with the sign where the
// nibble is 8 or more: with zeros, as the bytes of both halves of the table are kept below 128 (the upper half lacks
// 128, which the nibble's own highest bit is then put in place for).
struct Iq4 {
  __device__ static __forceinline__ uint32_t bytes(uint32_t word, int half_word) {
    const uint32_t selector = half_word == 0 ? word : word >> 16;
    const uint32_t low = select_bytes(0x3E2C1700, 0x75695C4E, selector);
    const uint32_t high = select_bytes(0x25180C00, 0x70584434, selector ^ 0x8888);
    const uint32_t sign = select_bytes(0x80808080, 0x80808080, selector) << 7;  // 0x80 shifted out, 0xFF: bit 7 stays
    return low | high | (sign & 0x80808080);
  }
};

template <class Base_>
struct Iq4Format : Base_ {
  using typename Base_::Quants;
  using Factors = Affine<8, 1>;
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors& f, uint32_t one) {
    const uint32_t four = Iq4::bytes(q.w[i / 8], i / 4 % 2);
    const int to = 15, from = 8 * (i % 4);
    const uint32_t turned = rotate_right(four, (from - to + 32) % 32);
    return f.at(bits_to_float(and_or(turned, 255u << to, one)), 0);
  }
};

template <>
struct Format<M40_TYPE_IQ4_NL> : Iq4Format<Blocks<Planes<32, uint4, 1, Nothing, unsigned short, Nothing>>> {
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale) {
    Factors f;
    f.set_centred(low_half(scale), 127.0f);
    return f;
  }
};

template <>
struct Format<M40_TYPE_IQ4_XS> : Iq4Format<Planes<32, uint4, 1, Nothing, Nothing, uint2>> {
  struct Super {
    float d;
    uint32_t low, high;
  };
  __device__ static __forceinline__ Super open(uint2 stored, uint32_t skip) {
    Super s = {high_half(stored.y), stored.x, stored.y & 0xFFFF};
    for (uint32_t i = 0; i < skip; i++) next(s);
    return s;
  }
  __device__ static __forceinline__ void next(Super& s) {
    s.low = shift_pair_right(s.low, s.high, 6);
    s.high >>= 6;
  }
  __device__ static __forceinline__ Factors factors(const Super& s, Nothing) {
    Factors f;
    f.set_centred(s.d * (bits_to_float(and_or(s.low, 0x3F, two_to_23_bits)) - (two_to_23 + 32)), 127.0f);
    return f;
  }
};

// Floating point: 8 columns a load.
template <class First, int kFirst>
struct FloatPlanes : Blocks<Planes<8, First, kFirst, Nothing, Nothing, Nothing>> {
  using Factors = Nothing;
  __device__ static __forceinline__ Factors factors(Nothing, Nothing) { return {}; }
};

template <>
struct Format<M40_TYPE_F32> : FloatPlanes<uint4, 2> {
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors&, uint32_t) { return bits_to_float(q.w[i]); }
};

template <>
struct Format<M40_TYPE_F16> : FloatPlanes<uint4, 1> {
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors&, uint32_t) {
    return i % 2 == 0 ? low_half(q.w[i / 2]) : high_half(q.w[i / 2]);
  }
};

template <>
struct Format<M40_TYPE_BF16> : FloatPlanes<uint4, 1> {
  __device__ static __forceinline__ float weight(const Quants& q, int, int i, const Factors&, uint32_t) {
    return bits_to_float(i % 2 == 0 ? q.w[i / 2] << 16 : q.w[i / 2] & 0xFFFF0000);
  }
};

}  // namespace m40::cuda

#endif
