// Sampling among an output's tokens, by a thread block: walks over the sorted tokens in float64, or over all of them in
// whole numbers.
#ifndef M40_KERNELS_SAMPLE_DRAW_CUH
#define M40_KERNELS_SAMPLE_DRAW_CUH

#include "sample_select.cuh"

namespace m40::cuda {

// The first two of Philox's words.
struct PhiloxWords {
  uint32_t first, second;
};

// Philox4x32-10 (Salmon et al. 2011) for counter (counter, stream, 0, 0).
__device__ __forceinline__ PhiloxWords philox(uint32_t key_low, uint32_t key_high, uint32_t counter, uint32_t stream) {
  uint32_t c0 = counter, c1 = stream, c2 = 0, c3 = 0;
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
  return {c0, c1};
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

// ---- walks over the sorted
// -------------------------------------------------------------------------------------------

// The weights of the first n sorted tokens: each thread has some consecutive ones, and the sum of those before them.
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

  // The first token at which the weights, added from the likeliest on, exceed (or reach) `target`; `among` if none of
  // the first `among` is it. sum: of the weights up to and with it, or of the first `among`.
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

// ---- walks over all
// ---------------------------------------------------------------------------------------------------

// Sums of weights by bin, in three parts a weight: 32 bits hold those of so many candidates.
constexpr uint32_t weights_a_round = 1u << 18;

__device__ __forceinline__ void clear_weights(SampleShared& shared) {
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < 3 * sample_bins; i += sample_threads) shared.parts[i / sample_bins][i % sample_bins] = 0;
  __syncthreads();
}

__device__ __forceinline__ void add_weight(SampleShared& shared, uint32_t bin, unsigned long long weight) {
  const uint32_t middle = static_cast<uint32_t>(weight >> 14) & 0x3FFF;
  const uint32_t high = static_cast<uint32_t>(weight >> 28);
  atomicAdd(&shared.parts[0][bin], static_cast<uint32_t>(weight) & 0x3FFF);
  if (middle != 0) atomicAdd(&shared.parts[1][bin], middle);
  if (high != 0) atomicAdd(&shared.parts[2][bin], high);
}

__device__ __forceinline__ unsigned long long weight_of_bin(const SampleShared& shared, uint32_t bin) {
  return shared.parts[0][bin] + (static_cast<unsigned long long>(shared.parts[1][bin]) << 14) + (static_cast<unsigned long long>(shared.parts[2][bin]) << 28);
}

// The weights of all candidates from `low` on, by their logits: bins of equal width from the likeliest down. Each
// thread has some consecutive bins, and the sum of those before them.
struct WeightHistogram {
  static constexpr uint32_t each = sample_bins / sample_threads;
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
    for (uint32_t start = 0; start < columns; start += weights_a_round) {
      clear_weights(shared);
      const uint32_t end = min(columns - start, weights_a_round) + start;
      for_each_logit(logits, start, end, [&](float logit, uint32_t token) {
        const unsigned long long candidate = likeliness(rising_bits(logit), token);
        if (candidate < low) return;
        add_weight(shared, bin_of(logit), weights.fixed(logit));
      });
      __syncthreads();
#pragma unroll
      for (uint32_t j = 0; j < each; j++) mine[j] += weight_of_bin(shared, threadIdx.x * each + j);
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

  // The first bin at which the sum exceeds (or reaches) `target`; the last with any weight where none is. upto_bin: the
  // sum before it.
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

// The candidate at which the weights, added from the likeliest on, exceed (or reach) `target`. sum: of the weights up
// to and with it. low: candidates before it do not count.
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
  count = block_total(count, shared.counts);
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
    upper = block_total(upper, shared.counts);
    const double with_upper = passed + static_cast<double>(block_total(upper_sum, shared.words)) / weight_unit;
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
  const double uniform = philox(sampling.seed_low, sampling.seed_high, sampling.counter, sampling.stream).first / 4294967296.0;
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
    const uint32_t n_kept = block_total(kept, shared.counts);
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

}  // namespace m40::cuda

#endif
