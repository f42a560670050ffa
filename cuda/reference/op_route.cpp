// Which experts a token goes to, and with what weights.
#include <math.h>

#include "execution.h"

namespace m40::reference {

namespace {

struct Choice {
  float logit;
  uint32_t expert;
};

// The order of preference. What is not a number counts as the smallest, so that the order is total.
bool before(const Choice& a, const Choice& b) { return a.logit != b.logit ? a.logit > b.logit : a.expert < b.expert; }

Choice choice(const float* logits, uint32_t expert) {
  return {logits[expert] == logits[expert] ? logits[expert] : -INFINITY, expert};
}

// The first in the order of those that come after `previous`; n_experts must have one.
Choice next(const float* logits, uint32_t n_experts, const Choice* previous) {
  Choice best = {0, M40_NONE};
  for (uint32_t e = 0; e < n_experts; e++) {
    const Choice candidate = choice(logits, e);
    if (previous != nullptr && !before(*previous, candidate)) continue;
    if (best.expert == M40_NONE || before(candidate, best)) best = candidate;
  }
  return best;
}

void route(const float* logits, const m40_op_route& op, uint32_t* experts, float* weights) {
  Choice chosen = next(logits, op.n_experts, nullptr);
  const double largest = static_cast<double>(logits[chosen.expert]);
  double sum = 0;
  for (uint32_t e = 0; e < op.n_experts; e++) sum += exp(static_cast<double>(logits[e]) - largest);
  double chosen_sum = 0;
  for (uint32_t slot = 0; slot < op.n_used; slot++) {
    if (slot > 0) chosen = next(logits, op.n_experts, &chosen);
    experts[slot] = chosen.expert;
    chosen_sum += exp(static_cast<double>(logits[chosen.expert]) - largest);
  }
  const double scale = static_cast<double>(op.scale) / (op.normalise ? chosen_sum : sum);
  for (uint32_t slot = 0; slot < op.n_used; slot++) {
    weights[slot] = static_cast<float>(exp(static_cast<double>(logits[experts[slot]]) - largest) * scale);
  }
}

}  // namespace

void run_route(const Execution& execution, const m40_op_route& op) {
  execution.pool.parallel(execution.step.n_tokens, 4, [&](uint64_t begin, uint64_t end, uint32_t) {
    for (uint64_t t = begin; t < end; t++) {
      route(execution.row(op.input, t), op, execution.row_u32(op.experts, t), execution.row(op.weights, t));
    }
  });
}

}  // namespace m40::reference
