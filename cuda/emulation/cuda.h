// CUDA as the kernel sources use it, for a C++ compiler: the threads of a block are fibers that run in turn
// (threads.h), blocks run one after the other, the device's memory is the host's.
//
// It has only what sm_52 has. The next call of the runtime reports these errors: a shuffle that reads a lane outside
// the mask, a barrier that some threads of the block do not reach, and lanes that wait for one another in different
// places.
#ifndef M40_EMULATION_CUDA_H
#define M40_EMULATION_CUDA_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <functional>

#include "half.h"
#include "runtime_api.h"
#include "threads.h"
#include "types.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

#define threadIdx (::m40::emulation::indices.thread)
#define blockIdx (::m40::emulation::indices.block)
#define blockDim (::m40::emulation::indices.block_size)
#define gridDim (::m40::emulation::indices.grid_size)
constexpr int warpSize = 32;

#define M40_UNPARENTHESISED(...) __VA_ARGS__
#define M40_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
  (::m40::cuda::written_down(#kernel)                              \
       ? static_cast<void>(0)                                      \
       : ::m40::emulation::launch(false, #kernel, M40_UNPARENTHESISED kernel, grid, block, shared_bytes, stream __VA_OPT__(, ) __VA_ARGS__))
#define M40_LAUNCH_TOGETHER(kernel, grid, block, shared_bytes, stream, ...) \
  ::m40::emulation::launch(true, #kernel, M40_UNPARENTHESISED kernel, grid, block, shared_bytes, stream __VA_OPT__(, ) __VA_ARGS__)
#define M40_DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(::m40::emulation::dynamic_shared)

namespace m40::emulation {

template <class... Parameters, class... Arguments>
void launch(bool together, const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
            const Arguments&... arguments) {
  // The arguments are copied as a launch copies them: converted to the parameters' types.
  enqueue_grid(together, name, grid, block, shared_bytes, stream,
               [kernel, copies = std::tuple<std::decay_t<Parameters>...>(arguments...)] { std::apply(kernel, copies); });
}

template <class T>
uint64_t to_word(T value) {
  static_assert(sizeof(T) <= 8, "a shuffle exchanges at most 8 bytes");
  uint64_t word = 0;
  memcpy(&word, &value, sizeof(T));
  return word;
}

template <class T>
T from_word(uint64_t word) {
  T value;
  memcpy(&value, &word, sizeof(T));
  return value;
}

template <class T>
T shuffle(Site site, unsigned mask, T value, uint32_t source) {
  return from_word<T>(sync_warp(WarpOperation::kShuffle, site, mask, to_word(value), source));
}

// The source lanes of the four shuffles, as the PTX manual defines them for segments of `width` lanes. A lane with a
// source outside its segment keeps its own value.
inline uint32_t indexed_lane(int source, int width) {
  return (lane() & ~static_cast<uint32_t>(width - 1)) | (static_cast<uint32_t>(source) & static_cast<uint32_t>(width - 1));
}
inline uint32_t upper_lane(unsigned delta, int width) {
  const uint32_t first = lane() & ~static_cast<uint32_t>(width - 1);
  return lane() >= first + delta ? lane() - delta : lane();
}
inline uint32_t lower_lane(unsigned delta, int width) {
  const uint32_t last = lane() | static_cast<uint32_t>(width - 1);
  return lane() + delta <= last ? lane() + delta : lane();
}
inline uint32_t crossed_lane(int lane_mask, int width) {
  const uint32_t last = lane() | static_cast<uint32_t>(width - 1);
  const uint32_t source = lane() ^ static_cast<uint32_t>(lane_mask);
  return source <= last ? source : lane();
}

}  // namespace m40::emulation

// ---- synchronisation ------------------------------------------------------------------------------------------

#define M40_SITE (::m40::emulation::Site{__FILE__, __LINE__})
#define __syncthreads() ((void)::m40::emulation::sync_block(M40_SITE, 0))
#define __syncthreads_count(predicate) (::m40::emulation::sync_block(M40_SITE, (predicate)))
#define __syncthreads_or(predicate) (::m40::emulation::sync_block(M40_SITE, (predicate)) != 0)
#define __syncthreads_and(predicate) (::m40::emulation::sync_block(M40_SITE, !(predicate)) == 0)
#define __syncwarp(...) ::m40::emulation::sync_lanes(M40_SITE __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(mask, value, ...) ::m40::emulation::shfl(M40_SITE, mask, value, __VA_ARGS__)
#define __shfl_up_sync(mask, value, ...) ::m40::emulation::shfl_up(M40_SITE, mask, value, __VA_ARGS__)
#define __shfl_down_sync(mask, value, ...) ::m40::emulation::shfl_down(M40_SITE, mask, value, __VA_ARGS__)
#define __shfl_xor_sync(mask, value, ...) ::m40::emulation::shfl_xor(M40_SITE, mask, value, __VA_ARGS__)
#define __ballot_sync(mask, predicate) ::m40::emulation::ballot(M40_SITE, mask, predicate)
#define __any_sync(mask, predicate) (::m40::emulation::ballot(M40_SITE, mask, predicate) != 0)
#define __all_sync(mask, predicate) (::m40::emulation::ballot(M40_SITE, mask, !(predicate)) == 0)

namespace m40::emulation {

inline void sync_lanes(Site site, unsigned mask = 0xFFFFFFFFu) { sync_warp(WarpOperation::kSync, site, mask, 0, 0); }
inline unsigned ballot(Site site, unsigned mask, int predicate) {
  return static_cast<unsigned>(sync_warp(WarpOperation::kVote, site, mask, predicate != 0, 0));
}
template <class T>
T shfl(Site site, unsigned mask, T value, int source, int width = 32) {
  return shuffle(site, mask, value, indexed_lane(source, width));
}
template <class T>
T shfl_up(Site site, unsigned mask, T value, unsigned delta, int width = 32) {
  return shuffle(site, mask, value, upper_lane(delta, width));
}
template <class T>
T shfl_down(Site site, unsigned mask, T value, unsigned delta, int width = 32) {
  return shuffle(site, mask, value, lower_lane(delta, width));
}
template <class T>
T shfl_xor(Site site, unsigned mask, T value, int lane_mask, int width = 32) {
  return shuffle(site, mask, value, crossed_lane(lane_mask, width));
}

}  // namespace m40::emulation

inline void __threadfence() {}
inline void __threadfence_block() {}
// The host's threads run meanwhile.
inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// ---- atomic operations: one thread runs at a time ----------------------------------------------------------------

#define M40_ATOMIC(name, T, expression) \
  inline T name(T* address, T value) {  \
    const T old = *address;             \
    *address = expression;              \
    return old;                         \
  }
#define M40_ATOMICS(T)                                     \
  M40_ATOMIC(atomicAdd, T, old + value)                    \
  M40_ATOMIC(atomicExch, T, value)                         \
  M40_ATOMIC(atomicMin, T, old < value ? old : value)      \
  M40_ATOMIC(atomicMax, T, old > value ? old : value)      \
  M40_ATOMIC(atomicAnd, T, old & value)                    \
  M40_ATOMIC(atomicOr, T, old | value)                     \
  M40_ATOMIC(atomicXor, T, old ^ value)                    \
  inline T atomicCAS(T* address, T compare, T value) {     \
    const T old = *address;                                \
    if (old == compare) *address = value;                  \
    return old;                                            \
  }
M40_ATOMICS(int)
M40_ATOMICS(unsigned)
M40_ATOMICS(unsigned long long)
M40_ATOMIC(atomicAdd, float, old + value)
M40_ATOMIC(atomicExch, float, value)
M40_ATOMIC(atomicSub, int, old - value)
M40_ATOMIC(atomicSub, unsigned, old - value)
M40_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
M40_ATOMIC(atomicDec, unsigned, old == 0 || old > value ? value : old - 1)
#undef M40_ATOMICS
#undef M40_ATOMIC

// ---- loads -------------------------------------------------------------------------------------------------------

template <class T>
inline T __ldg(const T* address) {
  return *address;
}
template <class T>
inline T __ldcg(const T* address) {
  return *address;
}
template <class T>
inline T __ldcv(const T* address) {
  return *address;
}
template <class T>
inline T __ldcs(const T* address) {
  return *address;
}
template <class T>
inline void __stcg(T* address, T value) {
  *address = value;
}
template <class T>
inline void __stcs(T* address, T value) {
  *address = value;
}

// ---- bits --------------------------------------------------------------------------------------------------------

inline unsigned __float_as_uint(float value) { return m40::emulation::from_word<unsigned>(m40::emulation::to_word(value)); }
inline int __float_as_int(float value) { return m40::emulation::from_word<int>(m40::emulation::to_word(value)); }
inline float __uint_as_float(unsigned bits) { return m40::emulation::from_word<float>(bits); }
inline float __int_as_float(int bits) { return m40::emulation::from_word<float>(m40::emulation::to_word(bits)); }
inline long long __double_as_longlong(double value) { return m40::emulation::from_word<long long>(m40::emulation::to_word(value)); }
inline double __longlong_as_double(long long bits) { return m40::emulation::from_word<double>(m40::emulation::to_word(bits)); }
inline int __double2hiint(double value) { return static_cast<int>(__double_as_longlong(value) >> 32); }
inline int __double2loint(double value) { return static_cast<int>(__double_as_longlong(value)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low)));
}
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline int __popcll(unsigned long long value) { return __builtin_popcountll(value); }
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(static_cast<unsigned>(value)); }
inline int __clzll(long long value) { return value == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(value)); }
inline int __ffs(int value) { return __builtin_ffs(value); }
inline int __ffsll(long long value) { return __builtin_ffsll(value); }
inline unsigned __brev(unsigned value) {
  unsigned result = 0;
  for (int i = 0; i < 32; i++) result |= (value >> i & 1) << (31 - i);
  return result;
}
// Four bytes of the eight of (high, low), as the selectors' nibbles say; bit 3 of a nibble spreads the byte's sign.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selectors) {
  const uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; i++) {
    const unsigned selector = selectors >> (4 * i) & 15;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (selector & 7))) & 0xFF;
    if (selector & 8) byte = byte & 0x80 ? 0xFF : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32); }
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}

