// Samples a token an output, as m40_sampling describes it, from logits that are never sorted whole.
//
// Each output's logits are cut into slices, a thread block each. It computes whether they are finite, their largest,
// the sum of their exponentials, and the largest after penalties, biases and mask (which go to a copy). The last block
// of an output combines the slices. A greedy output is done then. For the others it finds a bound by histograms of the
// logits' bits: at least as many tokens pass it as sampling can need, and at most sample_most. It sorts those and walks
// them in float64. Sampling may go further than they reach (a flat distribution without top_k). Then it first finds, by
// a histogram of weights over the logits, the stretch of logits with the token, and walks that. The sums are of whole
// numbers, which no order of adding changes.
#ifndef M40_KERNELS_SAMPLE_CUH
#define M40_KERNELS_SAMPLE_CUH

#include "block.cuh"
#include "last_block.cuh"
#include "sample_draw.cuh"
#include "../program/sample_weights.h"

namespace m40::cuda {

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
  uint32_t* statuses;      // M40_OUTPUT_OK, _NOT_FINITE or _NOTHING_ALLOWED
  float* adjusted;         // [outputs][columns]: -infinity where the mask or a bias forbids
  SampleSlice* slices;     // [outputs][n_slices]
  uint32_t* counters;      // [outputs]
};

// Whether an output is sampled from a copy of its logits.
__device__ __forceinline__ bool is_adjusted(const m40_sampling& sampling) {
  return sampling.n_token_counts != 0 || sampling.n_token_biases != 0 || sampling.mask != M40_NONE;
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
    const double biased = __dadd_rn(static_cast<double>(adjusted[entry.token]), static_cast<double>(entry.bias));
    adjusted[entry.token] = isinf(biased) ? -INFINITY : limited(biased);
  });
  __syncthreads();
  if (sampling.mask == M40_NONE) return;
  const uint32_t* mask = args.masks + uint64_t{sampling.mask} * args.mask_words;
  for (uint32_t i = first + threadIdx.x; i < end; i += sample_threads) {
    if ((mask[i / 32] >> (i % 32) & 1) == 0) adjusted[i] = -INFINITY;
  }
  __syncthreads();
}

// What a block leaves of its slice. adjusted: where the output's adjusted logits go, if it
// adjusts any.
__device__ __forceinline__ void take_slice(const SampleKernelArgs& args, const m40_sampling& sampling, const float* logits, bool adjusts, float* adjusted,
                                           uint32_t slice, SampleSlice& summary, SampleShared& shared) {
  const uint32_t first = slice * sample_slice;
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
  sum = block_total(sum, reinterpret_cast<float*>(shared.counts));
  uint32_t n_allowed = end - first;
  if (adjusts) {
    adjust_slice(args, sampling, logits, adjusted, first, end, shared);
    best = 0;
    n_allowed = 0;
    for (uint32_t i = first + threadIdx.x; i < end; i += sample_threads) {
      if (adjusted[i] == -INFINITY) continue;
      best = max(best, likeliness(rising_bits(adjusted[i]), i));
      n_allowed++;
    }
    best = block_reduce(best, shared.words, larger);
    n_allowed = block_total(n_allowed, shared.counts);
  }
  if (threadIdx.x == 0) summary = {largest, sum, all_finite, n_allowed, best};
}

// What all slices of an output come to. Each warp finds it for itself, a slice a lane.
struct SampleTotals {
  float largest;
  uint32_t not_finite;
  unsigned long long best;
  uint32_t n_allowed;

  __device__ __forceinline__ SampleTotals(const SampleSlice* slices, uint32_t n_slices) : largest(-INFINITY), not_finite(0), best(0), n_allowed(0) {
    for (uint32_t s = threadIdx.x % 32; s < n_slices; s += 32) {
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
  }

  // The logarithm of the sum of all exponentials.
  __device__ __forceinline__ double log_sum(const SampleSlice* slices, uint32_t n_slices) const {
    double sum = 0;
    for (uint32_t s = threadIdx.x % 32; s < n_slices; s += 32) {
      sum += static_cast<double>(__ldcg(&slices[s].sum)) * exp(static_cast<double>(__ldcg(&slices[s].largest)) - static_cast<double>(largest));
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    return static_cast<double>(largest) + log(sum);
  }
};

// The token with its log-probability, and the likeliest ones with theirs.
__device__ __forceinline__ void write_sample(const m40_sampling& sampling, const float* logits, uint32_t columns, uint32_t token, double log_sum,
                                             m40_sample& sample, SampleShared& shared) {
  const uint32_t n_top = min(sampling.n_top_logprobs, columns);
  if (n_top > 0) sort_likeliest(logits, columns, columns, n_top, shared);
  if (threadIdx.x < M40_MAX_TOP_LOGPROBS) {
    const bool is_top = threadIdx.x < n_top;
    sample.top_tokens[threadIdx.x] = is_top ? static_cast<int32_t>(token_of(shared.sorted[threadIdx.x])) : -1;
    sample.top_logprobs[threadIdx.x] = is_top ? static_cast<float>(static_cast<double>(logit_of_candidate(shared.sorted[threadIdx.x])) - log_sum) : 0;
  }
  if (threadIdx.x == 0) {
    sample.token = static_cast<int32_t>(token);
    sample.logprob = static_cast<float>(static_cast<double>(logits[token]) - log_sum);
  }
}

// Grid: slices, outputs. With shaped sampling, sample_shaped() chooses the token.
__device__ __forceinline__ void sample(const SampleKernelArgs& args, BlockIndex block, SampleShared& shared) {
  const uint32_t output = block.y;
  const m40_sampling sampling = args.sampling[output];
  const float* logits = args.logits + uint64_t{output} * args.logits_stride;
  const bool adjusts = is_adjusted(sampling);
  float* copy = args.adjusted + uint64_t{output} * args.columns;
  const float* adjusted = adjusts ? copy : logits;
  SampleSlice* slices = args.slices + uint64_t{output} * args.n_slices;
  take_slice(args, sampling, logits, adjusts, copy, block.x, slices[block.x], shared);
  if (!is_last_block(args.counters + output, args.n_slices, shared.is_last)) return;

  const SampleTotals totals(slices, args.n_slices);
  if (totals.not_finite || totals.n_allowed == 0) {
    if (threadIdx.x == 0) args.statuses[output] = totals.not_finite ? M40_OUTPUT_NOT_FINITE : M40_OUTPUT_NOTHING_ALLOWED;
    return;
  }
  const double log_sum = totals.log_sum(slices, args.n_slices);
  uint32_t token = token_of(totals.best);
  if (sampling.temperature != 0 && !is_shaped(sampling)) token = draw(sampling, adjusted, args.columns, totals.n_allowed, totals.best, shared);
  write_sample(sampling, logits, args.columns, token, log_sum, args.samples[output], shared);
  if (threadIdx.x == 0) args.statuses[output] = M40_OUTPUT_OK;
}

}  // namespace m40::cuda

#endif
