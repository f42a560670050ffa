// Rotary positions (Su et al. 2021), the norms of heads, and the way of K and V into the cache.
#include <math.h>
#include <string.h>

#include "execution.h"
#include "kv_heads.h"

namespace m40::reference {

namespace {

// What is done to the heads of one token at its position.
class HeadPosition {
 public:
  // angles: [rope_dim / 2] a position; scratch: [rope_dim] floats
  HeadPosition(const m40_op_rope_store& op, const double* angles, uint32_t position, float* scratch)
      : op_(op), cosines_(scratch), sines_(scratch + op.rope_dim / 2) {
    if (op.rope == M40_ROPE_NONE) return;
    for (uint32_t i = 0; i < op.rope_dim / 2; i++) {
      const double angle = position * angles[i];
      cosines_[i] = static_cast<float>(cos(angle) * static_cast<double>(op.attention_factor));
      sines_[i] = static_cast<float>(sin(angle) * static_cast<double>(op.attention_factor));
    }
  }

  // Normalises and rotates a head of q or k in place. norm: [head_dim], or nullptr for ones
  void apply(float* head, const float* norm) const {
    if (op_.head_norm == M40_HEAD_NORM_BEFORE) normalise_head(head, norm, op_.head_dim, op_.norm_epsilon);
    if (op_.rope != M40_ROPE_NONE) rotate(head + op_.rope_offset);
    if (op_.head_norm == M40_HEAD_NORM_AFTER) normalise_head(head, norm, op_.head_dim, op_.norm_epsilon);
  }

 private:
  void rotate(float* values) const {
    const uint32_t half = op_.rope_dim / 2;
    const bool halves = op_.rope == M40_ROPE_HALVES;
    for (uint32_t i = 0; i < half; i++) {
      float& a = values[halves ? i : 2 * i];
      float& b = values[halves ? i + half : 2 * i + 1];
      const float x = a;
      const float y = b;
      a = x * cosines_[i] - y * sines_[i];
      b = x * sines_[i] + y * cosines_[i];
    }
  }

  const m40_op_rope_store& op_;
  float* cosines_;
  float* sines_;
};

// What q is multiplied by at a position.
float temperature(const m40_op_rope_store& op, uint32_t position) {
  if (op.temperature_scale == 0) return 1;
  const uint64_t steps = (uint64_t{position} + op.temperature_offset) / op.temperature_length;
  return static_cast<float>(1 + static_cast<double>(op.temperature_scale) * log1p(static_cast<double>(steps)));
}

uint64_t rope_floats(const m40_op_rope_store& op) { return op.rope == M40_ROPE_NONE ? 0 : op.rope_dim; }

// Writes one token's K and V to the cache. The buffer keeps its own; head: max(head_dim, value_dim) floats
void store(const Execution& execution, const m40_op_rope_store& op, uint64_t token, const HeadPosition& position, float* head) {
  const KvHeads heads(execution, op.layer, execution.step.sequences[token]);
  const float* row = execution.row(op.kv, token);
  for (uint32_t h = 0; h < op.n_kv_heads; h++) {
    memcpy(head, row + op.k_column + uint64_t{h} * op.head_dim, op.head_dim * sizeof(float));
    position.apply(head, execution.vector(op.k_norm));
    heads.write(KvHeads::k, h, execution.step.positions[token], head);
    if (op.v_column == M40_NONE) continue;
    memcpy(head, row + op.v_column + uint64_t{h} * op.value_dim, op.value_dim * sizeof(float));
    if (op.v_norm) normalise_head(head, nullptr, op.value_dim, op.norm_epsilon);
    heads.write(KvHeads::v, h, execution.step.positions[token], head);
  }
}

}  // namespace

uint64_t rope_store_scratch_bytes(const m40_op_rope_store& op) {
  return (rope_floats(op) + std::max(op.head_dim, op.value_dim)) * sizeof(float);
}

void run_rope_store(const Execution& execution, const m40_op_rope_store& op) {
  const double* angles = reinterpret_cast<const double*>(execution.memory(execution.program.plan.angles[execution.operation]));
  const Step& step = execution.step;
  execution.pool.parallel(step.n_tokens, 1, [&](uint64_t begin, uint64_t end, uint32_t thread) {
    float* scratch = execution.scratch(thread);
    for (uint64_t t = begin; t < end; t++) {
      const HeadPosition position(op, angles, step.positions[t], scratch);
      const float factor = temperature(op, step.positions[t]);
      for (uint32_t h = 0; h < op.n_heads; h++) {
        float* head = execution.row(op.q, t) + uint64_t{h} * op.head_dim;
        position.apply(head, execution.vector(op.q_norm));
        for (uint32_t i = 0; i < op.head_dim; i++) head[i] *= factor;
      }
      if (op.kv != M40_NONE) store(execution, op, t, position, scratch + rope_floats(op));
    }
  });
}

}  // namespace m40::reference
