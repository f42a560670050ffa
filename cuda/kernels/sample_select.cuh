// The likeliest tokens of an output, found and sorted by a thread block: by histograms of the logits' bits, a bound
// that as many pass as are wanted and at most sample_most do; those are sorted.
#ifndef M40_KERNELS_SAMPLE_SELECT_CUH
#define M40_KERNELS_SAMPLE_SELECT_CUH

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../gpu/device.h"

namespace m40::cuda {

constexpr uint32_t sample_threads = 256;
constexpr uint32_t sample_warps = sample_threads / 32;
constexpr uint32_t sample_slice = 4096;      // logits of a block
constexpr uint32_t sample_most = 2048;       // tokens that are sorted; a power of two
constexpr uint32_t sample_enough = 512;      // tokens that are sorted where sampling may need any number
constexpr uint32_t sample_bins = 2048;

// Bits that rise with the logit; 0 and -0 have the same. Only -infinity (and less) has less than 0x00800000.
__device__ __forceinline__ uint32_t rising_bits(float logit) {
  const uint32_t bits = __float_as_uint(logit + 0.0f);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__device__ __forceinline__ float logit_of(uint32_t rising) {
  return __uint_as_float(rising & 0x80000000u ? rising & 0x7FFFFFFFu : ~rising);
}

// One number a candidate, larger for the likelier: by logit, the lower token where equal.
__device__ __forceinline__ unsigned long long likeliness(uint32_t rising, uint32_t token) {
  return static_cast<unsigned long long>(rising) << 32 | (0xFFFFFFFFu - token);
}
__device__ __forceinline__ uint32_t token_of(unsigned long long candidate) { return 0xFFFFFFFFu - static_cast<uint32_t>(candidate); }
__device__ __forceinline__ float logit_of_candidate(unsigned long long candidate) { return logit_of(static_cast<uint32_t>(candidate >> 32)); }

// ---- the block together; all of it calls these, and may read the result at once -----------------------------------

// shared: one value a warp.
template <class T, class Add>
__device__ __forceinline__ T block_reduce(T value, T* shared, const Add& add) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = add(value, __shfl_xor_sync(~0u, value, offset));
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  value = shared[0];
#pragma unroll
  for (uint32_t w = 1; w < sample_warps; w++) value = add(value, shared[w]);
  return value;
}

template <class T>
__device__ __forceinline__ T block_total(T value, T* shared) {
  return block_reduce(value, shared, [](T a, T b) { return a + b; });
}

// The sum of the threads' values up to and with this thread's. shared: one value a warp.
template <class T>
__device__ __forceinline__ T block_prefix(T value, T* shared) {
  const uint32_t lane = threadIdx.x % 32;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const T other = __shfl_up_sync(~0u, value, offset);
    if (lane >= static_cast<uint32_t>(offset)) value += other;
  }
  __syncthreads();
  if (lane == 31) shared[threadIdx.x / 32] = value;
  __syncthreads();
  T before = 0;
  for (uint32_t w = 0; w < threadIdx.x / 32; w++) before += shared[w];
  return before + value;
}

// apply(logit, token) for each, several of a thread's on their way at once.
template <class Apply>
__device__ __forceinline__ void for_each_logit(const float* logits, uint32_t first, uint32_t end, const Apply& apply) {
  constexpr uint32_t batch = 8;
  for (uint32_t start = first + threadIdx.x; start < end; start += batch * sample_threads) {
    float values[batch];
#pragma unroll
    for (uint32_t j = 0; j < batch; j++) values[j] = start + j * sample_threads < end ? logits[start + j * sample_threads] : 0;
#pragma unroll
    for (uint32_t j = 0; j < batch; j++) {
      if (start + j * sample_threads < end) apply(values[j], start + j * sample_threads);
    }
  }
}

// ---- the last block's work -----------------------------------------------------------------------------------------

struct SampleShared {
  // sums: of weights a bin, in three parts of 14 bits.
  union {
    struct {
      uint32_t bins[sample_bins];
      unsigned long long sorted[sample_most];
    };
    uint32_t parts[3][sample_bins];
  };
  double sums[sample_warps];
  double sum;
  unsigned long long words[sample_warps];
  unsigned long long word;
  uint32_t counts[sample_warps];
  uint32_t n;
  uint32_t found;
  uint32_t bin;
  uint32_t above;
  bool is_last;
};

// A candidate's number is at least this where it is allowed: what is forbidden has the logit -infinity.
constexpr unsigned long long least_allowed = 0x0080000000000000ull;

