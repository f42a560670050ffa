// Shaped sampling (see m40_sampling): a launch after that of sample(), in steps that need it.
//
// A thread block an output goes over all logits several times. The tokens that are left are a range of the order of
// likelihood and, where locally typical sampling acts, of its order as well. Histograms of weights over 11 bits of a
// 64-bit key at a time find the token at which a sum is reached. All sums are of whole numbers, so no order of adding
// changes them.
#ifndef M40_KERNELS_SAMPLE_SHAPED_CUH
#define M40_KERNELS_SAMPLE_SHAPED_CUH

#include "sample.cuh"

namespace m40::cuda {

// The tokens that are left of an output's.
struct ShapedKept {
  unsigned long long low, high;  // their candidates are from low to high
  bool typical;                  // and their keys are at most most_key
  ShapedWeights weights;
  TypicalOrder order;
  unsigned long long most_key;

  __device__ __forceinline__ bool has(float logit, uint32_t token) const {
    const unsigned long long candidate = likeliness(rising_bits(logit), token);
    if (candidate < low || candidate > high) return false;
    return !typical || order.key(weights.depth(logit), token) <= most_key;
  }
};

struct ShapedLogits {
  const float* logits;
  uint32_t columns;
};

// apply(logit, token) for each that is left.
template <class Apply>
__device__ __forceinline__ void for_each_kept(const ShapedLogits& all, const ShapedKept& kept, const Apply& apply) {
  for_each_logit(all.logits, 0, all.columns, [&](float logit, uint32_t token) {
    if (kept.has(logit, token)) apply(logit, token);
  });
}

// ---- the block together; all of it gets the result ------------------------------------------------------------------

// The least likely that is left of those that `passes`; ~0 where none does.
template <class Passes>
__device__ __forceinline__ unsigned long long least_likely(const ShapedLogits& all, const ShapedKept& kept, SampleShared& shared, const Passes& passes) {
  unsigned long long least = ~0ull;
  for_each_kept(all, kept, [&](float logit, uint32_t token) {
    if (passes(logit)) least = min(least, likeliness(rising_bits(logit), token));
  });
  return block_reduce(least, shared.words, [](unsigned long long a, unsigned long long b) { return min(a, b); });
}

__device__ __forceinline__ unsigned long long most_likely(const ShapedLogits& all, const ShapedKept& kept, SampleShared& shared) {
  unsigned long long most = 0;
  for_each_kept(all, kept, [&](float logit, uint32_t token) { most = max(most, likeliness(rising_bits(logit), token)); });
  return block_reduce(most, shared.words, [](unsigned long long a, unsigned long long b) { return max(a, b); });
}

__device__ __forceinline__ ShapedSums sums_of(const ShapedLogits& all, const ShapedKept& kept, const ShapedWeights& weights, SampleShared& shared) {
  unsigned long long sum = 0;
  unsigned long long moments = 0;
  uint32_t n = 0;
  for_each_kept(all, kept, [&](float logit, uint32_t) {
    const double depth = weights.depth(logit);
    const uint64_t weight = ShapedWeights::of_depth(depth);
    sum += weight;
    moments += ShapedWeights::moment(weight, depth);
    n++;
  });
  sum = block_total(sum, shared.words);
  moments = block_total(moments, shared.words);
  return {sum, moments, block_total(n, shared.counts)};
}

// The key, of those that are left, with which their weights, added in the order of rising keys, come to more than
// `target`. All together do.
template <class KeyOf>
__device__ __forceinline__ unsigned long long find_by_weight(const ShapedLogits& all, const ShapedKept& kept, const ShapedWeights& weights,
                                                             unsigned long long target, SampleShared& shared, const KeyOf& key_of) {
  constexpr uint32_t digit = 11;
  static_assert(1u << digit == sample_bins, "a bin a digit");
  constexpr uint32_t each = sample_bins / sample_threads;
  unsigned long long prefix = 0;  // what the digits so far are
  unsigned long long passed = 0;  // the weights before it
  for (uint32_t top = 64; top > 0;) {
    const uint32_t shift = top > digit ? top - digit : 0;
    unsigned long long mine[each] = {};
    for (uint32_t start = 0; start < all.columns; start += weights_a_round) {
      clear_weights(shared);
      const uint32_t end = start + min(all.columns - start, weights_a_round);
      for_each_logit(all.logits, start, end, [&](float logit, uint32_t token) {
        if (!kept.has(logit, token)) return;
        const unsigned long long key = key_of(logit, token);
        if (top < 64 && key >> top != prefix >> top) return;
        add_weight(shared, static_cast<uint32_t>(key >> shift) & ((1u << (top - shift)) - 1), weights.of(logit));
      });
      __syncthreads();
#pragma unroll
      for (uint32_t j = 0; j < each; j++) mine[j] += weight_of_bin(shared, threadIdx.x * each + j);
    }
    unsigned long long sum = 0;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) sum += mine[j];
    unsigned long long upto = passed + block_prefix(sum, shared.words) - sum;
#pragma unroll
    for (uint32_t j = 0; j < each; j++) {
      if (upto <= target && upto + mine[j] > target) {
        shared.bin = threadIdx.x * each + j;
        shared.word = upto;
      }
      upto += mine[j];
    }
    __syncthreads();
    prefix |= static_cast<unsigned long long>(shared.bin) << shift;
    passed = shared.word;
    top = shift;
  }
  return prefix;
}

