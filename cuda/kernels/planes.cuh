// What tensor types share: how a kernel walks the planes of a packed weight, and how scales become floats.
#ifndef M40_KERNELS_PLANES_CUH
#define M40_KERNELS_PLANES_CUH

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

// First: what a row's quants are loaded by; kFirst such loads follow each other (in planes of 128 rows); More: from the
// plane of more quants.
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
  using StoredScale = Scale_;
  using Scale = typename std::conditional<kHasScale, uint32_t, Nothing>::type;  // smaller ones would be widened again and again
  using StoredSuper = Super_;

  // The default; a type overrides it where it differs.
  using Expanded = Quants;
  static constexpr int kTableBytes = 0;
  static constexpr bool kSumsParts = false, kMinimum = false, kSkips = false;
  static constexpr int kParts = 1, kDeltas = 0, kBasesTimes = 0;
  __host__ __device__ static constexpr bool repeats_by_four() { return true; }
  __device__ static __forceinline__ Quants expand(const Quants& q, const Scale&, const Bases&) { return q; }
  __device__ static __forceinline__ const void* table() { return nullptr; }
  template <class Super>
  __device__ static __forceinline__ void skip_blocks(Super&, uint32_t) {}

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

// ---- quants in place ------------------------------------------------------------------------------------
//
// A field times its activation has one unit, wherever the field stands: the activation is multiplied by input_scale().
// With a unit of 2^-64, activations may be up to 2^42, and sums above 2^-61 have all their bits.

constexpr int field_unit = -64;

// 2^exponent
__device__ __forceinline__ float power_of_two(int exponent) { return bits_to_float(static_cast<uint32_t>(127 + exponent) << 23); }
// What makes 2^field_unit of bit number `bit` of a word, taken for a float.
__device__ __forceinline__ float bit_scale(int bit) { return power_of_two(149 + field_unit - bit); }

// What a sum of fields times activations is multiplied by, of N parts of a block; and what the sum of a part's
// activations is, where the type has a minimum.
template <int N>
struct PartScales {
  float scale[N];
};
template <int N>
struct PartAffines {
  float scale[N], minimum[N];
};

