// Rope, the KV cache and attention against float64.
#ifndef M40_BENCH_CUDA_ATTENTION_CHECK_H
#define M40_BENCH_CUDA_ATTENTION_CHECK_H

#include "attention_world.h"

namespace {

// What is wrong with a shape, over sequences of some lengths.
class ShapeCheck {
 public:
  ShapeCheck(const Shape& shape, const std::vector<uint32_t>& lengths)
      : shape_(shape),
        lengths_(lengths),
        n_(static_cast<uint32_t>(lengths.size())),
        longest_(*std::max_element(lengths.begin(), lengths.end()) + 4),
        world_(shape, n_, longest_, n_ * longest_),
        source_(n_) {
    for (std::vector<float>& rows : source_) {
      rows.resize(uint64_t{longest_} * world_.width);
      for (float& x : rows) x = random_float() * 2;
    }
  }

  void run() {
    check_cuts();
    check_batches();
    if (n_ > 1) check_mixed();
    check_values();
  }

 private:
  void same(const float* a, const float* b, uint64_t n_rows, const char* what) const {
    expect(memcmp(a, b, n_rows * world_.columns * sizeof(float)) == 0, shape_.name() + ": " + what);
  }

  // The prompts, ragged in one step; then each in pieces into the same KV blocks.
  void check_cuts() {
    std::vector<Part> parts;
    for (uint32_t s = 0; s < n_; s++) parts.push_back({s, 0, lengths_[s]});
    whole_ = run_step(world_, parts, 0, source_, false);
    std::vector<float> cut(whole_.size());
    uint64_t row = 0;
    for (uint32_t s = 0; s < n_; s++) {
      for (uint32_t from = 0, piece = 0; from < lengths_[s]; piece++) {
        const uint32_t count = std::min(lengths_[s] - from, piece == 0 ? lengths_[s] / 3 + 1 : 1 + random_u32() % 70);
        const std::vector<float> got = run_step(world_, {{s, from, count}}, 0, source_, false);
        std::copy(got.begin(), got.end(), cut.begin() + (row + from) * world_.columns);
        from += count;
      }
      row += lengths_[s];
    }
    same(whole_.data(), cut.data(), row, "a prompt's bits depend on how it is cut");
  }

  Part next(uint32_t sequence) const { return {sequence, lengths_[sequence], 1}; }

  // A decoded token each: together, fused, alone.
  void check_batches() {
    std::vector<Part> parts;
    for (uint32_t s = 0; s < n_; s++) parts.push_back(next(s));
    together_ = run_step(world_, parts, n_, source_, false);
    const std::vector<uint8_t> plain_cache = world_.memory.get();
    const std::vector<float> fused = run_step(world_, parts, n_, source_, true);
    same(together_.data(), fused.data(), n_, "fused rope gives other bits");
    expect(plain_cache == world_.memory.get(), shape_.name() + ": fused rope writes another cache");
    for (uint32_t s = 0; s < n_; s++) {
      const std::vector<float> alone = run_step(world_, {next(s)}, 1, source_, true);
      same(alone.data(), together_.data() + uint64_t{s} * world_.columns, 1, "a sequence's bits depend on the batch");
    }
  }

  // The first sequence decodes, the end of the last one's prompt is computed again.
  void check_mixed() {
    const uint32_t last = n_ - 1;
    const uint32_t count = std::min(lengths_[last], 5u);
    const std::vector<float> mixed = run_step(world_, {next(0), {last, lengths_[last] - count, count}}, 1, source_, false);
    same(mixed.data(), together_.data(), 1, "a decoded token's bits depend on a prompt beside it");
    same(mixed.data() + world_.columns, whole_.data() + whole_.size() - uint64_t{count} * world_.columns, count,
         "a prompt's bits depend on a decoded token beside it");
  }

