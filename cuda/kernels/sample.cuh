// Draws a token an output, as m40_sampling describes it, from logits that are never sorted whole.
//
// Each output's logits are cut into slices. A block a slice: whether they are finite, their largest, the sum of their
// exponentials, and the largest after penalties, biases and mask (which go to a copy). The last block of an output
// adds the slices up. A greedy output is done then. For the others it finds, by histograms of the logits' bits, a
// bound that at least as many tokens pass as the draw can need and at most sample_most do, sorts those, and walks
// them in float64. A draw that goes further than they reach (a flat distribution without top_k) first finds, by a
// histogram of weights over the logits, the stretch of logits that it falls into, and walks that; the sums are of
// whole numbers, which no order of adding changes.
#ifndef M40_KERNELS_SAMPLE_CUH
#define M40_KERNELS_SAMPLE_CUH

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../runtime/device.h"

namespace m40::cuda {

constexpr uint32_t sample_threads = 512;
constexpr uint32_t sample_warps = sample_threads / 32;
constexpr uint32_t sample_slice = 8192;      // logits of a block
constexpr uint32_t sample_most = 2048;       // tokens that are sorted; a power of two
constexpr uint32_t sample_enough = 512;      // tokens that are sorted where the draw may need any number
constexpr uint32_t sample_bins = 2048;

// What a slice's block leaves for the last one.
struct SampleSlice {
  float largest;        // of the model's logits
  float sum;            // of exp(logit - largest)
  uint32_t finite;
  uint32_t n_allowed;
  unsigned long long best;  // likeliest(): of the adjusted logits
};

struct SampleKernelArgs {
  const float* logits;
  uint32_t logits_stride;
  uint32_t columns;
  uint32_t n_slices;
  const m40_sampling* sampling;
  const m40_token_count* token_counts;
  const m40_token_bias* token_biases;
  const uint32_t* masks;
  uint32_t mask_words;
  m40_sample* samples;
  uint32_t* failures;
  float* adjusted;         // [outputs][columns]: -infinity where the mask forbids
  SampleSlice* slices;     // [outputs][n_slices]
  uint32_t* counters;      // [outputs]
};

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

// Philox4x32-10 (Salmon et al. 2011): the first word for counter (counter, 0, 0, 0).
__device__ __forceinline__ uint32_t philox(uint32_t key_low, uint32_t key_high, uint32_t counter) {
  uint32_t c0 = counter, c1 = 0, c2 = 0, c3 = 0;
  for (int round = 0; round < 10; round++) {
    const uint32_t a_high = __umulhi(0xD2511F53u, c0), a_low = 0xD2511F53u * c0;
    const uint32_t b_high = __umulhi(0xCD9E8D57u, c2), b_low = 0xCD9E8D57u * c2;
    c0 = b_high ^ c1 ^ key_low;
    c1 = b_low;
    c2 = a_high ^ c3 ^ key_high;
    c3 = a_low;
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return c0;
}

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
__device__ __forceinline__ T block_sum(T value, T* shared) {
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
};

// A candidate's number is at least this where it is allowed: what is forbidden has the logit -infinity.
constexpr unsigned long long least_allowed = 0x0080000000000000ull;

// A bound that at least `wanted` candidates from `least` on pass, and no more than sample_most, or (exact) just as many.
// There must be so many; of these `least` to all the block has the same.
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

// Sorts the candidates from `low` on and before `high` into shared.sorted, likeliest first. Returns how many; they must
// be no more than sample_most.
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

// Proportional to the probability; 1 for the likeliest. In float64, as the description's order of sums is not ours.
constexpr double weight_unit = 2199023255552.0;  // 2^41

struct SampleWeights {
  double best;
  double temperature;
  double min_p;

  __device__ __forceinline__ double of(float logit) const { return exp((static_cast<double>(logit) - best) / temperature); }

  // As a whole number of 2^-41sts; 0 for what min_p drops. What is below e^-8 takes a float's exponential: its error is
  // as far below what float64's would be felt for in the others.
  __device__ __forceinline__ unsigned long long fixed(float logit) const {
    const float exponent = __fdiv_rn(logit - static_cast<float>(best), static_cast<float>(temperature));
    const bool small = exponent < -8;
    const float rough = small ? expf(exponent) : 0;
    const bool near_min_p = min_p > 0 && fabsf(rough - static_cast<float>(min_p)) <= 1e-4f * static_cast<float>(min_p);
    const double weight = small && !near_min_p ? static_cast<double>(rough) : of(logit);
    if (weight < min_p) return 0;
    return __double2ull_rn(weight * weight_unit);
  }
  // Whether min_p keeps it.
  __device__ __forceinline__ bool keeps(float logit) const { return min_p == 0 || of(logit) >= min_p; }
};

// ---- walks over the sorted -------------------------------------------------------------------------------------------

// The weights of the first n sorted: each thread has some that follow one another, and what came before them.
struct SortedWeights {
  static constexpr uint32_t each = sample_most / sample_threads;
  double mine[each];
  double before;
  uint32_t n;

  __device__ __forceinline__ SortedWeights(const SampleWeights& weights, uint32_t n_sorted, SampleShared& shared) : n(n_sorted) {
    double sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) {
      const uint32_t i = threadIdx.x * each + j;
      mine[j] = i < n ? weights.of(logit_of_candidate(shared.sorted[i])) : 0;
      sum += mine[j];
    }
    before = block_prefix(sum, shared.sums) - sum;
  }

  // The first whose weights, added from the likeliest on, are more than `target` (or reach it); `among` if none of the
  // first `among` is. sum: of the weights up to and with it, or of the first `among`.
  __device__ __forceinline__ uint32_t find(uint32_t among, double target, bool reach, SampleShared& shared, double* sum) const {
    double passed = before;
    double passed_found = 0;
    uint32_t found = among;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) {
      const uint32_t i = threadIdx.x * each + j;
      if (i >= among || found < among) continue;
      passed += mine[j];
      const bool enough = reach ? passed >= target : passed > target;
      if (enough || i + 1 == among) passed_found = passed;
      if (enough) found = i;
    }
    const uint32_t first = block_reduce(found, shared.counts, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
    if (threadIdx.x == min(first, among - 1) / each) shared.sum = passed_found;
    __syncthreads();
    *sum = shared.sum;
    return first;
  }
};

// ---- walks over all ---------------------------------------------------------------------------------------------------

// The weights of all candidates from `low` on, by their logits: bins of equal width from the likeliest down, of which
// each thread has some that follow one another, and what came before them.
struct WeightHistogram {
  static constexpr uint32_t each = sample_bins / sample_threads;
  static constexpr uint32_t round = 1u << 18;  // candidates whose parts add up in 32 bits
  unsigned long long mine[each];
  unsigned long long before;
  unsigned long long total;
  float best;
  float bins_a_unit;

