// Machine instructions that CUDA C++ has no name for, each with a plain C++ twin.
#ifndef M40_KERNELS_INTRINSICS_CUH
#define M40_KERNELS_INTRINSICS_CUH

#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

// (value & mask) | bits, as one instruction: with literal constants nvcc makes two of it.
__device__ __forceinline__ uint32_t and_or(uint32_t value, uint32_t mask, uint32_t bits) {
#ifdef M40_EMULATED
  return (value & mask) | bits;
#else
  uint32_t result;
  asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(result) : "r"(value), "r"(mask), "r"(bits));
  return result;
#endif
}

__device__ __forceinline__ uint32_t rotate_right(uint32_t value, uint32_t n) {
#ifdef M40_EMULATED
  return n % 32 == 0 ? value : value >> n % 32 | value << (32 - n % 32);
#else
  return __funnelshift_r(value, value, n);
#endif
}

// The lower word of high:low, shifted to the right by less than 32.
__device__ __forceinline__ uint32_t shift_right(uint32_t low, uint32_t high, uint32_t n) {
#ifdef M40_EMULATED
  return static_cast<uint32_t>((uint64_t{high} << 32 | low) >> n);
#else
  return __funnelshift_r(low, high, n);
#endif
}

// Byte i of the result is byte (selector's nibble i) % 8 of high:low; where the nibble is 8 or more, the sign of
// that byte fills the result's.
__device__ __forceinline__ uint32_t select_bytes(uint32_t low, uint32_t high, uint32_t selector) {
#ifdef M40_EMULATED
  uint32_t result = 0;
  for (int i = 0; i < 4; i++) {
    const uint32_t nibble = selector >> (4 * i) & 15;
    uint32_t byte = static_cast<uint32_t>((uint64_t{high} << 32 | low) >> (8 * (nibble & 7))) & 255;
    if (nibble & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
#else
  uint32_t result;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(result) : "r"(low), "r"(high), "r"(selector));
  return result;
#endif
}

__device__ __forceinline__ float bits_to_float(uint32_t bits) {
#ifdef M40_EMULATED
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
#else
  return __uint_as_float(bits);
#endif
}

__device__ __forceinline__ uint32_t float_to_bits(float value) {
#ifdef M40_EMULATED
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  return bits;
#else
  return __float_as_uint(value);
#endif
}

// The float of a half's bits, in the low 16.
__device__ __forceinline__ float half_bits_to_float(uint32_t bits) {
  __half_raw raw;
  raw.x = static_cast<unsigned short>(bits);
  return __half2float(__half(raw));
}

// threadIdx.x, read again: values that are computed from it after a loop then take no registers in the loop.
__device__ __forceinline__ uint32_t thread_index() {
#ifdef M40_EMULATED
  return threadIdx.x;
#else
  uint32_t index;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
  return index;
#endif
}

// A constant that the compiler cannot see through: it stays in a register, where an instruction with two of them
// would otherwise be split into two with one literal each.
__device__ __forceinline__ uint32_t in_register(uint32_t value) {
#ifndef M40_EMULATED
  asm volatile("" : "+r"(value));
#endif
  return value;
}

// A pointer that is opaque to the compiler: accesses use constant offsets from it, and no sums kept in registers.
template <class T>
__device__ __forceinline__ T* in_register(T* value) {
#ifndef M40_EMULATED
  asm volatile("" : "+l"(value));
#endif
  return value;
}

}  // namespace m40::cuda

#endif
