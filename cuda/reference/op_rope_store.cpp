// Rotary positions (Su et al. 2021), the norms of q and k a head, and the way of k and v into the cache.
#include <math.h>
#include <string.h>

#include "execution.h"
#include "kv_heads.h"

namespace m40::reference {

namespace {

void rotate(float* head, const m40_op_rope_store& op, const float* cosines, const float* sines) {
  const uint32_t half = op.rope_dim / 2;
  const bool halves = op.rope == M40_ROPE_HALVES;
  for (uint32_t i = 0; i < half; i++) {
    float& a = head[halves ? i : 2 * i];
    float& b = head[halves ? i + half : 2 * i + 1];
    const float x = a;
    const float y = b;
    a = x * cosines[i] - y * sines[i];
    b = x * sines[i] + y * cosines[i];
  }
}

}  // namespace

uint64_t rope_store_scratch_bytes(const m40_op_rope_store& op) { return uint64_t{op.rope_dim} * sizeof(float); }

void run_rope_store(const Execution& execution, const m40_op_rope_store& op, const double* angles) {
  const Step& step = execution.step;
  const float* q_norm = execution.vector(op.q_norm);
  const float* k_norm = execution.vector(op.k_norm);
  const uint32_t half = op.rope_dim / 2;
  execution.pool.parallel(step.n_tokens, 1, [&](uint64_t begin, uint64_t end, uint32_t thread) {
    float* cosines = execution.scratch(thread);
    float* sines = cosines + half;
    for (uint64_t t = begin; t < end; t++) {
      const uint32_t position = step.positions[t];
      for (uint32_t i = 0; i < half && op.rope != M40_ROPE_NONE; i++) {
        const double angle = position * angles[i];
        cosines[i] = static_cast<float>(cos(angle) * static_cast<double>(op.attention_factor));
        sines[i] = static_cast<float>(sin(angle) * static_cast<double>(op.attention_factor));
      }
      float* qkv = execution.row(op.q, t);
      for (uint32_t h = 0; h < op.n_heads + op.n_kv_heads; h++) {
        float* head = qkv + uint64_t{h} * op.head_dim;
        const float* weight = h < op.n_heads ? q_norm : k_norm;
        if (weight != nullptr) normalise_head(head, weight, op.head_dim, op.norm_epsilon);
        if (op.rope != M40_ROPE_NONE) rotate(head, op, cosines, sines);
      }
      const KvHeads heads(execution, op.layer, step.sequences[t]);
      const float* k = qkv + uint64_t{op.n_heads} * op.head_dim;
      const float* v = k + uint64_t{op.n_kv_heads} * op.head_dim;
      for (uint32_t h = 0; h < op.n_kv_heads; h++) {
        heads.write(KvHeads::k, h, position, k + uint64_t{h} * op.head_dim);
        heads.write(KvHeads::v, h, position, v + uint64_t{h} * op.head_dim);
      }
    }
  });
}

}  // namespace m40::reference
