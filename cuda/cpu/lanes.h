// Vectors of kLanes floats, as wide as the instruction set that this file is compiled for: the few operations that
// the kernels need. Arithmetic on Floats and Ints is the compilers' vector extension.
//
// Everything is in an unnamed namespace: the linker must never take one instruction set's copy for another's.
#ifndef M40_REFERENCE_LANES_H
#define M40_REFERENCE_LANES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
// GCC's own "undefined" vectors set it off.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define M40_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define M40_UNROLL _Pragma("clang loop unroll(full)")
#define M40_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define M40_UNROLL _Pragma("GCC unroll 64")
#define M40_NO_UNROLL _Pragma("GCC unroll 1")
#endif


namespace m40::reference {
namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#elif defined(__AVX__)
constexpr int kLanes = 8;
#else
constexpr int kLanes = 4;
#endif

typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef int32_t Ints __attribute__((vector_size(kLanes * 4)));
// The same at any address.
typedef float UnalignedFloats __attribute__((vector_size(kLanes * 4), aligned(4), may_alias));

M40_INLINE Floats load(const float* values) { return *reinterpret_cast<const UnalignedFloats*>(values); }
M40_INLINE void store(float* values, Floats v) { *reinterpret_cast<UnalignedFloats*>(values) = v; }
M40_INLINE Floats broadcast(float value) {
#if defined(__AVX512F__)
  return (Floats)_mm512_set1_ps(value);
#elif defined(__AVX__)
  return (Floats)_mm256_set1_ps(value);
#elif defined(__SSE2__)
  return (Floats)_mm_set1_ps(value);
#else
  return Floats{value, value, value, value};
#endif
}
// The same bits: between vectors of one size a cast does not convert.
M40_INLINE Floats as_floats(Ints v) { return (Floats)v; }
M40_INLINE Ints as_ints(Floats v) { return (Ints)v; }

M40_INLINE Floats to_floats(Ints v) { return __builtin_convertvector(v, Floats); }

// ---- kLanes bytes or half words, widened ------------------------------------------------------------

// kLanes bytes in a register, the first ones.
#if defined(__AVX__)
typedef __m128i Bytes;
#else
typedef uint32_t Bytes;
#endif

#if defined(__AVX__)
M40_INLINE Ints widen_u8(__m128i bytes) {
#if defined(__AVX512F__)
  return (Ints)_mm512_cvtepu8_epi32(bytes);
#elif defined(__AVX2__)
  return (Ints)_mm256_cvtepu8_epi32(bytes);
#else
  return (Ints)_mm256_setr_m128i(_mm_cvtepu8_epi32(bytes), _mm_cvtepu8_epi32(_mm_srli_si128(bytes, 4)));
#endif
}
M40_INLINE Ints widen_i8(__m128i bytes) {
#if defined(__AVX512F__)
  return (Ints)_mm512_cvtepi8_epi32(bytes);
#elif defined(__AVX2__)
  return (Ints)_mm256_cvtepi8_epi32(bytes);
#else
  return (Ints)_mm256_setr_m128i(_mm_cvtepi8_epi32(bytes), _mm_cvtepi8_epi32(_mm_srli_si128(bytes, 4)));
#endif
}
// kLanes bytes from memory.
M40_INLINE __m128i load_bytes(const uint8_t* bytes) {
  return kLanes == 16 ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes))
                      : _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
}
M40_INLINE __m128i load_4_bytes(const uint8_t* bytes) {
  int32_t word;
  memcpy(&word, bytes, 4);
  return _mm_cvtsi32_si128(word);
}
#else
M40_INLINE Ints widen_i8(uint32_t bytes) {
#if defined(__SSE2__)
  const __m128i all = _mm_cvtsi32_si128(static_cast<int32_t>(bytes)), twice = _mm_unpacklo_epi8(all, all);
  return (Ints)_mm_srai_epi32(_mm_unpacklo_epi16(twice, twice), 24);
#else
  Ints v;
  M40_UNROLL for (int i = 0; i < kLanes; i++) v[i] = static_cast<int8_t>(bytes >> (8 * i));
  return v;
#endif
}
#endif