// ---- arithmetic ----------------------------------------------------------------------------------------------------

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __fsqrt_rn(float a) { return sqrtf(a); }
inline float __frsqrt_rn(float a) { return 1 / sqrtf(a); }
inline float rsqrtf(float a) { return 1 / sqrtf(a); }
inline double rsqrt(double a) { return 1 / sqrt(a); }
inline float __expf(float a) { return expf(a); }
inline float __logf(float a) { return logf(a); }
inline float __log2f(float a) { return log2f(a); }
inline float __powf(float a, float b) { return powf(a, b); }
inline float __sinf(float a) { return sinf(a); }
inline float __cosf(float a) { return cosf(a); }
inline float __saturatef(float a) { return !(a > 0) ? 0 : a > 1 ? 1 : a; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline float __int2float_rn(int a) { return static_cast<float>(a); }
inline float __uint2float_rn(unsigned a) { return static_cast<float>(a); }
inline float __double2float_rn(double a) { return static_cast<float>(a); }

// Conversions of the hardware: they saturate, and make 0 of what is not a number.
inline int __float2int_rn(float a) { return a != a ? 0 : a >= 2147483648.f ? INT32_MAX : a < -2147483648.f ? INT32_MIN : static_cast<int>(rintf(a)); }
inline int __float2int_rz(float a) { return a != a ? 0 : a >= 2147483648.f ? INT32_MAX : a < -2147483648.f ? INT32_MIN : static_cast<int>(a); }
inline unsigned __float2uint_rn(float a) { return !(a > 0) ? 0 : a >= 4294967296.f ? UINT32_MAX : static_cast<unsigned>(rintf(a)); }
inline unsigned __float2uint_rz(float a) { return !(a > 0) ? 0 : a >= 4294967296.f ? UINT32_MAX : static_cast<unsigned>(a); }
inline unsigned long long __double2ull_rn(double a) {
  return !(a > 0) ? 0 : a >= 18446744073709551616. ? UINT64_MAX : static_cast<unsigned long long>(rint(a));
}
inline unsigned long long __double2ull_rz(double a) {
  return !(a > 0) ? 0 : a >= 18446744073709551616. ? UINT64_MAX : static_cast<unsigned long long>(a);
}
inline double __ull2double_rn(unsigned long long a) { return static_cast<double>(a); }

#define M40_MIN_MAX(T)                                   \
  inline T min(T a, T b) { return b < a ? b : a; }       \
  inline T max(T a, T b) { return a < b ? b : a; }
M40_MIN_MAX(int)
M40_MIN_MAX(unsigned)
M40_MIN_MAX(long)
M40_MIN_MAX(unsigned long)
M40_MIN_MAX(long long)
M40_MIN_MAX(unsigned long long)
#undef M40_MIN_MAX
inline unsigned min(int a, unsigned b) { return min(static_cast<unsigned>(a), b); }
inline unsigned min(unsigned a, int b) { return min(a, static_cast<unsigned>(b)); }
inline unsigned max(int a, unsigned b) { return max(static_cast<unsigned>(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, static_cast<unsigned>(b)); }
// Of a number and what is none, the number.
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

#endif