  // Falls as the logit does. The last bin has all that is left: less than e^-32 each.
  __device__ __forceinline__ uint32_t bin_of(float logit) const {
    return static_cast<uint32_t>(fminf(__fmul_rn(best - logit, bins_a_unit), static_cast<float>(sample_bins - 1)));
  }

  __device__ __forceinline__ WeightHistogram(const float* logits, uint32_t columns, const SampleWeights& weights, unsigned long long low, SampleShared& shared)
      : best(static_cast<float>(weights.best)), bins_a_unit(static_cast<float>(sample_bins / 32) / static_cast<float>(weights.temperature)) {
#pragma unroll
    for (uint32_t j = 0; j < each; j++) mine[j] = 0;
    for (uint32_t start = 0; start < columns; start += round) {
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < 3 * sample_bins; i += sample_threads) shared.parts[i / sample_bins][i % sample_bins] = 0;
      __syncthreads();
      const uint32_t end = min(columns - start, round) + start;
      for_each_logit(logits, start, end, [&](float logit, uint32_t token) {
        const unsigned long long candidate = likeliness(rising_bits(logit), token);
        if (candidate < low) return;
        const unsigned long long weight = weights.fixed(logit);
        const uint32_t bin = bin_of(logit);
        const uint32_t middle = static_cast<uint32_t>(weight >> 14) & 0x3FFF;
        const uint32_t high = static_cast<uint32_t>(weight >> 28);
        atomicAdd(&shared.parts[0][bin], static_cast<uint32_t>(weight) & 0x3FFF);
        if (middle != 0) atomicAdd(&shared.parts[1][bin], middle);
        if (high != 0) atomicAdd(&shared.parts[2][bin], high);
      });
      __syncthreads();
#pragma unroll
      for (uint32_t j = 0; j < each; j++) {
        const uint32_t bin = threadIdx.x * each + j;
        mine[j] += shared.parts[0][bin] + (static_cast<unsigned long long>(shared.parts[1][bin]) << 14) +
                   (static_cast<unsigned long long>(shared.parts[2][bin]) << 28);
      }
    }
    unsigned long long sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) sum += mine[j];
    const unsigned long long upto = block_prefix(sum, shared.words);
    before = upto - sum;
    __syncthreads();
    if (threadIdx.x == sample_threads - 1) shared.word = upto;
    __syncthreads();
    total = shared.word;
  }

  // The first bin with which the sum is more than `target` (or reaches it); the last that has any weight where none is.
  // upto_bin: the sum before it.
  __device__ __forceinline__ uint32_t find(unsigned long long target, bool reach, SampleShared& shared, unsigned long long* upto_bin) const {
    unsigned long long passed = before;
    uint32_t found = sample_bins;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) {
      passed += mine[j];
      const bool enough = passed == total || (reach ? passed >= target : passed > target);
      if (enough && found == sample_bins) found = threadIdx.x * each + j;
    }
    const uint32_t first = block_reduce(found, shared.counts, [](uint32_t a, uint32_t b) { return a < b ? a : b; });
    if (threadIdx.x == first / each) {
      unsigned long long sum = before;
#pragma unroll
      for (uint32_t j = 0; j < each; j++) sum += j < first % each ? mine[j] : 0;
      shared.word = sum;
    }
    __syncthreads();
    *upto_bin = shared.word;
    return first;
  }
};

