// Draws a token an output, as m40_sampling describes it, from logits that are never sorted whole.
//
// Each output's logits are cut into slices. A block a slice: whether they are finite, their largest, the sum of their
// exponentials, and the largest after penalties, biases and mask (which go to a copy). The last block of an output
// adds the slices up. A greedy output is done then. For the others it finds, by histograms of the logits' bits, a
// bound that at least as many tokens pass as the draw can need and at most sample_most do, sorts those, and walks
// them in float64. A draw that goes further than they reach (a flat distribution without top_k) is found by
// bisection over the logits' bits instead, with sums in whole numbers, which no order of adding changes.
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

// ---- the last block's work -----------------------------------------------------------------------------------------

struct SampleShared {
  uint32_t bins[sample_bins];
  unsigned long long sorted[sample_most];
  double sums[sample_warps];
  double sum;
  unsigned long long words[sample_warps];
  uint32_t counts[sample_warps];
  uint32_t n;
  uint32_t found;
  uint32_t bin;
  uint32_t above;
};

// Sorts into shared.sorted, likeliest first, all candidates of `logits` that pass a bound which at least `wanted`
// (or all there are) pass and at most sample_most. Returns how many. wanted <= sample_most.
__device__ __forceinline__ uint32_t sort_likeliest(const float* logits, uint32_t columns, uint32_t n_allowed, uint32_t wanted, SampleShared& shared) {
  // The bound grows digit by digit: first of the logit's bits, then, among equal logits, of the token's.
  unsigned long long bound = static_cast<unsigned long long>(0x00800000u) << 32;  // all that are allowed
  if (n_allowed > sample_most) {
    constexpr uint32_t digits[6] = {53, 42, 32, 21, 10, 0};  // lowest bit of each digit
    unsigned long long prefix = 0;                           // what the digits so far are
    uint32_t above = 0;                                      // candidates beyond the prefix
    for (uint32_t level = 0; level < 6; level++) {
      const uint32_t shift = digits[level];
      const uint32_t top = level == 0 ? 64 : digits[level - 1];
      const uint32_t n_bins = 1u << (top - shift);
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < sample_bins; i += sample_threads) shared.bins[i] = 0;
      __syncthreads();
      for (uint32_t i = threadIdx.x; i < columns; i += sample_threads) {
        const unsigned long long candidate = likeliness(rising_bits(logits[i]), i);
        if (candidate < static_cast<unsigned long long>(0x00800000u) << 32) continue;
        if (level > 0 && candidate >> top != prefix >> top) continue;
        atomicAdd(&shared.bins[static_cast<uint32_t>(candidate >> shift) & (n_bins - 1)], 1u);
      }
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
      const bool fits = above + shared.bins[shared.bin] <= sample_most;
      bound = prefix;
      if (fits) break;
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) shared.n = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < columns; i += sample_threads) {
    const unsigned long long candidate = likeliness(rising_bits(logits[i]), i);
    if (candidate >= bound) shared.sorted[atomicAdd(&shared.n, 1u)] = candidate;
  }
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
        const uint32_t a = pair / distance * distance * 2 + pair % distance;
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

// Proportional to the probability; 1 for the likeliest. In float64, as the description's order of sums is not ours.
struct SampleWeights {
  double best;
  double temperature;
  double min_p;

  __device__ __forceinline__ double of(float logit) const { return exp((static_cast<double>(logit) - best) / temperature); }