// A type whose quants decode leaves in place. Packed: has bit(i) and in_place(words, i). kZero: the quant of 0, where
// there is no minimum.
template <class Base_, class Packed, int N, int kZero, bool kMinimum_>
struct InPlace : Base_ {
  using PartFactors = typename std::conditional<kMinimum_, PartAffines<N>, PartScales<N>>::type;
  static constexpr bool kSumsParts = true, kMinimum = kMinimum_, kFactorsInUnits = false;
  static constexpr int kParts = N;
  __host__ __device__ static constexpr int field_bit(int column) { return Packed::bit(column % Base_::kColumns); }
  // Whether a column's bit is that of the column four before it.
  __host__ __device__ static constexpr bool repeats_by_four() {
    for (int i = 4; i < Base_::kColumns; i++) {
      if (field_bit(i) != field_bit(i - 4)) return false;
    }
    return true;
  }
  __device__ static __forceinline__ float input_scale(int column) { return bit_scale(field_bit(column)); }
  __device__ static __forceinline__ float part_sum_scale() { return kMinimum ? 1.0f : -static_cast<float>(kZero) * power_of_two(field_unit); }
  template <class Fields_>
  __device__ static __forceinline__ float field(const Fields_& q, int i) { return Packed::in_place(q.w, i); }
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
constexpr float two_to_64 = 18446744073709551616.0f;
constexpr uint32_t two_to_17_bits = 0x48000000;
constexpr float two_to_17 = 131072.0f;

__device__ __forceinline__ float low_half(uint32_t word) { return half_bits_to_float(word & 0xFFFF); }
__device__ __forceinline__ float high_half(uint32_t word) { return half_bits_to_float(word >> 16); }

// Types with a scale for each block of 32 weights: no super block.
template <class Base>
struct Blocks : Base {
  using Super = Nothing;
  static constexpr int kSuperWords = 0;
  __device__ static __forceinline__ Super open(Nothing) { return {}; }
};

// The super block of Q3_K, Q4_K and Q5_K: a word for every two blocks, each with a pair of 6-bit numbers for either;
// the highest bytes of the four words are d and dmin.
struct PairsOf6 {
  uint32_t halves;  // d, dmin
  __device__ static __forceinline__ PairsOf6 open(uint4 stored) {
    const uint32_t low = select_bytes(stored.x, stored.y, 0x0073), high = select_bytes(stored.z, stored.w, 0x0073);
    return {select_bytes(low, high, 0x5410)};
  }
  // A block's pair, each less an offset. The second number stands six bits higher: the mantissa of 2^17 makes up for
  // it.
  __device__ static __forceinline__ uint32_t pair(uint32_t word, uint32_t block) { return word >> block % 2 * 12; }
  __device__ static __forceinline__ float first(uint32_t pair, float offset) { return bits_to_float(and_or(pair, 0x3F, two_to_23_bits)) - (two_to_23 + offset); }
  // first() in units of 2^field_unit.
  __device__ static __forceinline__ float first_in_units(uint32_t pair, float offset) {
    constexpr uint32_t base = two_to_23_bits + (static_cast<uint32_t>(-field_unit) << 23);
    return bits_to_float(and_or(pair, 0x3F, base)) - (two_to_23 + offset) * two_to_64;
  }
  __device__ static __forceinline__ float second(uint32_t pair, float offset) { return bits_to_float(and_or(pair, 0xFC0, two_to_17_bits)) - (two_to_17 + offset); }
};

// d * (2 s + 1) * times, exactly, for an s of at most four bits from bit `at` on and a power of two.
__device__ __forceinline__ float odd_multiple(float d, uint32_t word, int at, uint32_t mask, float times = 1.0f) {
  const int in_place = at <= 16 ? at : 0;  // in the mantissa of 2^23 it may stand where it is
  const float s = bits_to_float(and_or(at == in_place ? word : word >> at, mask << in_place, two_to_23_bits));
  const float unit = 2.0f * times / static_cast<float>(1 << in_place);
  return d * fmaf(s, unit, times - unit * two_to_23);
}

__device__ __forceinline__ uint32_t word_of(const uint4& v, int i) { return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w; }
__device__ __forceinline__ uint32_t word_of(const uint2& v, int i) { return i == 0 ? v.x : v.y; }
template <class T>
__device__ __forceinline__ uint32_t word_of(const T&, int) { return 0; }

// What block number `block` of a row needs of its super block.
template <class F>
__device__ __forceinline__ typename F::Super open_at(const typename F::StoredSuper& stored, uint32_t block) {
  typename F::Super super = F::open(stored);
  F::skip_blocks(super, block % 8);
  return super;
}

// Puts a type's table into shared memory, and waits for it, where it has one.
template <class F>
__device__ __forceinline__ void stage_table(void* shared, uint32_t n_threads) {
  static_assert(F::kTableBytes % 16 == 0, "whole loads");
  if constexpr (F::kTableBytes > 0) {
    const uint4* const from = static_cast<const uint4*>(F::table());
    for (uint32_t i = threadIdx.x; i < F::kTableBytes / 16; i += n_threads) static_cast<uint4*>(shared)[i] = __ldg(from + i);
    __syncthreads();
  }
}

// A block's factors of parts. Where a type's own factors are no more than scales, they are the same.
template <class F, class Super, class Scale>
__device__ __forceinline__ typename F::PartFactors part_factors(const Super& super, const Scale& scale, uint32_t word, uint32_t block) {
  if constexpr (std::is_same<typename F::Factors, typename F::PartFactors>::value) {
    typename F::PartFactors f = F::factors(super, scale, word, block);
#pragma unroll
    for (int p = 0; !F::kFactorsInUnits && p < F::kParts; p++) f.scale[p] *= two_to_64;
    return f;
  } else {
    return F::part_factors(super, scale, word, block);
  }
}

template <uint32_t kType>
struct Format;

}  // namespace m40::cuda

#endif
