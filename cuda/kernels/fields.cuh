// Quants of few bits in 32-bit words, arranged so that they become floats with few instructions.
//
// A quant q of B bits at the top of the mantissa of 1.0f makes it 1 + q / 2^B; right below that, in the mantissa of
// 2^B, it makes 2^B + q / 2^B. So one and_or turns a bit field into a float, without a conversion (those run at a
// quarter of the rate). One fused multiply-add subtracts the constant and scales. The factor is the same for every
// place in the mantissa; only the constant differs. P fields of a word are ready at once, P more after each rotation.
// The bits that the constant costs bound P (fields in place p lose B (p + 1) bits of the 24).
//
// Decode does without the constant. A quant that one AND leaves where it stands, below bit 23, is a subnormal float,
// q * 2^(bit - 149); the activation carries the power of two that makes up for it (input_scale() in planes.cuh). The
// fields that stand higher are read from the word rotated once.
#ifndef M40_KERNELS_FIELDS_CUH
#define M40_KERNELS_FIELDS_CUH

#include "intrinsics.cuh"

namespace m40::cuda {

// What fields are or-ed into: 2^(B p) for place p, times a power of two where a type wants that. Kept in registers.
struct Bases {
  uint32_t at[3];
  const void* table;  // of types that look quants up
};

template <int B, int kTimes = 0>
__device__ __forceinline__ Bases make_bases(const void* table = nullptr) {
  Bases bases = {};
  bases.table = table;
#pragma unroll
  for (int p = 0; p < 3; p++) bases.at[p] = in_register(static_cast<uint32_t>(127 + kTimes + B * p) << 23);
  return bases;
}

template <int B, int P>
struct Fields {
  static constexpr int kPerWord = 32 / B;
  // Where field f stands after its rotation, lowest bit. A last group that is not full uses its lowest places.
  __host__ __device__ static constexpr int position(int f) {
    const int left = kPerWord - f / P * P;
    return 23 - B * (left >= P ? f % P + 1 : P - left + f % P + 1);
  }
  __host__ __device__ static constexpr int place(int f) { return (23 - position(f)) / B - 1; }  // 0: highest
  __host__ __device__ static constexpr int rotation(int f) { return f / P * P * B % 32; }
  __host__ __device__ static constexpr uint32_t mask(int f) { return ((1u << B) - 1) << position(f); }
  // The bits of a word that no field uses: kPerWord * B and on, counted from the lowest position upward.
  __host__ __device__ static constexpr int left_over(int i) { return (23 - B * P + kPerWord * B + i) % 32; }

  // Where field f stands in its word, lowest bit; and in the word or in the word rotated by kTurn, whichever has it below
  // bit 23. A turn by half a word, and of the fields that both have there the higher place, gives every fourth column
  // the same bit.
  static constexpr int kTurn = 32 % B == 0 && B >= 4 ? 16 : 20;
  __host__ __device__ static constexpr int natural(int f) { return (position(f) + rotation(f)) % 32; }
  __host__ __device__ static constexpr bool turns(int f) { return natural(f) + B > 23 || (kTurn == 16 && natural(f) + kTurn + B <= 23); }
  __host__ __device__ static constexpr int bit(int f) { return turns(f) ? (natural(f) + 32 - kTurn) % 32 : natural(f); }

  // q * 2^(bit(f) - 149)
  __device__ static __forceinline__ float in_place(uint32_t word, int f) {
    return bits_to_float((turns(f) ? rotate_right(word, kTurn) : word) & (((1u << B) - 1) << bit(f)));
  }

  // 2^(B place(f)) + q / 2^B
  __device__ static __forceinline__ float get(uint32_t word, int f, const Bases& bases) {
    const uint32_t turned = rotation(f) == 0 ? word : rotate_right(word, rotation(f));
    return bits_to_float(and_or(turned, mask(f), bases.at[place(f)]));
  }