// The bytes from number kLanes * i on of words of eight: word(k) has number 8 * k lowest.
template <class Word>
M40_INLINE Bytes bytes_of_words(int i, const Word& word) {
#if defined(__AVX512F__)
  return _mm_set_epi64x(static_cast<int64_t>(word(2 * i + 1)), static_cast<int64_t>(word(2 * i)));
#elif defined(__AVX__)
  return _mm_cvtsi64_si128(static_cast<int64_t>(word(i)));
#else
  return static_cast<uint32_t>(word(i / 2) >> (32 * (i % 2)));
#endif
}

M40_INLINE Ints load_u8(const uint8_t* bytes) {
#if defined(__AVX2__)
  return widen_u8(load_bytes(bytes));
#elif defined(__AVX__)
  return (Ints)_mm256_setr_m128i(_mm_cvtepu8_epi32(load_4_bytes(bytes)), _mm_cvtepu8_epi32(load_4_bytes(bytes + 4)));
#elif defined(__SSE2__)
  int32_t all;
  memcpy(&all, bytes, 4);
  const __m128i zero = _mm_setzero_si128();
  return (Ints)_mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(all), zero), zero);
#else
  Ints v;
  M40_UNROLL for (int i = 0; i < kLanes; i++) v[i] = bytes[i];
  return v;
#endif
}

M40_INLINE Ints load_i8(const uint8_t* bytes) {
#if defined(__AVX2__)
  return widen_i8(load_bytes(bytes));
#elif defined(__AVX__)
  return (Ints)_mm256_setr_m128i(_mm_cvtepi8_epi32(load_4_bytes(bytes)), _mm_cvtepi8_epi32(load_4_bytes(bytes + 4)));
#else
  uint32_t word;
  memcpy(&word, bytes, 4);
  return widen_i8(word);
#endif
}

M40_INLINE Ints load_u16(const uint8_t* bytes) {
#if defined(__AVX512F__)
  return (Ints)_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
#elif defined(__AVX2__)
  return (Ints)_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__AVX__)
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __m128i zero = _mm_setzero_si128();
  return (Ints)_mm256_setr_m128i(_mm_unpacklo_epi16(all, zero), _mm_unpackhi_epi16(all, zero));
#elif defined(__SSE2__)
  return (Ints)_mm_unpacklo_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)), _mm_setzero_si128());
#else
  uint16_t halves[kLanes];
  memcpy(halves, bytes, sizeof halves);
  Ints v;
  M40_UNROLL for (int i = 0; i < kLanes; i++) v[i] = halves[i];
  return v;
#endif
}

// ---- half precision ---------------------------------------------------------------------------------

#if !defined(__F16C__) && !defined(__aarch64__)
typedef float Floats4 __attribute__((vector_size(16)));
typedef int32_t Ints4 __attribute__((vector_size(16)));

// The exponent moves from bias 15 to 127. A subnormal half is a normal float: give it the exponent of 2^-14 and its
// hidden bit, then subtract 2^-14. The largest exponent stands for infinity.
M40_INLINE Floats4 widen_halves(Ints4 half) {
  const Ints4 magnitude = (half & 0x7FFF) << 13;
  const Ints4 exponent = half & 0x7C00;
  const Ints4 subnormal = exponent == 0;
  const Ints4 special = exponent == 0x7C00;
  const Ints4 rebiased = magnitude + (112 << 23) + (special & (112 << 23)) + (subnormal & (1 << 23));
  const Floats4 value = (Floats4)rebiased - (Floats4)(subnormal & (113 << 23));
  return (Floats4)((Ints4)value | (half & 0x8000) << 16);
}

#endif

// kLanes half-precision numbers, exactly.
M40_INLINE Floats load_f16(const uint8_t* bytes) {
#if defined(__AVX512F__)
  return (Floats)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
#elif defined(__F16C__)
  return (Floats)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__aarch64__)
  return (Floats)vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(bytes)));
