// Rotary positions (Su et al. 2021) with YaRN's blend (Peng et al. 2023).
#include "rope_angles.h"

#include <math.h>

#include <algorithm>

namespace m40 {

namespace {

// The pair that turns so many times over the original context (Peng et al. 2023, section 3.2), as a fraction.
double pair_of_turns(const m40_op_rope_store& op, double turns) {
  const double dim = op.rope_dim;
  return dim * log(op.original_context / (turns * 2 * M_PI)) / (2 * log(static_cast<double>(op.freq_base)));
}

// 0 for pairs that turn often enough to be extrapolated, 1 for those to be interpolated.
double interpolated_share(const m40_op_rope_store& op, uint32_t pair) {
  const double low = std::max(0.0, floor(pair_of_turns(op, static_cast<double>(op.beta_fast))));
  const double high = std::min(op.rope_dim - 1.0, ceil(pair_of_turns(op, static_cast<double>(op.beta_slow))));
  return std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
}

}  // namespace

void rope_angles(const m40_op_rope_store& op, const float* factors, double* angles) {
  for (uint32_t i = 0; i < op.rope_dim / 2; i++) {
    double extrapolated = pow(static_cast<double>(op.freq_base), -2.0 * i / op.rope_dim);
    if (factors != nullptr) extrapolated /= static_cast<double>(factors[i]);
    const double interpolated = extrapolated * static_cast<double>(op.freq_scale);
    double share = 0;
    if (op.ext_factor != 0) share = (1 - interpolated_share(op, i)) * static_cast<double>(op.ext_factor);
    angles[i] = interpolated * (1 - share) + extrapolated * share;
  }
}

}  // namespace m40