  // Against float64, over the K and V that the cache holds; those against the source.
  void check_values() {
    const std::vector<uint8_t> cache = world_.memory.get();
    const std::vector<float> q_norm = world_.q_norm.get(), k_norm = world_.k_norm.get();
    double worst_cache = 0, worst_prefill = 0, worst_decode = 0;
    uint64_t row = 0;
    for (uint32_t s = 0; s < n_; s++) {
      for (uint32_t position = 0; position <= lengths_[s]; position++) {
        const bool decoded = position == lengths_[s];
        // All of the short ones, a few of the long ones.
        if (!decoded && lengths_[s] > 40 && random_u32() % 64 != 0 && position + 1 != lengths_[s]) continue;
        worst_cache = std::max(worst_cache, cache_error(cache, k_norm, s, position));
        const float* got = decoded ? together_.data() + uint64_t{s} * world_.columns : whole_.data() + (row + position) * world_.columns;
        double& worst = decoded ? worst_decode : worst_prefill;
        for (uint32_t head = 0; head < shape_.n_heads; head++) {
          const double error = attention_error(cache, q_norm, s, position, head, got + head * shape_.head_dim);
          // What is not a number is the worst of all.
          worst = error != error ? INFINITY : std::max(worst, error);
        }
      }
      row += lengths_[s];
    }
    const double cache_tolerance = shape_.type == M40_TYPE_F32 ? 4e-6 : shape_.type == M40_TYPE_F16 ? 3e-3 : 3e-2;
    expect(worst_cache <= cache_tolerance, shape_.name() + ": cache off by " + std::to_string(worst_cache));
    expect(worst_prefill <= 1e-5, shape_.name() + ": prefill off by " + std::to_string(worst_prefill));
    expect(worst_decode <= 1e-5, shape_.name() + ": decode off by " + std::to_string(worst_decode));
    printf("%-100s cache %.1e, prefill %.1e, decode %.1e\n", shape_.name().c_str(), worst_cache, worst_prefill, worst_decode);
  }

  const float* source_row(uint32_t sequence, uint32_t position) const {
    return source_[sequence].data() + uint64_t{position} * world_.width;
  }

  // How far a position's K and V in the cache are from what they should be.
  double cache_error(const std::vector<uint8_t>& cache, const std::vector<float>& k_norm, uint32_t sequence, uint32_t position) const {
    double worst = 0;
    for (uint32_t g = 0; g < shape_.n_kv_heads; g++) {
      for (const bool value : {false, true}) {
        const float* head = source_row(sequence, position) + (shape_.n_heads + g + (value ? shape_.n_kv_heads : 0)) * shape_.head_dim;
        const std::vector<double> wanted =
            value ? std::vector<double>(head, head + shape_.head_dim) : world_.turned(head, position, shape_.norms ? &k_norm : nullptr);
        const std::vector<double> got = world_.cached(cache, sequence, position, g, value);
        for (uint32_t d = 0; d < shape_.head_dim; d++) worst = std::max(worst, fabs(got[d] - wanted[d]));
      }
    }
    return worst;
  }

  // How far a head's output is from attention over the cache's positions.
  double attention_error(const std::vector<uint8_t>& cache, const std::vector<float>& q_norm, uint32_t sequence, uint32_t position,
                         uint32_t head, const float* got) const {
    const std::vector<double> q =
        world_.turned(source_row(sequence, position) + head * shape_.head_dim, position, shape_.norms ? &q_norm : nullptr);
    const uint32_t g = head / (shape_.n_heads / shape_.n_kv_heads);
    const uint32_t start = shape_.window != 0 && shape_.window < position + 1 ? position + 1 - shape_.window : 0;
    std::vector<double> scores, sum(shape_.head_dim);
    double largest = -INFINITY, total = 0;
    for (uint32_t p = start; p <= position; p++) {
      const std::vector<double> k = world_.cached(cache, sequence, p, g, false);
      double score = 0;
      for (uint32_t d = 0; d < shape_.head_dim; d++) score += q[d] * k[d];
      score /= sqrt(static_cast<double>(shape_.head_dim));
      if (shape_.softcap != 0) score = shape_.softcap * tanh(score / shape_.softcap);
      scores.push_back(score);
      largest = std::max(largest, score);
    }
    for (uint32_t p = start; p <= position; p++) {
      const double weight = exp(scores[p - start] - largest);
      const std::vector<double> v = world_.cached(cache, sequence, p, g, true);
      total += weight;
      for (uint32_t d = 0; d < shape_.head_dim; d++) sum[d] += weight * v[d];
    }
    double worst = 0;
    for (uint32_t d = 0; d < shape_.head_dim; d++) {
      const double error = fabs(static_cast<double>(got[d]) - sum[d] / total);
      if (error != error) return error;
      worst = std::max(worst, error);
    }
    return worst;
  }

