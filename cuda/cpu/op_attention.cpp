// Attention over the KV blocks of a token's sequence, with a running softmax (Milakov and Gimelshein 2018): KV block by
// KV block, so that the memory it takes does not grow with the context.
#include <math.h>
#include <string.h>

#include "execution.h"
#include "kv_heads.h"

namespace m40::reference {

namespace {

// The first position that is seen from `position`.
uint64_t first_seen(const m40_op_attention& op, uint32_t position) {
  if (op.chunk != 0) return position / op.chunk * op.chunk;
  const uint64_t end = uint64_t{position} + 1;
  return op.window != 0 && op.window < end ? end - op.window : 0;
}

// One head of one token. scores: kv_block_tokens floats; converted: max(head_dim, value_dim) floats.
void attend(const Execution& execution, const m40_op_attention& op, uint64_t token, uint32_t head, float* scores, float* converted) {
  const Step& step = execution.step;
  const m40_cache& cache = *execution.program.cache;
  const uint32_t kv_block_tokens = cache.desc.kv_block_tokens;
  const KvHeads heads(execution, op.layer, step.sequences[token]);
  const uint32_t kv_head = head / (op.n_heads / op.n_kv_heads);
  const float* q = execution.row(op.q, token) + uint64_t{head} * op.head_dim;
  float* output = execution.row(op.output, token) + uint64_t{head} * op.value_dim;

  const uint64_t end = uint64_t{step.positions[token]} + 1;
  const uint64_t start = first_seen(op, step.positions[token]);
  memset(output, 0, op.value_dim * sizeof(float));
  // A sink acts as a position before the first one, with a value of 0.
  const float* sinks = execution.vector(op.sinks);
  float largest = sinks == nullptr ? -INFINITY : sinks[head];
  double sum = largest == -INFINITY ? 0 : 1;
  for (uint64_t kv_block = start / kv_block_tokens; kv_block * kv_block_tokens < end; kv_block++) {
    const uint64_t page_start = kv_block * kv_block_tokens;
    const uint32_t first = static_cast<uint32_t>(std::max(start, page_start) - page_start);
    const uint32_t last = static_cast<uint32_t>(std::min(end, page_start + kv_block_tokens) - page_start);
    const uint8_t* keys = heads.heads(KvHeads::k, kv_head, static_cast<uint32_t>(kv_block));
    const uint8_t* values = heads.heads(KvHeads::v, kv_head, static_cast<uint32_t>(kv_block));
    float page_largest = largest;
    for (uint32_t i = first; i < last; i++) {
      scores[i] = soft_capped(heads.dot(q, keys + i * heads.head_bytes(KvHeads::k), converted) * op.scale, op.softcap);
      page_largest = std::max(page_largest, scores[i]);
    }
    if (page_largest > largest) {
      const float shrink = expf(largest - page_largest);
      for (uint32_t i = 0; i < op.value_dim; i++) output[i] *= shrink;
      sum *= static_cast<double>(shrink);
      largest = page_largest;
    }
    for (uint32_t i = first; i < last; i++) {
      const float weight = expf(scores[i] - largest);
      sum += static_cast<double>(weight);
      heads.add_scaled(output, values + i * heads.head_bytes(KvHeads::v), weight, op.value_dim, converted);
    }
  }
  for (uint32_t i = 0; i < op.value_dim; i++) output[i] = static_cast<float>(static_cast<double>(output[i]) / sum);
}

}  // namespace

float soft_capped(float value, float softcap) { return softcap == 0 ? value : softcap * tanhf(value / softcap); }

uint64_t attention_scratch_bytes(const m40_op_attention& op, const m40_cache_desc& cache) {
  return (uint64_t{cache.kv_block_tokens} + std::max(op.head_dim, op.value_dim)) * sizeof(float);
}

void run_attention(const Execution& execution, const m40_op_attention& op) {
  execution.pool.parallel(uint64_t{execution.step.n_tokens} * op.n_heads, 1, [&](uint64_t begin, uint64_t end, uint32_t thread) {
    float* converted = execution.scratch(thread);
    float* scores = converted + std::max(op.head_dim, op.value_dim);
    for (uint64_t item = begin; item < end; item++) {
      attend(execution, op, item / op.n_heads, static_cast<uint32_t>(item % op.n_heads), scores, converted);
    }
  });
}

}  // namespace m40::reference