#elif defined(__AVX__)
  const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)), zero = _mm_setzero_si128();
  return (Floats)_mm256_setr_m128((__m128)widen_halves((Ints4)_mm_unpacklo_epi16(all, zero)),
                                  (__m128)widen_halves((Ints4)_mm_unpackhi_epi16(all, zero)));
#else
  return widen_halves(load_u16(bytes));
#endif
}

M40_INLINE float half(const uint8_t* bytes) {
#if defined(__F16C__)
  uint16_t bits;
  memcpy(&bits, bytes, 2);
  return _cvtsh_ss(bits);
#elif defined(__aarch64__)
  __fp16 value;
  memcpy(&value, bytes, 2);
  return value;
#else
  uint16_t bits;
  memcpy(&bits, bytes, 2);
  const uint32_t exponent = bits & 0x7C00;  // as in widen_halves; the branches are foreseen, as most scales are normal
  uint32_t word = static_cast<uint32_t>(bits & 0x7FFF) << 13;
  word += exponent == 0x7C00 ? 224u << 23 : exponent == 0 ? 113u << 23 : 112u << 23;
  word |= static_cast<uint32_t>(bits & 0x8000) << 16;
  float value;
  memcpy(&value, &word, 4);
  if (exponent == 0) value -= bits & 0x8000 ? -6.103515625e-05f : 6.103515625e-05f;
  return value;
#endif
}

// One half-precision number in every lane.
M40_INLINE Floats broadcast_half(const uint8_t* bytes) {
#if defined(__F16C__)
  int16_t bits;
  memcpy(&bits, bytes, 2);
#if defined(__AVX512F__)
  return (Floats)_mm512_cvtph_ps(_mm256_set1_epi16(bits));
#else
  return (Floats)_mm256_cvtph_ps(_mm_set1_epi16(bits));
#endif
#elif defined(__aarch64__)
  __fp16 value;
  memcpy(&value, bytes, 2);
  return broadcast(value);
#else
  return broadcast(half(bytes));
#endif
}
// ---- arithmetic -------------------------------------------------------------------------------------

// a * b + c, rounded once where the instruction set can.
M40_INLINE Floats multiply_add(Floats a, Floats b, Floats c) {
#if defined(__AVX512F__)
  return (Floats)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Floats)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
  return (Floats)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

M40_INLINE float multiply_add(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

// The lanes' sum: halves are added until one lane is left.
M40_INLINE float sum(Floats v) {
#if defined(__x86_64__)
#if defined(__AVX512F__)
  const __m256 low = _mm512_castps512_ps256((__m512)v);
  const __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)v), 1));
  const __m256 eight = _mm256_add_ps(low, high);
#elif defined(__AVX__)
  const __m256 eight = (__m256)v;
#endif
#if defined(__AVX__)
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
#else
  __m128 four = (__m128)v;
#endif
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_shuffle_ps(four, four, 1)));
#else
  float lanes[kLanes];
  store(lanes, v);
  for (int n = kLanes / 2; n > 0; n /= 2) {
    for (int i = 0; i < n; i++) lanes[i] += lanes[i + n];
  }
  return lanes[0];
#endif
}

// The value in lane i where bit i of a word is set, else 0.
M40_INLINE Ints where_set(uint32_t word, int32_t value) {
#if defined(__AVX512F__)
  return (Ints)_mm512_maskz_set1_epi32(static_cast<__mmask16>(word), value);
#elif defined(__AVX2__)
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(word)), bits), bits);
  return (Ints)_mm256_and_si256(set, _mm256_set1_epi32(value));
#elif defined(__AVX__)
  const __m128i low = _mm_setr_epi32(1, 2, 4, 8), high = _mm_setr_epi32(16, 32, 64, 128), values = _mm_set1_epi32(value);
  const __m128i words = _mm_set1_epi32(static_cast<int>(word));
  return (Ints)_mm256_setr_m128i(_mm_and_si128(_mm_cmpeq_epi32(_mm_and_si128(words, low), low), values),
                                 _mm_and_si128(_mm_cmpeq_epi32(_mm_and_si128(words, high), high), values));