// A bound that at least `wanted` candidates from `least` on pass, and no more than sample_most, or (exact) just as
// many. There must be so many; of these `least` to all the block has the same.
__device__ __forceinline__ unsigned long long bound_of_likeliest(const float* logits, uint32_t columns, uint32_t wanted, bool exact, SampleShared& shared) {
  // It grows digit by digit: first of the logit's bits, then, among equal logits, of the token's.
  unsigned long long prefix = 0;                           // what the digits so far are
  uint32_t above = 0;                                      // candidates beyond the prefix
  for (uint32_t level = 0, top = 64; level < 6; level++) {
    // The lowest bit of the digit: 53, 42, 32; 21, 10, 0.
    const uint32_t shift = top - (level % 3 == 2 ? 10 : 11);
    const uint32_t n_bins = 1u << (top - shift);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < sample_bins; i += sample_threads) shared.bins[i] = 0;
    __syncthreads();
    for_each_logit(logits, 0, columns, [&](float logit, uint32_t token) {
      const unsigned long long candidate = likeliness(rising_bits(logit), token);
      if (candidate < least_allowed || (level > 0 && candidate >> top != prefix >> top)) return;
      atomicAdd(&shared.bins[static_cast<uint32_t>(candidate >> shift) & (n_bins - 1)], 1u);
    });
    __syncthreads();
    // The lowest bin that is wanted: candidates in it and above reach the wanted number. Thread 0 has the top bins.
    constexpr uint32_t each = sample_bins / sample_threads;
    uint32_t mine = 0;
    for (uint32_t j = 0; j < each; j++) mine += shared.bins[sample_bins - 1 - (threadIdx.x * each + j)];
    const uint32_t upto = above + block_prefix(mine, shared.counts);
    if (upto >= wanted && upto - mine < wanted) {
      uint32_t count = upto - mine;
      for (uint32_t j = 0; j < each; j++) {
        const uint32_t bin = sample_bins - 1 - (threadIdx.x * each + j);
        if (count + shared.bins[bin] >= wanted) {
          shared.bin = bin;
          shared.above = count;
          break;
        }
        count += shared.bins[bin];
      }
    }
    __syncthreads();
    prefix |= static_cast<unsigned long long>(shared.bin) << shift;
    above = shared.above;
    const uint32_t count = above + shared.bins[shared.bin];
    if (exact ? count == wanted : count <= sample_most) break;
    top = shift;
  }
  return prefix;
}

// Sorts the candidates from `low` up to `high`, without `high`, into shared.sorted, likeliest first. Returns how many;
// they must be no more than sample_most.
__device__ __forceinline__ uint32_t sort_range(const float* logits, uint32_t columns, unsigned long long low, unsigned long long high, SampleShared& shared) {
  __syncthreads();
  if (threadIdx.x == 0) shared.n = 0;
  __syncthreads();
  for_each_logit(logits, 0, columns, [&](float logit, uint32_t token) {
    const unsigned long long candidate = likeliness(rising_bits(logit), token);
    if (candidate >= low && candidate < high) shared.sorted[atomicAdd(&shared.n, 1u)] = candidate;
  });
  __syncthreads();
  const uint32_t n = shared.n;
  uint32_t size = 1;
  while (size < n) size *= 2;
  for (uint32_t i = n + threadIdx.x; i < size; i += sample_threads) shared.sorted[i] = 0;
  __syncthreads();
  // Bitonic (Batcher 1968), falling.
  for (uint32_t run = 2; run <= size; run *= 2) {
    for (uint32_t distance = run / 2; distance > 0; distance /= 2) {
      for (uint32_t pair = threadIdx.x; pair < size / 2; pair += sample_threads) {
        const uint32_t a = 2 * pair - (pair & (distance - 1));
        const uint32_t b = a + distance;
        const unsigned long long x = shared.sorted[a];
        const unsigned long long y = shared.sorted[b];
        if ((x < y) == ((a & run) == 0)) {
          shared.sorted[a] = y;
          shared.sorted[b] = x;
        }
      }
      __syncthreads();
    }
  }
  return n;
}

// Sorts into shared.sorted, likeliest first, at least `wanted` (or all) of the n_allowed candidates, and at most
// sample_most. Returns how many. wanted <= sample_most.
__device__ __forceinline__ uint32_t sort_likeliest(const float* logits, uint32_t columns, uint32_t n_allowed, uint32_t wanted, SampleShared& shared) {
  const unsigned long long low = n_allowed <= sample_most ? least_allowed : bound_of_likeliest(logits, columns, wanted, false, shared);
  return sort_range(logits, columns, low, ~0ull, shared);
}

}  // namespace m40::cuda

#endif