  const Shape& shape_;
  const std::vector<uint32_t>& lengths_;
  uint32_t n_, longest_;
  World world_;
  std::vector<std::vector<float>> source_;  // of each sequence: [position, width]
  std::vector<float> whole_;                // output of the prompts, [tokens, columns]
  std::vector<float> together_;             // of a decoded token each, [sequences, columns]
};

void check_shape(const Shape& shape, const std::vector<uint32_t>& lengths) { ShapeCheck(shape, lengths).run(); }

int check(bool quick) {
  const std::vector<Shape> shapes = {
      {32, 8, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 32},
      {4, 4, 64, 64, M40_ROPE_HALVES, 0, 0, true, M40_TYPE_F32, 4},
      {6, 2, 80, 32, M40_ROPE_HALVES, 0, 0, false, M40_TYPE_F16, 16},
      {8, 1, 96, 96, M40_ROPE_HALVES, 100, 0, false, M40_TYPE_F16, 32},
      {16, 1, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_Q8_0, 32},
      {7, 1, 128, 128, M40_ROPE_HALVES, 33, 0, true, M40_TYPE_Q8_0, 1},
      {4, 2, 256, 256, M40_ROPE_HALVES, 0, 30, true, M40_TYPE_F16, 32},
      {8, 1, 256, 256, M40_ROPE_HALVES, 70, 0, false, M40_TYPE_F32, 8},
      {16, 2, 256, 64, M40_ROPE_HALVES, 0, 0, true, M40_TYPE_F16, 32},
      {8, 1, 256, 64, M40_ROPE_HALVES, 0, 0, true, M40_TYPE_Q8_0, 16},
      {3, 1, 256, 64, M40_ROPE_NONE, 0, 0, false, M40_TYPE_Q8_0, 64},
      {2, 2, 32, 32, M40_ROPE_INTERLEAVED, 5, 1, false, M40_TYPE_Q8_0, 32},
      {5, 1, 11, 10, M40_ROPE_INTERLEAVED, 0, 0, false, M40_TYPE_F16, 2},
      {12, 1, 128, 128, M40_ROPE_HALVES, 0, 0, false, M40_TYPE_F32, 32},
      {71, 1, 64, 64, M40_ROPE_HALVES, 0, 0, false, M40_TYPE_F16, 32},
  };
  for (const Shape& shape : shapes) {
    check_shape(shape, {1, 63, 64, 65, 31, 2});
    if (quick) continue;
    check_shape(shape, {300, 127, 129, 33, 200, 256, 255, 5, 4, 3, 2, 1});
  }
  if (!quick) {
    for (uint32_t type : {M40_TYPE_F16, M40_TYPE_Q8_0}) {
      check_shape({8, 2, 128, 128, M40_ROPE_INTERLEAVED, 0, 0, false, type, 32}, {5000, 2049, 2047});
      check_shape({8, 2, 64, 64, M40_ROPE_HALVES, 1000, 0, false, type, 32}, {9000, 1000});
    }
  }
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}

}  // namespace

#endif