#else
  const int32_t bits = static_cast<int32_t>(word);
  const Ints set = (Ints{bits, bits, bits, bits} & Ints{1, 2, 4, 8}) != 0;
  return set & value;
#endif
}

M40_INLINE Floats negative_where_set(Floats v, uint32_t word) { return as_floats(as_ints(v) ^ where_set(word, INT32_MIN)); }

// One of the two quants of 4 bits in each of kLanes bytes: which = 0 the low one, 1 the high one.
M40_INLINE Ints nibbles(const uint8_t* bytes, int which) {
#if defined(__AVX__) && !defined(__AVX2__)
  // Without wide integers, halve bytes while they are bytes.
  const __m128i all = load_bytes(bytes);
  return widen_u8(_mm_and_si128(which == 0 ? all : _mm_srli_epi16(all, 4), _mm_set1_epi8(15)));
#else
  const Ints v = load_u8(bytes);
  return which == 0 ? v & 15 : v >> 4;
#endif
}

// Quants of 4 bits that stand for equally spaced values: d * q + m, rounded once.
struct Ramp16 {
#if defined(__AVX512F__)
  __m512 values;
  M40_INLINE Ramp16(Floats d, Floats m) {
    const Floats q = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    values = (__m512)multiply_add(d, q, m);
  }
  M40_INLINE Floats at(const uint8_t* bytes, int which) const {
    const Ints q = load_u8(bytes);  // the permutation reads only four bits
    return (Floats)_mm512_permutexvar_ps((__m512i)(which == 0 ? q : q >> 4), values);
  }
#else
  Floats d, m;
  M40_INLINE Ramp16(Floats d_, Floats m_) : d(d_), m(m_) {}
  M40_INLINE Floats at(const uint8_t* bytes, int which) const {
    return multiply_add(d, to_floats(nibbles(bytes, which)), m);
  }
#endif
};

// Quants of 4 bits that stand for the 16 values of a table: of halves of bytes, or a byte each.
struct Table16 {
#if defined(__AVX512F__)
  __m512 values;
  M40_INLINE explicit Table16(const int8_t* table)
      : values((__m512)to_floats(load_i8(reinterpret_cast<const uint8_t*>(table)))) {}
  M40_INLINE Floats at(const uint8_t* bytes, int which) const {
    const Ints q = load_u8(bytes);
    return (Floats)_mm512_permutexvar_ps((__m512i)(which == 0 ? q : q >> 4), values);
  }
  M40_INLINE Floats at(Bytes q) const { return (Floats)_mm512_permutexvar_ps((__m512i)widen_u8(q), values); }
#elif defined(__AVX__)
  __m128i values;
  M40_INLINE explicit Table16(const int8_t* table) : values(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))) {}
  M40_INLINE Floats at(const uint8_t* bytes, int which) const {
    const __m128i all = load_bytes(bytes);
    return at(_mm_and_si128(which == 0 ? all : _mm_srli_epi16(all, 4), _mm_set1_epi8(15)));
  }
  M40_INLINE Floats at(Bytes q) const { return to_floats(widen_i8(_mm_shuffle_epi8(values, q))); }
#else
  const int8_t* values;
  M40_INLINE explicit Table16(const int8_t* table) : values(table) {}
  M40_INLINE Floats at(const uint8_t* bytes, int which) const {
    Floats v;
    M40_UNROLL for (int i = 0; i < kLanes; i++) v[i] = values[which == 0 ? bytes[i] & 15 : bytes[i] >> 4];
    return v;
  }
  M40_INLINE Floats at(Bytes q) const {
    Floats v;
    M40_UNROLL for (int i = 0; i < kLanes; i++) v[i] = values[q >> (8 * i) & 15];
    return v;
  }
#endif
};

}  // namespace
}  // namespace m40::reference

#endif