  __device__ static __forceinline__ uint32_t put(uint32_t q, int f) { return rotate_right(q, 32 - (position(f) + rotation(f)) % 32); }
};

// Bits [from, from + n) of word, moved to bit `to`, or-ed into bits.
__device__ __forceinline__ uint32_t move_bits(uint32_t word, int from, int n, int to, uint32_t bits) {
  const uint32_t turned = from == to ? word : rotate_right(word, (from - to + 32) % 32);
  return and_or(turned, ((1u << n) - 1) << to, bits);
}

// ---- 32 quants of B bits in B words, and weight i of them as a float ---------------------------------------------
//
// get(...) is the float that Affine takes; in_place(...) is the quant times 2^(bit(i) - 149).

template <int B>
struct Packing;

template <>
struct Packing<4> {
  using F = Fields<4, 2>;
  static constexpr int kWords = 4;
  __device__ static __forceinline__ int place(int i) { return F::place(i % 8); }
  __device__ static __forceinline__ float get(const uint32_t* words, int i, const Bases& bases) { return F::get(words[i / 8], i % 8, bases); }
  __host__ __device__ static constexpr int bit(int i) { return F::bit(i % 8); }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) { return F::in_place(words[i / 8], i % 8); }
  __device__ static void put(uint32_t* words, int i, uint32_t q) { words[i / 8] |= F::put(q, i % 8); }
};

template <>
struct Packing<2> {
  using F = Fields<2, 2>;
  static constexpr int kWords = 2;
  __device__ static __forceinline__ int place(int i) { return F::place(i % 16); }
  __device__ static __forceinline__ float get(const uint32_t* words, int i, const Bases& bases) { return F::get(words[i / 16], i % 16, bases); }
  __host__ __device__ static constexpr int bit(int i) { return F::bit(i % 16); }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) { return F::in_place(words[i / 16], i % 16); }
  __device__ static void put(uint32_t* words, int i, uint32_t q) { words[i / 16] |= F::put(q, i % 16); }
};

// 30 quants in the fields of three words; two more in the two bits that each word has left.
template <>
struct Packing<3> {
  using F = Fields<3, 3>;
  static constexpr int kWords = 3;
  __device__ static __forceinline__ int place(int i) { return i < 30 ? F::place(i % 10) : i - 30; }
  __device__ static __forceinline__ float get(const uint32_t* words, int i, const Bases& bases) {
    if (i < 30) return F::get(words[i / 10], i % 10, bases);
    const int to = i == 30 ? 20 : 17, from = F::left_over(0), odd = i - 30;
    const uint32_t low = move_bits(words[2 * odd], from, 2, to, bases.at[odd]);
    return bits_to_float(move_bits(words[1], from + odd, 1, to + 2, low));
  }
  __host__ __device__ static constexpr int bit(int i) { return i < 30 ? F::bit(i % 10) : F::left_over(0); }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) {
    if (i < 30) return F::in_place(words[i / 10], i % 10);
    const int at = F::left_over(0), odd = i - 30;
    return bits_to_float(move_bits(words[1], at + odd, 1, at + 2, words[2 * odd] & 3u << at));
  }
  __device__ static void put(uint32_t* words, int i, uint32_t q) {
    if (i < 30) {
      words[i / 10] |= F::put(q, i % 10);
    } else {
      const int from = F::left_over(0), odd = i - 30;
      words[2 * odd] |= (q & 3) << from;
      words[1] |= q >> 2 << (from + odd);
    }
  }
};