  // As a whole number of 2^-44ths. What is below e^-8 takes a float's exponential: its error is as far below what float64's
  // would be felt for in the others.
  __device__ __forceinline__ unsigned long long fixed(float logit) const {
    const float exponent = __fdiv_rn(logit - static_cast<float>(best), static_cast<float>(temperature));
    const bool small = exponent < -8;
    const float rough = small ? expf(exponent) : 0;
    const bool near_min_p = min_p > 0 && fabsf(rough - static_cast<float>(min_p)) <= 1e-4f * static_cast<float>(min_p);
    const double weight = small && !near_min_p ? static_cast<double>(rough) : of(logit);
    if (weight < min_p) return 0;
    return __double2ull_rn(weight * 17592186044416.0);
  }
  // Whether min_p keeps it. A weight of less than a 2^-45th does not count, but is kept.
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

// The sum of the weights of all candidates from `bound` on, in 2^-44ths.
__device__ __forceinline__ unsigned long long sum_from(const float* logits, uint32_t columns, const SampleWeights& weights, unsigned long long bound,
                                                       SampleShared& shared) {
  unsigned long long sum = 0;
  for (uint32_t i = threadIdx.x; i < columns; i += sample_threads) {
    const float logit = logits[i];
    if (logit != -INFINITY && likeliness(rising_bits(logit), i) >= bound) sum += weights.fixed(logit);
  }
  return block_sum(sum, shared.words);
}

// The candidate with which the weights from the likeliest on come to more than `target` (or reach it): the largest
// bound from which the sum does. Its sum is returned in *sum. The bounds [low, high]: the sum from low is enough.
__device__ __forceinline__ unsigned long long walk_all(const float* logits, uint32_t columns, const SampleWeights& weights, unsigned long long target,
                                                       bool reach, SampleShared& shared, unsigned long long* sum) {
  uint32_t low = 0x00800000u;
  uint32_t high = rising_bits(static_cast<float>(weights.best));
  *sum = 0;
  // The logit first: the largest whose candidates, with all likelier ones, are enough.
  while (low < high) {
    const uint32_t middle = low + (high - low + 1) / 2;
    const unsigned long long from = sum_from(logits, columns, weights, static_cast<unsigned long long>(middle) << 32, shared);
    if (reach ? from >= target : from > target) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  // Then, of the equal ones, how many: they are passed in the order of their tokens.
  const unsigned long long above =
      low == 0xFFFFFFFFu ? 0 : sum_from(logits, columns, weights, static_cast<unsigned long long>(low + 1) << 32, shared);
  const unsigned long long each = weights.fixed(logit_of(low));
  const unsigned long long missing = target < above ? 0 : target - above;
  // 1 + how many equal ones come before.
  const unsigned long long count = each == 0 ? 1 : reach ? (missing + each - 1) / each : missing / each + 1;
  // Each thread has the tokens of a stretch.
  const uint32_t stretch = (columns + sample_threads - 1) / sample_threads;
  const uint32_t first = min(threadIdx.x * stretch, columns);
  const uint32_t end = min(first + stretch, columns);
  uint32_t mine = 0;
  for (uint32_t i = first; i < end; i++) mine += rising_bits(logits[i]) == low;
  uint32_t passed = block_prefix(mine, shared.counts) - mine;
  __syncthreads();
  if (threadIdx.x == 0) shared.found = 0;
  __syncthreads();
  uint32_t last = 0;
  for (uint32_t i = first; i < end; i++) {
    if (rising_bits(logits[i]) != low) continue;
    passed++;
    last = i + 1;
    if (passed == count) shared.found = i + 1;
  }
  __syncthreads();
  uint32_t token = shared.found;
  // Where rounding left it short: the last of the equal ones.
  if (token == 0) token = block_reduce(last, shared.counts, [](uint32_t a, uint32_t b) { return a > b ? a : b; });
  *sum = above + each * count;
  return likeliness(low, token - 1);
}

// Steps 3 and 4 of m40_sampling for a temperature above 0.
__device__ __forceinline__ uint32_t draw(const m40_sampling& sampling, const float* logits, uint32_t columns, uint32_t n_allowed,
                                         unsigned long long best, SampleShared& shared) {
  const SampleWeights weights = {static_cast<double>(logit_of_candidate(best)), static_cast<double>(sampling.temperature),
                                 static_cast<double>(sampling.min_p)};
  const double uniform = philox(sampling.seed_low, sampling.seed_high, sampling.counter) / 4294967296.0;
  const bool limited = sampling.top_k != 0 && sampling.top_k <= sample_most;
  const uint32_t wanted = limited ? sampling.top_k : sample_enough;
  uint32_t n = sort_likeliest(logits, columns, n_allowed, wanted, shared);
  // Whether what is not sorted may be kept too.
  bool more = n < n_allowed && !limited;
  if (limited) n = min(n, sampling.top_k);
  if (sampling.min_p > 0) {
    // Weights fall: those that are kept are the first.
    uint32_t kept = 0;
    for (uint32_t i = threadIdx.x; i < n; i += sample_threads) kept += weights.keeps(logit_of_candidate(shared.sorted[i]));
    const uint32_t n_kept = block_sum(kept, shared.counts);
    if (n_kept < n) more = false;
    n = n_kept;
  }

  const SortedWeights sorted(weights, n, shared);
  double kept = 0;
  if (!more) {
    uint32_t n_kept = n;
    sorted.find(n, INFINITY, false, shared, &kept);
    if (sampling.top_p < 1) n_kept = min(sorted.find(n, kept * static_cast<double>(sampling.top_p), true, shared, &kept) + 1, n);
    double sum;
    const uint32_t drawn = sorted.find(n_kept, kept * uniform, false, shared, &sum);
    return token_of(shared.sorted[min(drawn, n_kept - 1)]);
  }

  // The kept are too many to sort. With top_k they are those from a bound on.
  constexpr double unit = 17592186044416.0;  // 2^44
  unsigned long long kept_sum;
  if (sampling.top_k != 0 && sampling.top_k < n_allowed) {
    // The bound: bisect over candidates' numbers by counting.
    unsigned long long low = 0;
    unsigned long long high = best;
    while (low < high) {
      const unsigned long long middle = low + (high - low + 1) / 2;
      uint32_t count = 0;
      for (uint32_t i = threadIdx.x; i < columns; i += sample_threads) {
        if (logits[i] != -INFINITY) count += likeliness(rising_bits(logits[i]), i) >= middle;
      }
      if (block_sum(count, shared.counts) >= sampling.top_k) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    kept_sum = sum_from(logits, columns, weights, low, shared);
  } else {
    kept_sum = sum_from(logits, columns, weights, 0, shared);
  }
  kept = static_cast<double>(kept_sum) / unit;
  if (sampling.top_p < 1) {
    const double wanted_sum = kept * static_cast<double>(sampling.top_p);
    double sum;
    if (sorted.find(n, wanted_sum, true, shared, &sum) < n) {
      kept = sum;
    } else {
      unsigned long long whole_sum;
      walk_all(logits, columns, weights, static_cast<unsigned long long>(ceil(wanted_sum * unit)), true, shared, &whole_sum);
      kept = static_cast<double>(whole_sum) / unit;
    }
  }
  const double target = kept * uniform;
  double sum;
  const uint32_t drawn = sorted.find(n, target, false, shared, &sum);
  if (drawn < n) return token_of(shared.sorted[drawn]);
  unsigned long long whole_sum;
  return token_of(walk_all(logits, columns, weights, static_cast<unsigned long long>(target * unit), false, shared, &whole_sum));
}

// Goes through a list of entries {token, value} and calls apply(token, value) for those of tokens in [first, end):
// entries that name the same token in their order, others in parallel.
template <class Entry, class Apply>
__device__ __forceinline__ void for_each_entry(const Entry* entries, uint32_t n_entries, uint32_t first, uint32_t end, SampleShared& shared,
                                               const Apply& apply) {
  Entry* taken = reinterpret_cast<Entry*>(shared.sorted);
  for (uint32_t start = 0; start < n_entries; start += sample_threads) {
    const uint32_t i = start + threadIdx.x;
    Entry entry = {};
    if (i < n_entries) entry = entries[i];
    const uint32_t token = static_cast<uint32_t>(entry.token);
    const bool inside = i < n_entries && token >= first && token < end;
    const uint32_t upto = block_prefix(static_cast<uint32_t>(inside), shared.counts);
    if (inside) taken[upto - 1] = entry;
    if (threadIdx.x == sample_threads - 1) shared.n = upto;
    __syncthreads();
    // Each token's entries belong to the thread of the first of them.
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
    float largest = -INFINITY;
    bool finite = true;
    unsigned long long best = 0;
    uint32_t n_allowed = 0;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) {
      const uint32_t i = first + j * sample_threads + threadIdx.x;
      values[j] = i < end ? logits[i] : -INFINITY;
      if (i < end) {
        finite = finite && fabsf(values[j]) <= FLT_MAX;
        const unsigned long long candidate = likeliness(rising_bits(values[j]), i);
        if (candidate > best) best = candidate;
        n_allowed++;
      }
      largest = fmaxf(largest, values[j]);
    }
    const auto larger = [](float a, float b) { return fmaxf(a, b); };
    largest = block_reduce(largest, reinterpret_cast<float*>(shared.counts), larger);
    float sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) sum += expf(values[j] - largest);
    sum = block_sum(sum, reinterpret_cast<float*>(shared.counts));
    const uint32_t all_finite = __syncthreads_and(finite);
    if (adjusts) {
      adjust_slice(args, sampling, logits, copy, first, end, shared);
      best = 0;
      n_allowed = 0;
      for (uint32_t i = first + threadIdx.x; i < end; i += sample_threads) {
        if (copy[i] == -INFINITY) continue;
        const unsigned long long candidate = likeliness(rising_bits(copy[i]), i);
        if (candidate > best) best = candidate;
        n_allowed++;
      }
    }
    best = block_reduce(best, shared.words, [](unsigned long long a, unsigned long long b) { return a > b ? a : b; });
    n_allowed = block_sum(n_allowed, shared.counts);
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

  float largest = -INFINITY;
  bool finite = true;
  unsigned long long best = 0;
  uint32_t n_allowed = 0;
  for (uint32_t s = 0; s < args.n_slices; s++) {
    const volatile SampleSlice& slice = slices[s];
    largest = fmaxf(largest, slice.largest);
    finite = finite && slice.finite;
    const unsigned long long slice_best = slice.best;
    if (slice_best > best) best = slice_best;
    n_allowed += slice.n_allowed;
  }
  if (!finite || n_allowed == 0) {
    if (threadIdx.x == 0) args.failures[output] = finite ? 2 : 1;
    return;
  }
  double sum = 0;
  for (uint32_t s = 0; s < args.n_slices; s++) {
    const volatile SampleSlice& slice = slices[s];
    sum += static_cast<double>(slice.sum) * exp(static_cast<double>(slice.largest) - static_cast<double>(largest));
  }
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
