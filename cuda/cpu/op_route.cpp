// Which experts a token goes to, and with what weights.
#include <math.h>

#include "execution.h"

namespace m40::reference {

namespace {

// Not a candidate: what is chosen between is never NaN.
constexpr float out = NAN;

struct Choice {
  float score;
  uint32_t index;
};

bool before(const Choice& a, const Choice& b) { return a.score != b.score ? a.score > b.score : a.index < b.index; }

// What is not a number counts as the smallest, so that the order is total.
float ordered(float score) { return score == score ? score : -INFINITY; }

// The first in the order of the candidates that come after `previous`; there must be one.
Choice next(const float* scores, uint32_t n, const Choice* previous) {
  Choice best = {0, M40_NONE};
  for (uint32_t i = 0; i < n; i++) {
    const Choice candidate = {scores[i], i};
    if (candidate.score != candidate.score || (previous != nullptr && !before(*previous, candidate))) continue;
    if (best.index == M40_NONE || before(candidate, best)) best = candidate;
  }
  return best;
}

// The scores that softmax or sigmoid make of logits, each up to a divisor that all share.
struct Odds {
  Odds(const float* logits, const m40_op_route& op) : logits_(logits), sigmoid_(op.score == M40_SCORE_SIGMOID) {
    if (sigmoid_) return;
    largest_ = -INFINITY;
    for (uint32_t e = 0; e < op.n_experts; e++) largest_ = std::max(largest_, static_cast<double>(ordered(logits[e])));
    total_ = 0;
    for (uint32_t e = 0; e < op.n_experts; e++) total_ += (*this)[e];
  }

  double operator[](uint32_t expert) const {
    const double logit = static_cast<double>(logits_[expert]);
    return sigmoid_ ? 1 / (1 + exp(-logit)) : exp(logit - largest_);
  }
  // The divisor: the sum of all experts' for softmax.
  double total() const { return total_; }

 private:
  const float* logits_;
  bool sigmoid_;
  double largest_ = 0;
  double total_ = 1;
};

// What the choice is made by: s + bias of m40.h.
void score_experts(const float* logits, const Odds& odds, const m40_op_route& op, const float* bias, float* scores) {
  const bool of_odds = op.score == M40_SCORE_SIGMOID || (op.score == M40_SCORE_SOFTMAX && bias != nullptr);
  for (uint32_t e = 0; e < op.n_experts; e++) {
    const float score = of_odds ? static_cast<float>(odds[e] / odds.total()) : logits[e];
    scores[e] = ordered(bias == nullptr ? score : score + bias[e]);
  }
}

float sum_of_two_largest(const float* scores, uint32_t n) {
  const Choice largest = next(scores, n, nullptr);
  return n == 1 ? largest.score : ordered(largest.score + next(scores, n, &largest).score);
}

// Strikes out the experts of the groups that are not used. group_scores: [n_groups], of which those that are used are
// struck out themselves
void strike_groups(const m40_op_route& op, float* scores, float* group_scores) {
  const uint32_t size = op.n_experts / op.n_groups;
  for (uint32_t g = 0; g < op.n_groups; g++) group_scores[g] = sum_of_two_largest(scores + g * size, size);
  for (uint32_t i = 0; i < op.n_groups_used; i++) group_scores[next(group_scores, op.n_groups, nullptr).index] = out;
  for (uint32_t e = 0; e < op.n_experts; e++) {
    const bool used = group_scores[e / size] != group_scores[e / size];
    if (!used) scores[e] = out;
  }
}

// scores: [n_experts], then [n_groups]
void route(const float* logits, const m40_op_route& op, const float* bias, uint32_t* experts, float* weights, float* scores) {
  const Odds odds(logits, op);
  score_experts(logits, odds, op, bias, scores);
  if (op.n_groups > 1) strike_groups(op, scores, scores + op.n_experts);
  Choice chosen = {};
  double chosen_total = 0;
  for (uint32_t slot = 0; slot < op.n_used; slot++) {
    chosen = next(scores, op.n_experts, slot == 0 ? nullptr : &chosen);
    experts[slot] = chosen.index;
    chosen_total += odds[chosen.index];
  }
  double divisor = op.score == M40_SCORE_SOFTMAX_CHOSEN ? chosen_total : odds.total();
  if (op.normalise) divisor = std::max(chosen_total, static_cast<double>(op.least_sum) * divisor);
  const double scale = static_cast<double>(op.scale) / divisor;
  for (uint32_t slot = 0; slot < op.n_used; slot++) weights[slot] = static_cast<float>(odds[experts[slot]] * scale);
  if (op.n_shared == 0) return;
  experts[op.n_used] = op.n_experts;
  weights[op.n_used] = 1;
}

}  // namespace

uint64_t route_scratch_bytes(const m40_op_route& op) { return (uint64_t{op.n_experts} + op.n_groups) * sizeof(float); }

void run_route(const Execution& execution, const m40_op_route& op) {
  const float* bias = execution.vector(op.bias);
  execution.pool.parallel(execution.step.n_tokens, 4, [&](uint64_t begin, uint64_t end, uint32_t thread) {
    for (uint64_t t = begin; t < end; t++) {
      route(execution.row(op.input, t), op, bias, execution.row_u32(op.experts, t), execution.row(op.weights, t), execution.scratch(thread));
    }
  });
}

}  // namespace m40::reference