// Words 0 to 3 hold six quants of every eight; word 4 the other two of the first three eights; the last two are in the
// two bits that each word has left.
template <>
struct Packing<5> {
  using F = Fields<5, 2>;
  static constexpr int kWords = 5;
  __device__ static __forceinline__ int place(int i) { return i % 8 < 6 ? F::place(i % 8) : i < 24 ? F::place(i / 8 * 2 + i % 8 - 6) : i - 30; }
  __device__ static __forceinline__ float get(const uint32_t* words, int i, const Bases& bases) {
    if (i % 8 < 6) return F::get(words[i / 8], i % 8, bases);
    if (i < 24) return F::get(words[4], i / 8 * 2 + i % 8 - 6, bases);
    const int to = i == 30 ? 18 : 13, from = F::left_over(0), odd = i - 30;
    const uint32_t low = move_bits(words[2 * odd], from, 2, to, bases.at[odd]);
    const uint32_t middle = move_bits(words[2 * odd + 1], from, 2, to + 2, low);
    return bits_to_float(move_bits(words[4], from + odd, 1, to + 4, middle));
  }
  __host__ __device__ static constexpr int bit(int i) { return i % 8 < 6 ? F::bit(i % 8) : i < 24 ? F::bit(i / 8 * 2 + i % 8 - 6) : F::left_over(0); }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) {
    if (i % 8 < 6) return F::in_place(words[i / 8], i % 8);
    if (i < 24) return F::in_place(words[4], i / 8 * 2 + i % 8 - 6);
    const int at = F::left_over(0), odd = i - 30;
    const uint32_t middle = move_bits(words[2 * odd + 1], at, 2, at + 2, words[2 * odd] & 3u << at);
    return bits_to_float(move_bits(words[4], at + odd, 1, at + 4, middle));
  }
  __device__ static void put(uint32_t* words, int i, uint32_t q) {
    if (i % 8 < 6) {
      words[i / 8] |= F::put(q, i % 8);
    } else if (i < 24) {
      words[4] |= F::put(q, i / 8 * 2 + i % 8 - 6);
    } else {
      const int from = F::left_over(0), odd = i - 30;
      words[2 * odd] |= (q & 3) << from;
      words[2 * odd + 1] |= (q >> 2 & 3) << from;
      words[4] |= q >> 4 << (from + odd);
    }
  }
};

// Three words hold sixteen: five each, and one in the two bits that each word has left.
template <>
struct Packing<6> {
  using F = Fields<6, 1>;
  static constexpr int kWords = 6;
  __device__ static __forceinline__ int place(int) { return 0; }
  __device__ static __forceinline__ float get(const uint32_t* words, int i, const Bases& bases) {
    const uint32_t* w = words + i / 16 * 3;
    if (i % 16 < 15) return F::get(w[i % 16 / 5], i % 16 % 5, bases);
    const int from = F::left_over(0);
    const uint32_t low = move_bits(w[0], from, 2, 17, bases.at[0]);
    const uint32_t middle = move_bits(w[1], from, 2, 19, low);
    return bits_to_float(move_bits(w[2], from, 2, 21, middle));
  }
  __host__ __device__ static constexpr int bit(int i) { return i % 16 < 15 ? F::bit(i % 16 % 5) : F::left_over(0); }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) {
    const uint32_t* w = words + i / 16 * 3;
    if (i % 16 < 15) return F::in_place(w[i % 16 / 5], i % 16 % 5);
    const int at = F::left_over(0);
    const uint32_t middle = move_bits(w[1], at, 2, at + 2, w[0] & 3u << at);
    return bits_to_float(move_bits(w[2], at, 2, at + 4, middle));
  }
  __device__ static void put(uint32_t* words, int i, uint32_t q) {
    uint32_t* w = words + i / 16 * 3;
    if (i % 16 < 15) {
      w[i % 16 / 5] |= F::put(q, i % 16 % 5);
    } else {
      const int from = F::left_over(0);
      for (int k = 0; k < 3; k++) w[k] |= (q >> (2 * k) & 3) << from;
    }
  }
};

// Sixteen quants, four a word: half of a block's eight words.
template <>
struct Packing<8> {
  using F = Fields<8, 1>;
  static constexpr int kWords = 4;
  __device__ static __forceinline__ int place(int) { return 0; }
  __device__ static __forceinline__ float get(const uint32_t* words, int i, const Bases& bases) { return F::get(words[i / 4], i % 4, bases); }
  __host__ __device__ static constexpr int bit(int i) { return F::bit(i % 4); }
  __device__ static __forceinline__ float in_place(const uint32_t* words, int i) { return F::in_place(words[i / 4], i % 4); }
  __device__ static void put(uint32_t* words, int i, uint32_t q) { words[i / 4] |= F::put(q, i % 4); }
};

}  // namespace m40::cuda

#endif
