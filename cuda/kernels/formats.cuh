// What each tensor type's planes mean: how a kernel walks them and turns quants into floats. Every kernel that reads
// weights does it with these, so that a weight is the same float to the bit wherever it is used.
//
// Format<type> has
//   kColumns           columns that one load of quants covers; kLoads of them make a block of 32
//   Quants             what such a load leaves in registers
//   Cursor             pointers into the planes at a row and a block; rows 32, 64 and 96 below it are at r = 1, 2, 3
//   StoredSuper, Super a super block's entry, and what of it all its blocks need
//   kSuperWords        words of that entry that hold scales of 8 / kSuperWords blocks each
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

// kInOrder: a load that stays near its place; others are moved to where they are waited for, which saves registers.
template <bool kInOrder>
__device__ __forceinline__ void load_words(uint32_t* to, const uint4* from) {
  const uint4 v = kInOrder ? __ldcg(from) : __ldg(from);
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
template <bool kInOrder>
__device__ __forceinline__ void load_words(uint32_t* to, const uint2* from) {
  const uint2 v = kInOrder ? __ldcg(from) : __ldg(from);
  to[0] = v.x, to[1] = v.y;
}
template <bool kInOrder>
__device__ __forceinline__ void load_words(uint32_t* to, const uint32_t* from) { to[0] = kInOrder ? __ldcg(from) : __ldg(from); }
template <bool kInOrder>
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

  // Where the arrays of a block start, in bytes from the block, and what a row has in each.
  static constexpr int kMoreAt = kLoads * kFirst * static_cast<int>(sizeof(First_)) * packed_tile_rows;
  static constexpr int kScaleAt = kMoreAt + (kHasMore ? static_cast<int>(sizeof(More_)) * packed_tile_rows : 0);
  static constexpr int kBlockBytes = kScaleAt + (kHasScale ? static_cast<int>(sizeof(Scale_)) * packed_tile_rows : 0);

  struct Cursor {
    const uint8_t* block_at;  // this row's place among 128 is added where a size is known
    const Super_* super_at;
    uint32_t in_tile;

    __device__ __forceinline__ Cursor(const PackedWeight& weight, uint32_t row, uint32_t block) {
      const size_t tile = row / packed_tile_rows;
      in_tile = row % packed_tile_rows;
      block_at = static_cast<const uint8_t*>(weight.planes[0]) + (tile * packed_blocks(weight.columns) + block) * kBlockBytes + in_tile * sizeof(First_);
      if (kHasSuper) super_at = static_cast<const Super_*>(weight.planes[1]) + (tile * packed_supers(weight.columns) + block / 8) * packed_tile_rows + in_tile;
    }
    // block_at is at the row's first array; another array has smaller values, or greater ones.
    template <class T>
    __device__ __forceinline__ const T* array(int at, int r) const {
      return reinterpret_cast<const T*>(block_at + at - static_cast<int>(in_tile) * (static_cast<int>(sizeof(First_)) - static_cast<int>(sizeof(T)))) + r * 32;
    }
    // Load number `load` of the cursor's block, of the row at r.
    template <bool kInOrder = false>
    __device__ __forceinline__ Quants quants(int load, int r) const {
      Quants q;
#pragma unroll
      for (int i = 0; i < kFirst; i++) load_words<kInOrder>(q.w + i * kFirstWords, reinterpret_cast<const First_*>(block_at) + (load * kFirst + i) * packed_tile_rows + r * 32);
      if constexpr (kHasMore) load_words<kInOrder>(q.w + kFirst * kFirstWords, array<More_>(kMoreAt, r));
      return q;
    }
    __device__ __forceinline__ Scale scale(int r) const {
      if constexpr (kHasScale) {
        return __ldg(array<Scale_>(kScaleAt, r));
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
    // Word i of the super block's entry.
    __device__ __forceinline__ uint32_t super_word(int r, uint32_t i) const { return __ldg(reinterpret_cast<const uint32_t*>(super_at + r * 32) + i); }
    __device__ __forceinline__ void next_block() { block_at += kBlockBytes; }
    __device__ __forceinline__ void next_super() {
      if (kHasSuper) super_at += packed_tile_rows;
    }
  };
};

// ---- scales ---------------------------------------------------------------------------------------------

// weight = scale * q + minimum, for the quants that Packing<B> makes into 2^(B place) + q / 2^B.
template <int B, int P>
struct Affine {
  float c, b[P];
  __device__ __forceinline__ void set(float scale, float minimum) {
    c = scale * static_cast<float>(1u << B);
#pragma unroll
    for (int p = 0; p < P; p++) b[p] = fmaf(scale, -static_cast<float>(1u << B * (p + 1)), minimum);
  }
  // weight = scale * (q - zero)
  __device__ __forceinline__ void set_centred(float scale, float zero) {
    c = scale * static_cast<float>(1u << B);
#pragma unroll
    for (int p = 0; p < P; p++) b[p] = scale * -(zero + static_cast<float>(1u << B * (p + 1)));
  }
  __device__ __forceinline__ float at(float field, int place) const { return fmaf(field, c, b[place]); }
};

// An integer below 2^23 in the mantissa of 2^23.
constexpr uint32_t two_to_23_bits = 0x4B000000;
constexpr float two_to_23 = 8388608.0f;
constexpr uint32_t two_to_17_bits = 0x48000000;
constexpr float two_to_17 = 131072.0f;

__device__ __forceinline__ float low_half(uint32_t word) { return half_bits_to_float(word & 0xFFFF); }
__device__ __forceinline__ float high_half(uint32_t word) { return half_bits_to_float(word >> 16); }

// Types whose blocks of 32 weights have scales of their own: no super block.
template <class Base>
struct Blocks : Base {
  using Super = Nothing;
  static constexpr int kSuperWords = 0;
  __device__ static __forceinline__ Super open(Nothing) { return {}; }
};

// The super block of Q3_K, Q4_K and Q5_K: a word for every two blocks, each with a pair of 6-bit numbers for either; the
// highest bytes of the four words are d and dmin.
struct PairsOf6 {
  uint32_t halves;  // d, dmin
  __device__ static __forceinline__ PairsOf6 open(uint4 stored) {
    const uint32_t low = select_bytes(stored.x, stored.y, 0x0073), high = select_bytes(stored.z, stored.w, 0x0073);
    return {select_bytes(low, high, 0x5410)};
  }
  // A block's pair, each less an offset. The second number stands six bits higher: the mantissa of 2^17 makes up for it.
  __device__ static __forceinline__ uint32_t pair(uint32_t word, uint32_t block) { return word >> block % 2 * 12; }
  __device__ static __forceinline__ float first(uint32_t pair, float offset) { return bits_to_float(and_or(pair, 0x3F, two_to_23_bits)) - (two_to_23 + offset); }
  __device__ static __forceinline__ float second(uint32_t pair, float offset) { return bits_to_float(and_or(pair, 0xFC0, two_to_17_bits)) - (two_to_17 + offset); }
};

__device__ __forceinline__ uint32_t word_of(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }
__device__ __forceinline__ uint32_t word_of(const uint2& v, int i) { return i == 0 ? v.x : v.y; }
template <class T>
__device__ __forceinline__ uint32_t word_of(const T&, int) { return 0; }

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
  static constexpr int kBits = B;
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale, uint32_t, uint32_t) {
    Factors f;
    if (kMinimum) {
      f.set(low_half(scale), high_half(scale));
    } else {
      f.set_centred(low_half(scale), B == 4 ? 8.0f : 16.0f);
    }
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
struct Format<M40_TYPE_Q8_0> : Blocks<Planes<16, uint4, 1, Nothing, unsigned short, Nothing>> {
  using Factors = Affine<8, 1>;
  static constexpr int kBits = 8;
  __device__ static __forceinline__ Factors factors(const Super&, Scale scale, uint32_t, uint32_t) {
    Factors f;
    f.set_centred(low_half(scale), 128.0f);
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.at(Packing<8>::get(q.w, i, bases), 0);
  }
};

template <class More, int B>
struct PairFormat : Planes<32, uint4, 1, More, Nothing, uint4> {
  using Base = Planes<32, uint4, 1, More, Nothing, uint4>;
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
struct Format<M40_TYPE_Q3_K> : Planes<32, uint2, 1, uint32_t, Nothing, uint4> {
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
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.half[i / 16].at(Packing<3>::get(q.w, i, bases), Packing<3>::place(i));
  }
};

template <>
struct Format<M40_TYPE_Q2_K> : Planes<32, uint2, 1, Nothing, unsigned short, uint32_t> {
  using Super = uint32_t;
  static constexpr int kSuperWords = 0;
  using Factors = TwoAffines<2, 2>;
  static constexpr int kBits = 2;
  __device__ static __forceinline__ Super open(uint32_t stored) { return stored; }
  __device__ static __forceinline__ Factors factors(Super s, unsigned short scale, uint32_t, uint32_t) {
    const float d = low_half(s), m = -high_half(s);
    Factors f;
    f.half[0].set(d * static_cast<float>(scale & 15), m * static_cast<float>(scale >> 4 & 15));
    f.half[1].set(d * static_cast<float>(scale >> 8 & 15), m * static_cast<float>(scale >> 12));
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.half[i / 16].at(Packing<2>::get(q.w, i, bases), Packing<2>::place(i));
  }
};

template <>
struct Format<M40_TYPE_Q6_K> : Planes<32, uint4, 1, uint2, unsigned short, unsigned short> {
  using Super = float;
  static constexpr int kSuperWords = 0;
  using Factors = TwoAffines<6, 1>;
  static constexpr int kBits = 6;
  __device__ static __forceinline__ Super open(unsigned short stored) { return low_half(stored); }
  __device__ static __forceinline__ Factors factors(Super d, unsigned short scale, uint32_t, uint32_t) {
    Factors f;
    f.half[0].set_centred(d * static_cast<float>(static_cast<signed char>(scale & 255)), 32.0f);
    f.half[1].set_centred(d * static_cast<float>(static_cast<signed char>(scale >> 8)), 32.0f);
    return f;
  }
  __device__ static __forceinline__ float weight(const Quants& q, int i, const Factors& f, const Bases& bases) {
    return f.half[i / 16].at(Packing<6>::get(q.w, i, bases), 0);
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
};

// Two words with four scales of 6 bits each; their highest bytes are d.
template <>
struct Format<M40_TYPE_IQ4_XS> : Iq4Format<Planes<32, uint4, 1, Nothing, Nothing, uint2>> {
  using Super = float;
  static constexpr int kSuperWords = 2;
  __device__ static __forceinline__ Super open(uint2 stored) { return half_bits_to_float(select_bytes(stored.x, stored.y, 0x0073) & 0xFFFF); }
  __device__ static __forceinline__ Factors factors(Super d, Nothing, uint32_t word, uint32_t block) {
    const float scale = bits_to_float(and_or(word >> block % 4 * 6, 0x3F, two_to_23_bits)) - (two_to_23 + 32);
    Factors f;
    f.set_centred(d * scale, 127.0f);
    return f;
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
  const Bases bases = make_bases<F::kBits>();
  uint32_t word = 0;
  if constexpr (F::kSuperWords != 0) word = cursor.super_word(0, block % 8 / (8 / F::kSuperWords));
  const typename F::Factors factors = F::factors(F::open(cursor.super(0)), cursor.scale(0), word, block);
#pragma unroll
  for (int load = 0; load < F::kLoads; load++) {
    const typename F::Quants quants = cursor.quants(load, 0);
#pragma unroll
    for (int i = 0; i < F::kColumns; i++) put(load * F::kColumns + i, F::weight(quants, i, factors, bases));
  }
}

}  // namespace m40::cuda

#endif
