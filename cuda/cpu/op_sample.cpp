// One token an output, as m40_sampling describes it. The vocabulary is never sorted whole: the likeliest tokens come
// off a heap, as many as sampling needs.
#include <float.h>
#include <math.h>
#include <string.h>

#include "../program/sample_weights.h"
#include "execution.h"
#include "philox.h"
#include "sample_shaped.h"

namespace m40::reference {

namespace {

// The order of a heap with the likeliest at its top.
bool less_likely(const Candidate& a, const Candidate& b) { return likelier(b, a); }

float limited(double value) { return static_cast<float>(std::clamp(value, -static_cast<double>(FLT_MAX), static_cast<double>(FLT_MAX))); }

// Steps 1 and 2 of m40_sampling. Candidate i is token i on entry; returns how many are left, in order.
uint32_t adjust(const Step& step, const m40_sampling& sampling, Candidate* candidates, uint32_t n_vocab) {
  for (uint32_t i = 0; i < sampling.n_token_counts; i++) {
    const m40_token_count& count = step.token_counts[sampling.first_token_count + i];
    float& logit = candidates[count.token].logit;
    const double penalty = static_cast<double>(sampling.repetition_penalty);
    const double repeated = logit > 0 ? static_cast<double>(logit) / penalty : static_cast<double>(logit) * penalty;
    logit = limited(repeated - count.count * static_cast<double>(sampling.frequency_penalty) -
                    (count.count > 0 ? static_cast<double>(sampling.presence_penalty) : 0));
  }
  for (uint32_t i = 0; i < sampling.n_token_biases; i++) {
    const m40_token_bias& bias = step.token_biases[sampling.first_token_bias + i];
    float& logit = candidates[bias.token].logit;
    const double biased = static_cast<double>(logit) + static_cast<double>(bias.bias);
    logit = isinf(biased) ? -INFINITY : limited(biased);
  }
  const uint32_t* mask = sampling.mask == M40_NONE ? nullptr : step.masks + uint64_t{sampling.mask} * step.mask_words;
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_vocab; i++) {
    if (candidates[i].logit == -INFINITY || (mask != nullptr && (mask[i / 32] >> (i % 32) & 1) == 0)) continue;
    candidates[n++] = candidates[i];
  }
  return n;
}

const Candidate& likeliest(const Candidate* candidates, uint32_t n) {
  uint32_t best = 0;
  for (uint32_t i = 1; i < n; i++) {
    if (likelier(candidates[i], candidates[best])) best = i;
  }
  return candidates[best];
}

// Steps 3 and 4.
int32_t draw(const m40_sampling& sampling, Candidate* candidates, uint32_t n) {
  const Candidate best = likeliest(candidates, n);
  if (sampling.temperature == 0) return best.token;
  // Proportional to the probability; 1 for the likeliest.
  const auto weight = [&](const Candidate& candidate) {
    return exp((static_cast<double>(candidate.logit) - static_cast<double>(best.logit)) / static_cast<double>(sampling.temperature));
  };
  if (sampling.min_p > 0) {
    const double least = static_cast<double>(sampling.min_p);
    n = static_cast<uint32_t>(std::remove_if(candidates, candidates + n, [&](const Candidate& c) { return weight(c) < least; }) - candidates);
  }
  if (sampling.top_k != 0 && sampling.top_k < n) {
    std::nth_element(candidates, candidates + sampling.top_k, candidates + n, likelier);
    n = sampling.top_k;
  }
  double kept = 0;
  for (uint32_t i = 0; i < n; i++) kept += weight(candidates[i]);

  // Taken from the heap, the likeliest come to stand at the array's end, last first.
  std::make_heap(candidates, candidates + n, less_likely);
  uint32_t rest = n;
  const auto take = [&]() -> const Candidate& {
    std::pop_heap(candidates, candidates + rest, less_likely);
    return candidates[--rest];
  };
  if (sampling.top_p < 1) {
    const double wanted = kept * static_cast<double>(sampling.top_p);
    kept = 0;
    while (rest > 0 && (rest == n || kept < wanted)) kept += weight(take());
  }
  const double target = kept * (philox(sampling.seed_low, sampling.seed_high, sampling.counter, sampling.stream).first / 4294967296.0);
  const uint32_t end = sampling.top_p < 1 ? rest : 0;  // where the kept ones end
  double passed = 0;
  for (uint32_t i = n; i-- > end;) {
    const Candidate& candidate = i < rest ? take() : candidates[i];
    passed += weight(candidate);
    if (passed > target) return candidate.token;
  }
  return candidates[end].token;
}

// The largest of all logits with their log-probabilities.
void top_logprobs(const float* logits, uint32_t n_vocab, uint32_t n_top, double log_sum, m40_sample& sample) {
  Candidate top[M40_MAX_TOP_LOGPROBS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_vocab && n_top > 0; i++) {
    const Candidate candidate = {logits[i], static_cast<int32_t>(i)};
    if (n == n_top && !likelier(candidate, top[n - 1])) continue;
    uint32_t at = n < n_top ? n++ : n - 1;
    for (; at > 0 && likelier(candidate, top[at - 1]); at--) top[at] = top[at - 1];
    top[at] = candidate;
  }
  for (uint32_t i = 0; i < M40_MAX_TOP_LOGPROBS; i++) {
    sample.top_tokens[i] = i < n ? top[i].token : -1;
    sample.top_logprobs[i] = i < n ? static_cast<float>(static_cast<double>(top[i].logit) - log_sum) : 0;
  }
}

// Returns how it went, M40_OUTPUT_*.
uint32_t sample_output(const Execution& execution, const m40_op_sample& op, uint32_t output, Candidate* candidates) {
  const m40_sampling& sampling = execution.step.sampling[output];
  const float* logits = execution.row(op.logits, output);
  float largest = -INFINITY;
  for (uint32_t i = 0; i < op.columns; i++) {
    if (!isfinite(logits[i])) return M40_OUTPUT_NOT_FINITE;
    largest = std::max(largest, logits[i]);
    candidates[i] = {logits[i], static_cast<int32_t>(i)};
  }
  if (execution.step.outputs[output].kind != M40_OUTPUT_SAMPLE) return M40_OUTPUT_OK;
  double sum = 0;
  for (uint32_t i = 0; i < op.columns; i++) sum += static_cast<double>(expf(logits[i] - largest));
  const double log_sum = static_cast<double>(largest) + log(sum);

  const uint32_t n = adjust(execution.step, sampling, candidates, op.columns);
  if (n == 0) return M40_OUTPUT_NOTHING_ALLOWED;
  m40_sample& sample = reinterpret_cast<m40_sample*>(execution.memory(execution.program.plan.samples))[output];
  sample.surprise = 0;
  sample.token = is_shaped(sampling) ? draw_shaped(sampling, candidates, n, &sample.surprise) : draw(sampling, candidates, n);
  sample.logprob = static_cast<float>(static_cast<double>(logits[sample.token]) - log_sum);
  top_logprobs(logits, op.columns, sampling.n_top_logprobs, log_sum, sample);
  return M40_OUTPUT_OK;
}

}  // namespace

uint64_t sample_scratch_bytes(const m40_op_sample& op) { return uint64_t{op.columns} * sizeof(Candidate); }

void run_sample(const Execution& execution, const m40_op_sample& op) {
  uint32_t* statuses = reinterpret_cast<uint32_t*>(execution.memory(execution.program.plan.statuses));
  execution.pool.parallel(execution.step.n_outputs, 1, [&](uint64_t begin, uint64_t end, uint32_t thread) {
    Candidate* candidates = reinterpret_cast<Candidate*>(execution.scratch(thread));
    for (uint64_t i = begin; i < end; i++) statuses[i] = sample_output(execution, op, static_cast<uint32_t>(i), candidates);
  });
}

}  // namespace m40::reference
