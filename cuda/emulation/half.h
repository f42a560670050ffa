// CUDA's half-precision types: storage and conversions, no arithmetic (sm_52 has none).
#ifndef M40_EMULATION_HALF_H
#define M40_EMULATION_HALF_H

#include <stdint.h>
#include <string.h>

#include "types.h"

namespace m40::emulation {

// IEEE binary16 to binary32; exact.
inline float half_bits_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
  const uint32_t exponent = (half >> 10) & 31;
  uint32_t mantissa = half & 0x3FF;
  uint32_t bits;
  if (exponent == 31) {
    bits = sign | 0x7F800000 | mantissa << 13;
  } else if (exponent != 0) {
    bits = sign | (exponent + 112) << 23 | mantissa << 13;
  } else {
    // A subnormal half is so many units of 2^-24.
    const float value = static_cast<float>(mantissa) * 5.9604644775390625e-8f;
    memcpy(&bits, &value, 4);
    bits |= sign;
  }
  float result;
  memcpy(&result, &bits, 4);
  return result;
}

// Rounds to nearest, ties to even.
inline uint16_t float_to_half_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<uint16_t>(sign | 0x7FFF);  // not a number, as the hardware writes it
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7C00);  // 65536 and more
  if (magnitude < 0x33000000) return sign;                                   // less than half the smallest subnormal
  const uint32_t exponent = magnitude >> 23;
  uint32_t mantissa = magnitude & 0x7FFFFF;
  uint32_t shift = 13;
  uint32_t result;
  if (exponent < 113) {
    mantissa |= 0x800000;
    shift = 126 - exponent;
    result = mantissa >> shift;
  } else {
    result = (exponent - 112) << 10 | mantissa >> 13;
  }
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  const uint32_t half_way = 1u << (shift - 1);
  if (rest > half_way || (rest == half_way && (result & 1))) result++;  // may carry into the exponent: that is right
  return static_cast<uint16_t>(sign | result);
}

}  // namespace m40::emulation

struct __half_raw {
  unsigned short x;
};

struct __half {
  unsigned short bits;

  __half() = default;
  __half(__half_raw raw) : bits(raw.x) {}
  explicit __half(float value) : bits(m40::emulation::float_to_half_bits(value)) {}
  operator float() const { return m40::emulation::half_bits_to_float(bits); }
  operator __half_raw() const { return {bits}; }
};

struct alignas(4) __half2 {
  __half x, y;
};

using half = __half;
using half2 = __half2;

inline __half __ushort_as_half(unsigned short bits) { return __half(__half_raw{bits}); }
inline unsigned short __half_as_ushort(__half value) { return value.bits; }
inline float __half2float(__half value) { return value; }
inline __half __float2half(float value) { return __half(value); }
inline __half __float2half_rn(float value) { return __half(value); }
inline float2 __half22float2(__half2 value) { return make_float2(value.x, value.y); }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 value) { return {__half(value.x), __half(value.y)}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half __low2half(__half2 value) { return value.x; }
inline __half __high2half(__half2 value) { return value.y; }
inline float __low2float(__half2 value) { return value.x; }
inline float __high2float(__half2 value) { return value.y; }

#endif