// The candidate with which the weights, added from the likeliest on, come to more than `target` (or reach it). sum: of
// the weights up to and with it. low: candidates before it do not count.
__device__ __forceinline__ unsigned long long walk_all(const float* logits, uint32_t columns, const SampleWeights& weights, const WeightHistogram& histogram,
                                                       unsigned long long low, double target, bool reach, SampleShared& shared, double* sum) {
  unsigned long long upto_bin;
  const double fixed_target = target * weight_unit;
  const uint32_t bin = histogram.find(reach ? static_cast<unsigned long long>(ceil(fixed_target)) : static_cast<unsigned long long>(fixed_target), reach, shared, &upto_bin);
  double passed = static_cast<double>(upto_bin) / weight_unit;
  // The logits of the bin, as rising bits, and how many they are.
  uint32_t least = 0xFFFFFFFFu;
  uint32_t most = 0;
  uint32_t count = 0;
  for_each_logit(logits, 0, columns, [&](float logit, uint32_t token) {
    const uint32_t rising = rising_bits(logit);
    if (likeliness(rising, token) < low || histogram.bin_of(logit) != bin) return;
    least = min(least, rising);
    most = max(most, rising);
    count++;
  });
  least = block_reduce(least, shared.counts, [](uint32_t a, uint32_t b) { return min(a, b); });
  most = block_reduce(most, shared.counts, [](uint32_t a, uint32_t b) { return max(a, b); });
  count = block_sum(count, shared.counts);
  // Too many to sort: of half of the logits, whichever the target is in.
  while (count > sample_most && least < most) {
    const uint32_t middle = least + (most - least + 1) / 2;
    unsigned long long upper_sum = 0;
    uint32_t upper = 0;
    for (uint32_t i = threadIdx.x; i < columns; i += sample_threads) {
      const uint32_t rising = rising_bits(logits[i]);
      if (likeliness(rising, i) < low || rising < middle || rising > most) continue;
      upper_sum += weights.fixed(logits[i]);
      upper++;
    }
    upper = block_sum(upper, shared.counts);
    const double with_upper = passed + static_cast<double>(block_sum(upper_sum, shared.words)) / weight_unit;
    if (reach ? with_upper >= target : with_upper > target) {
      least = middle;
      count = upper;
    } else {
      most = middle - 1;
      count -= upper;
      passed = with_upper;
    }
  }
  const unsigned long long range_low = max(low, static_cast<unsigned long long>(least) << 32);
  if (count <= sample_most) {
    const unsigned long long range_high = (static_cast<unsigned long long>(most) + 1) << 32;
    const uint32_t n = sort_range(logits, columns, range_low, most == 0xFFFFFFFFu ? ~0ull : range_high, shared);
    const SortedWeights sorted(weights, n, shared);
    double upto;
    const uint32_t found = sorted.find(n, target - passed, reach, shared, &upto);
    *sum = passed + upto;
    const unsigned long long candidate = shared.sorted[min(found, n - 1)];
    __syncthreads();
    return candidate;
  }
  // All have the same logit: how many of them, in the order of their tokens.
  const double weight = weights.of(logit_of(least));
  const double steps = (target - passed) / weight;
  const uint32_t wanted = static_cast<uint32_t>(fmin(fmax(reach ? ceil(steps) : floor(steps) + 1, 1.0), static_cast<double>(count)));
  *sum = passed + wanted * weight;
  // Each thread has the tokens of a stretch.
  const uint32_t stretch = (columns + sample_threads - 1) / sample_threads;
  const uint32_t first = min(threadIdx.x * stretch, columns);
  const uint32_t end = min(first + stretch, columns);
  const auto is_one = [&](uint32_t i) { return rising_bits(logits[i]) == least && likeliness(least, i) >= low; };
  uint32_t here = 0;
  for (uint32_t i = first; i < end; i++) here += is_one(i);
  uint32_t before = block_prefix(here, shared.counts) - here;
  for (uint32_t i = first; i < end; i++) {
    if (is_one(i) && ++before == wanted) shared.found = i;
  }
  __syncthreads();
  return likeliness(least, shared.found);
}

