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

#define M40_GROUPS M40_NO_UNROLL

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
M40_INLINE Floats broadcast(float value) { return Floats{} + value; }
// The same bits: between vectors of one size a cast does not convert.
M40_INLINE Floats as_floats(Ints v) { return (Floats)v; }
M40_INLINE Ints as_ints(Floats v) { return (Ints)v; }

M40_INLINE Floats to_floats(Ints v) { return __builtin_convertvector(v, Floats); }

// ---- kLanes bytes or half words, widened ------------------------------------------------------------

M40_INLINE Ints load_u8(const uint8_t* bytes) {
#if defined(__AVX512F__)
  return (Ints)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__AVX2__)
  return (Ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__AVX__)
  const __m128i all = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
  return (Ints)_mm256_setr_m128i(_mm_cvtepu8_epi32(all), _mm_cvtepu8_epi32(_mm_srli_si128(all, 4)));
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
#if defined(__AVX512F__)
  return (Ints)_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__AVX2__)
  return (Ints)_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__AVX__)
  const __m128i all = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
  return (Ints)_mm256_setr_m128i(_mm_cvtepi8_epi32(all), _mm_cvtepi8_epi32(_mm_srli_si128(all, 4)));
#elif defined(__SSE2__)
  int32_t all;
  memcpy(&all, bytes, 4);
  const __m128i twice = _mm_unpacklo_epi8(_mm_cvtsi32_si128(all), _mm_cvtsi32_si128(all));
  return (Ints)_mm_srai_epi32(_mm_unpacklo_epi16(twice, twice), 24);
#else
  Ints v;
  M40_UNROLL for (int i = 0; i < kLanes; i++) v[i] = static_cast<int8_t>(bytes[i]);
  return v;
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

// kLanes half-precision numbers, exactly.
M40_INLINE Floats load_f16(const uint8_t* bytes) {
#if defined(__AVX512F__)
  return (Floats)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)));
#elif defined(__F16C__)
  return (Floats)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
#elif defined(__aarch64__)
  return (Floats)vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(bytes)));
#else
  // The exponent moves from bias 15 to 127. The smallest (subnormal) halves are normal floats: give them the
  // exponent of 2^-14 and its hidden bit, then subtract 2^-14. The largest exponent stands for infinity.
  const Ints half = load_u16(bytes);
  const Ints magnitude = (half & 0x7FFF) << 13;
  const Ints exponent = magnitude & (0x1F << 23);
  const Ints subnormal = exponent == 0;
  const Ints special = exponent == (0x1F << 23);
  const Ints rebiased = magnitude + (112 << 23) + (special & (112 << 23)) + (subnormal & (1 << 23));
  const Floats value = as_floats(rebiased) - as_floats(subnormal & (113 << 23));
  return as_floats(as_ints(value) | ((half & 0x8000) << 16));
#endif
}

M40_INLINE float half(const uint8_t* bytes) {
#if defined(__F16C__) || defined(__AVX512F__)
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
  const uint32_t exponent = bits & 0x7C00;
  uint32_t word = static_cast<uint32_t>(bits & 0x7FFF) << 13;
  word += exponent == 0x7C00 ? 224u << 23 : exponent == 0 ? 113u << 23 : 112u << 23;
  float value, correction = exponent == 0 ? 6.103515625e-05f : 0.0f;
  memcpy(&value, &word, 4);
  value -= correction;
  return bits & 0x8000 ? -value : value;
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

// table[index] a lane; only the index's low four bits count.
struct Table16 {
#if defined(__AVX512F__)
  Floats values;
  M40_INLINE explicit Table16(const float* table) : values(load(table)) {}
  M40_INLINE explicit Table16(Floats v) : values(v) {}
  M40_INLINE Floats operator[](Ints index) const {
    return (Floats)_mm512_permutexvar_ps((__m512i)index, (__m512)values);
  }
#elif defined(__AVX2__)
  Floats low, high;
  M40_INLINE explicit Table16(const float* table) : low(load(table)), high(load(table + 8)) {}
  M40_INLINE Floats operator[](Ints index) const {
    const __m256 of_low = _mm256_permutevar8x32_ps((__m256)low, (__m256i)index);
    const __m256 of_high = _mm256_permutevar8x32_ps((__m256)high, (__m256i)index);
    return (Floats)_mm256_blendv_ps(of_low, of_high, (__m256)as_floats(index << 28));
  }
#else
  const float* table;
  M40_INLINE explicit Table16(const float* t) : table(t) {}
  M40_INLINE Floats operator[](Ints index) const {
    Floats v;
    M40_UNROLL for (int i = 0; i < kLanes; i++) v[i] = table[index[i] & 15];
    return v;
  }
#endif
};

}  // namespace
}  // namespace m40::reference

#endif
