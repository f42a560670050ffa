#include "sample_shaped.h"

#include <algorithm>

#include "../program/sample_weights.h"
#include "philox.h"

namespace m40::reference {

namespace {

// The tokens that are left, likeliest first, and their weights.
class Kept {
 public:
  // Those of at least the least weight, and of them the likeliest n_most.
  Kept(Candidate* candidates, uint32_t n, double temperature, uint64_t least, uint32_t n_most) : first_(candidates), end_(candidates + n) {
    weights_ = {static_cast<double>(std::min_element(first_, end_, likelier)->logit), temperature};
    end_ = std::remove_if(first_, end_, [&](const Candidate& c) { return weights_.of(c.logit) < least; });
    if (n_most < size()) std::nth_element(first_, first_ + n_most, end_, likelier);
    keep(n_most);
    std::sort(first_, end_, likelier);
  }

  uint32_t size() const { return static_cast<uint32_t>(end_ - first_); }
  const ShapedWeights& weights() const { return weights_; }

  // Weights relative to the likeliest token that is left.
  void weigh(double temperature) { weights_ = {static_cast<double>(first_->logit), temperature}; }

  // All but the first n (at least one) go.
  void keep(uint32_t n) { end_ = first_ + std::min(n, size()); }

  // All before the one at that index go.
  void drop_first(uint32_t n) { first_ += n; }

  ShapedSums sums() const {
    ShapedSums sums = {0, 0, size()};
    for (const Candidate* c = first_; c != end_; c++) {
      const double depth = weights_.depth(c->logit);
      const uint64_t weight = ShapedWeights::of_depth(depth);
      sums.weight += weight;
      sums.moment += ShapedWeights::moment(weight, depth);
    }
    return sums;
  }

  // How many tokens it takes, in their order, until their weights are more than `target`.
  uint32_t count_beyond(uint64_t target) const {
    uint64_t passed = 0;
    for (const Candidate* c = first_; c != end_; c++) {
      passed += weights_.of(c->logit);
      if (passed > target) return static_cast<uint32_t>(c - first_) + 1;
    }
    return size();
  }

  // Keeps the tokens with a surprise nearest to the expected one, until they have that share.
  void keep_typical(float share) {
    const ShapedSums all = sums();
    const TypicalOrder order = TypicalOrder::among(all);
    const auto key = [&](const Candidate& c) { return order.key(weights_.depth(c.logit), static_cast<uint32_t>(c.token)); };
    std::sort(first_, end_, [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
    keep(count_beyond(below_share(all.weight, share)));
    std::sort(first_, end_, likelier);
  }

  // Exclude top choices: of the tokens that reach the threshold, all but the least likely go.
  void exclude_top(const m40_sampling& sampling) {
    const uint64_t total = sums().weight;
    const Candidate* end = std::partition_point(first_, end_, [&](const Candidate& c) { return xtc_reaches(sampling, weights_.of(c.logit), total); });
    if (end != first_) drop_first(static_cast<uint32_t>(end - first_) - 1);
  }

  // Tokens with a surprise above mu go, except the likeliest.
  void cut_surprising(const m40_sampling& sampling) {
    const double deepest = mirostat_depth(sampling, sums().weight);
    const Candidate* end = std::partition_point(first_, end_, [&](const Candidate& c) { return weights_.depth(c.logit) <= deepest; });
    keep(std::max(1u, static_cast<uint32_t>(end - first_)));
  }

  const Candidate& operator[](uint32_t index) const { return first_[index]; }

 private:
  Candidate* first_;
  Candidate* end_;
  ShapedWeights weights_ = {};
};

}  // namespace

int32_t draw_shaped(const m40_sampling& sampling, Candidate* candidates, uint32_t n, float* surprise) {
  const PhiloxWords random = philox(sampling.seed_low, sampling.seed_high, sampling.counter, sampling.stream);
  double temperature = sampling.dynatemp_range > 0 ? 1 : static_cast<double>(sampling.temperature);
  Kept kept(candidates, n, temperature, least_weight(sampling.min_p), sampling.top_k == 0 ? n : sampling.top_k);
  if (sampling.typical_p < 1) kept.keep_typical(sampling.typical_p);
  if (sampling.top_p < 1) kept.keep(kept.count_beyond(below_share(kept.sums().weight, sampling.top_p)));
  if (xtc_acts(sampling, random.second)) kept.exclude_top(sampling);
  if (sampling.dynatemp_range > 0) temperature = dynamic_temperature(sampling, kept.sums());
  if (temperature == 0) kept.keep(1);
  kept.weigh(temperature == 0 ? 1 : temperature);
  if (sampling.mirostat != 0) kept.cut_surprising(sampling);
  const uint64_t total = kept.sums().weight;
  const Candidate& drawn = kept[kept.count_beyond(draw_target(total, random.first)) - 1];
  *surprise = sampling.mirostat != 0 ? m40::surprise(total, kept.weights().depth(drawn.logit)) : 0;
  return drawn.token;
}

}  // namespace m40::reference