// Steps 3 and 4 of m40_sampling for a temperature above 0.
__device__ __forceinline__ uint32_t draw(const m40_sampling& sampling, const float* logits, uint32_t columns, uint32_t n_allowed,
                                         unsigned long long best, SampleShared& shared) {
  const SampleWeights weights = {static_cast<double>(logit_of_candidate(best)), static_cast<double>(sampling.temperature),
                                 static_cast<double>(sampling.min_p)};
  const double uniform = philox(sampling.seed_low, sampling.seed_high, sampling.counter) / 4294967296.0;
  const bool limited = sampling.top_k != 0 && sampling.top_k <= sample_most;
  uint32_t n = 0;
  // Whether what is not sorted may be kept too.
  bool more = n_allowed > sample_most && !limited;
  if (!more || sampling.min_p > 0) {
    n = sort_likeliest(logits, columns, n_allowed, limited ? sampling.top_k : sample_enough, shared);
    if (sampling.top_k != 0) n = min(n, sampling.top_k);
  }
  if (sampling.min_p > 0) {
    // Weights fall: those that are kept are the first.
    uint32_t kept = 0;
    for (uint32_t i = threadIdx.x; i < n; i += sample_threads) kept += weights.keeps(logit_of_candidate(shared.sorted[i]));
    const uint32_t n_kept = block_sum(kept, shared.counts);
    if (n_kept < n) more = false;
    n = n_kept;
  }

  double kept = 0;
  if (!more) {
    const SortedWeights sorted(weights, n, shared);
    uint32_t n_kept = n;
    sorted.find(n, INFINITY, false, shared, &kept);
    if (sampling.top_p < 1) n_kept = min(sorted.find(n, kept * static_cast<double>(sampling.top_p), true, shared, &kept) + 1, n);
    double sum;
    const uint32_t drawn = sorted.find(n_kept, kept * uniform, false, shared, &sum);
    return token_of(shared.sorted[min(drawn, n_kept - 1)]);
  }

  // The kept are too many to sort.
  const bool bounded = sampling.top_k != 0 && sampling.top_k < n_allowed;
  unsigned long long low = least_allowed;
  if (bounded) low = bound_of_likeliest(logits, columns, sampling.top_k, true, shared);
  const WeightHistogram histogram(logits, columns, weights, low, shared);
  kept = static_cast<double>(histogram.total) / weight_unit;
  double sum;
  if (sampling.top_p < 1) walk_all(logits, columns, weights, histogram, low, kept * static_cast<double>(sampling.top_p), true, shared, &kept);
  return token_of(walk_all(logits, columns, weights, histogram, low, kept * uniform, false, shared, &sum));
}