// The same in the order of likeliness: a candidate.
__device__ __forceinline__ unsigned long long find_likely(const ShapedLogits& all, const ShapedKept& kept, const ShapedWeights& weights,
                                                          unsigned long long target, SampleShared& shared) {
  return ~find_by_weight(all, kept, weights, target, shared, [](float logit, uint32_t token) { return ~likeliness(rising_bits(logit), token); });
}

// ---- sampling
// --------------------------------------------------------------------------------------------------------

// a to d of m40_sampling's shaped sampling.
__device__ __forceinline__ void truncate(const m40_sampling& sampling, const ShapedLogits& all, const ShapedWeights& weights, uint32_t n_allowed,
                                         uint32_t random, ShapedKept& kept, SampleShared& shared) {
  const uint64_t least = least_weight(sampling.min_p);
  kept.low = least_likely(all, kept, shared, [&](float logit) { return weights.of(logit) >= least; });
  if (sampling.top_k != 0 && sampling.top_k < n_allowed) {
    kept.low = max(kept.low, bound_of_likeliest(all.logits, all.columns, sampling.top_k, true, shared));
  }
  if (sampling.typical_p < 1) {
    const ShapedSums sums = sums_of(all, kept, weights, shared);
    const TypicalOrder order = TypicalOrder::among(sums);
    const unsigned long long most = find_by_weight(all, kept, weights, below_share(sums.weight, sampling.typical_p), shared,
                                                   [&](float logit, uint32_t token) { return order.key(weights.depth(logit), token); });
    kept = {kept.low, kept.high, true, weights, order, most};
  }
  if (sampling.top_p < 1) {
    const uint64_t total = sums_of(all, kept, weights, shared).weight;
    kept.low = max(kept.low, find_likely(all, kept, weights, below_share(total, sampling.top_p), shared));
  }
  if (xtc_acts(sampling, random)) {
    const uint64_t total = sums_of(all, kept, weights, shared).weight;
    kept.high = min(kept.high, least_likely(all, kept, shared, [&](float logit) { return xtc_reaches(sampling, weights.of(logit), total); }));
  }
}

// The token. surprise: as m40_sample has it.
__device__ __forceinline__ uint32_t draw_shaped(const m40_sampling& sampling, const ShapedLogits& all, const SampleTotals& totals, float* surprise,
                                                SampleShared& shared) {
  const PhiloxWords random = philox(sampling.seed_low, sampling.seed_high, sampling.counter, sampling.stream);
  const bool dynamic = sampling.dynatemp_range > 0;
  double temperature = dynamic ? 1 : static_cast<double>(sampling.temperature);
  ShapedWeights weights = {static_cast<double>(logit_of_candidate(totals.best)), temperature};
  ShapedKept kept = {least_allowed, ~0ull, false, weights, {0}, 0};
  truncate(sampling, all, weights, totals.n_allowed, random.second, kept, shared);
  if (dynamic) temperature = dynamic_temperature(sampling, sums_of(all, kept, weights, shared));

  const unsigned long long best = most_likely(all, kept, shared);
  if (temperature == 0) {
    kept.low = best;
    temperature = 1;
  }
  weights = {static_cast<double>(logit_of_candidate(best)), temperature};
  uint64_t total = sums_of(all, kept, weights, shared).weight;
  if (sampling.mirostat != 0) {
    const double deepest = mirostat_depth(sampling, total);
    const unsigned long long low = least_likely(all, kept, shared, [&](float logit) { return weights.depth(logit) <= deepest; });
    kept.low = min(low, best);
    total = sums_of(all, kept, weights, shared).weight;
  }
  const unsigned long long drawn = find_likely(all, kept, weights, draw_target(total, random.first), shared);
  *surprise = sampling.mirostat != 0 ? m40::surprise(total, weights.depth(logit_of_candidate(drawn))) : 0;
  return token_of(drawn);
}

// Grid: outputs. After sample(): it reads the slices and adjusted logits of that.
__device__ __forceinline__ void sample_shaped(const SampleKernelArgs& args, BlockIndex block, SampleShared& shared) {
  const uint32_t output = block.x;
  const m40_sampling sampling = args.sampling[output];
  if (!is_shaped(sampling) || args.statuses[output] != M40_OUTPUT_OK) return;
  const float* logits = args.logits + uint64_t{output} * args.logits_stride;
  const float* adjusted = is_adjusted(sampling) ? args.adjusted + uint64_t{output} * args.columns : logits;
  const SampleSlice* slices = args.slices + uint64_t{output} * args.n_slices;
  const SampleTotals totals(slices, args.n_slices);
  const double log_sum = totals.log_sum(slices, args.n_slices);
  float surprise;
  const uint32_t token = draw_shaped(sampling, {adjusted, args.columns}, totals, &surprise, shared);
  if (threadIdx.x != 0) return;
  m40_sample& sample = args.samples[output];
  sample.token = static_cast<int32_t>(token);
  sample.logprob = static_cast<float>(static_cast<double>(logits[token]) - log_sum);
  sample.surprise = surprise;
}

}  // namespace m40::cuda

#endif