// Goes through a list of entries {token, value} and calls apply(entry) for those of tokens in [first, end), a slice:
// entries that name the same token in their order, others in parallel.
template <class Entry, class Apply>
__device__ __forceinline__ void for_each_entry(const Entry* entries, uint32_t n_entries, uint32_t first, uint32_t end, SampleShared& shared,
                                               const Apply& apply) {
  uint32_t* named = shared.bins;  // a bit a token of the slice
  static_assert(sample_slice / 32 <= sample_bins, "a bit a token");
  Entry* taken = reinterpret_cast<Entry*>(shared.sorted);
  for (uint32_t start = 0; start < n_entries; start += sample_threads) {
    const uint32_t i = start + threadIdx.x;
    Entry entry = {};
    if (i < n_entries) entry = entries[i];
    const uint32_t token = static_cast<uint32_t>(entry.token);
    const bool inside = i < n_entries && token >= first && token < end;
    for (uint32_t word = threadIdx.x; word < sample_slice / 32; word += sample_threads) named[word] = 0;
    __syncthreads();
    bool again = false;
    if (inside) {
      const uint32_t bit = 1u << ((token - first) % 32);
      again = atomicOr(&named[(token - first) / 32], bit) & bit;
    }
    if (!__syncthreads_or(again)) {
      if (inside) apply(entry);
      __syncthreads();
      continue;
    }
    // A token named twice: its entries belong to the thread of the first of them.
    const uint32_t upto = block_prefix(static_cast<uint32_t>(inside), shared.counts);
    if (inside) taken[upto - 1] = entry;
    if (threadIdx.x == sample_threads - 1) shared.n = upto;
    __syncthreads();
    const uint32_t n = shared.n;
    if (threadIdx.x < n) {
      const Entry mine = taken[threadIdx.x];
      for (uint32_t j = 0; j < n; j++) {
        if (taken[j].token != mine.token) continue;
        if (j < threadIdx.x) break;
        apply(taken[j]);
      }
    }
    __syncthreads();
  }
}

// The copy of a slice's logits with penalties, biases and mask.
__device__ __forceinline__ void adjust_slice(const SampleKernelArgs& args, const m40_sampling& sampling, const float* logits, float* adjusted,
                                             uint32_t first, uint32_t end, SampleShared& shared) {
  const auto limited = [](double value) { return static_cast<float>(fmin(fmax(value, -static_cast<double>(FLT_MAX)), static_cast<double>(FLT_MAX))); };
  for (uint32_t i = first + threadIdx.x; i < end; i += sample_threads) adjusted[i] = logits[i];
  __syncthreads();
  const double penalty = static_cast<double>(sampling.repetition_penalty);
  const double frequency = static_cast<double>(sampling.frequency_penalty);
  const double presence = static_cast<double>(sampling.presence_penalty);
  for_each_entry(args.token_counts + sampling.first_token_count, sampling.n_token_counts, first, end, shared, [&](const m40_token_count& entry) {
    const double logit = static_cast<double>(adjusted[entry.token]);
    const double repeated = logit > 0 ? __ddiv_rn(logit, penalty) : __dmul_rn(logit, penalty);
    const double less = __dadd_rn(repeated, -__dmul_rn(entry.count, frequency));
    adjusted[entry.token] = limited(__dadd_rn(less, entry.count > 0 ? -presence : 0));
  });
  for_each_entry(args.token_biases + sampling.first_token_bias, sampling.n_token_biases, first, end, shared, [&](const m40_token_bias& entry) {
    adjusted[entry.token] = limited(__dadd_rn(static_cast<double>(adjusted[entry.token]), static_cast<double>(entry.bias)));
  });
  __syncthreads();
  if (sampling.mask == M40_NONE) return;
  const uint32_t* mask = args.masks + uint64_t{sampling.mask} * args.mask_words;
  for (uint32_t i = first + threadIdx.x; i < end; i += sample_threads) {
    if ((mask[i / 32] >> (i % 32) & 1) == 0) adjusted[i] = -INFINITY;
  }
  __syncthreads();
}

// Grid: slices, outputs.
__global__ void __launch_bounds__(sample_threads, 1) sample_kernel(SampleKernelArgs args) {
  __shared__ SampleShared shared;
  const uint32_t output = blockIdx.y;
  const m40_sampling sampling = args.sampling[output];
  const float* logits = args.logits + uint64_t{output} * args.logits_stride;
  const bool adjusts = sampling.n_token_counts != 0 || sampling.n_token_biases != 0 || sampling.mask != M40_NONE;
  float* copy = args.adjusted + uint64_t{output} * args.columns;
  const float* adjusted = adjusts ? copy : logits;
  SampleSlice* slices = args.slices + uint64_t{output} * args.n_slices;

  {
    const uint32_t first = blockIdx.x * sample_slice;
    const uint32_t end = min(first + sample_slice, args.columns);
    constexpr uint32_t each = sample_slice / sample_threads;
    float values[each];
    bool finite = true;
    unsigned long long best = 0;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) {
      const uint32_t i = first + j * sample_threads + threadIdx.x;
      values[j] = i < end ? logits[i] : -INFINITY;
    }
#pragma unroll
    for (uint32_t j = 0; j < each; j++) {
      const uint32_t i = first + j * sample_threads + threadIdx.x;
      if (i >= end) continue;
      finite = finite && fabsf(values[j]) <= FLT_MAX;
      best = max(best, likeliness(rising_bits(values[j]), i));
    }
    const auto larger = [](unsigned long long a, unsigned long long b) { return max(a, b); };
    best = block_reduce(best, shared.words, larger);
    const float largest = logit_of_candidate(best);
    float sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) sum += expf(values[j] - largest);
    const uint32_t all_finite = __syncthreads_and(finite);
    sum = block_sum(sum, reinterpret_cast<float*>(shared.counts));
    uint32_t n_allowed = end - first;
    if (adjusts) {
      adjust_slice(args, sampling, logits, copy, first, end, shared);
      best = 0;
      n_allowed = 0;
      for (uint32_t i = first + threadIdx.x; i < end; i += sample_threads) {
        if (copy[i] == -INFINITY) continue;
        best = max(best, likeliness(rising_bits(copy[i]), i));
        n_allowed++;
      }
      best = block_reduce(best, shared.words, larger);
      n_allowed = block_sum(n_allowed, shared.counts);
    }
    if (threadIdx.x == 0) slices[blockIdx.x] = {largest, sum, all_finite, n_allowed, best};
  }

  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    shared.found = atomicAdd(args.counters + output, 1u) == args.n_slices - 1;
    if (shared.found) args.counters[output] = 0;
  }
  __syncthreads();
  const bool is_last = shared.found;
  if (!is_last) return;
  __threadfence();

  // Each warp for itself, a slice a lane.
  const uint32_t lane = threadIdx.x % 32;
  float largest = -INFINITY;
  uint32_t not_finite = 0;
  unsigned long long best = 0;
  uint32_t n_allowed = 0;
  for (uint32_t s = lane; s < args.n_slices; s += 32) {
    largest = fmaxf(largest, __ldcg(&slices[s].largest));
    not_finite |= __ldcg(&slices[s].finite) == 0;
    best = max(best, __ldcg(&slices[s].best));
    n_allowed += __ldcg(&slices[s].n_allowed);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, offset));
    not_finite |= __shfl_xor_sync(~0u, not_finite, offset);
    best = max(best, __shfl_xor_sync(~0u, best, offset));
    n_allowed += __shfl_xor_sync(~0u, n_allowed, offset);
  }
  if (not_finite || n_allowed == 0) {
    if (threadIdx.x == 0) args.failures[output] = not_finite ? 1 : 2;
    return;
  }
  double sum = 0;
  for (uint32_t s = lane; s < args.n_slices; s += 32) {
    sum += static_cast<double>(__ldcg(&slices[s].sum)) * exp(static_cast<double>(__ldcg(&slices[s].largest)) - static_cast<double>(largest));
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  const double log_sum = static_cast<double>(largest) + log(sum);

  uint32_t token = token_of(best);
  if (sampling.temperature != 0) token = draw(sampling, adjusted, args.columns, n_allowed, best, shared);
  m40_sample& sample = args.samples[output];
  const uint32_t n_top = min(sampling.n_top_logprobs, args.columns);
  if (n_top > 0) sort_likeliest(logits, args.columns, args.columns, n_top, shared);
  if (threadIdx.x < M40_MAX_TOP_LOGPROBS) {
    const bool is_top = threadIdx.x < n_top;
    sample.top_tokens[threadIdx.x] = is_top ? static_cast<int32_t>(token_of(shared.sorted[threadIdx.x])) : -1;
    sample.top_logprobs[threadIdx.x] = is_top ? static_cast<float>(static_cast<double>(logit_of_candidate(shared.sorted[threadIdx.x])) - log_sum) : 0;
  }
  if (threadIdx.x == 0) {
    sample.token = static_cast<int32_t>(token);
    sample.logprob = static_cast<float>(static_cast<double>(logits[token]) - log_sum);
    args.failures[output] = 0;
  }
}

}  // namespace m40::cuda

#endif
