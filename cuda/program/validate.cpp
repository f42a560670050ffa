#include "validate.h"

#include "record_checker.h"

namespace m40 {

namespace {

constexpr uint32_t max_list = 1u << 16;  // operations, buffers: far above any model

void validate_limits(const m40_limits& limits, const m40_cache_desc* cache) {
  if (limits.n_tokens == 0 || limits.n_sequences == 0 || limits.n_vocab == 0) {
    fail(M40_INVALID_ARGUMENT, "limits of %u tokens, %u sequences and a vocabulary of %u: none of them may be 0",
         limits.n_tokens, limits.n_sequences, limits.n_vocab);
  }
  if (limits.n_vocab > 0x7FFFFFFFu) fail(M40_INVALID_ARGUMENT, "a vocabulary of %u tokens: wanted fewer than 2^31", limits.n_vocab);
  if (limits.step_bytes < sizeof(m40_step_header)) {
    fail(M40_INVALID_ARGUMENT, "step_bytes is %llu: wanted at least the step header's %zu",
         static_cast<unsigned long long>(limits.step_bytes), sizeof(m40_step_header));
  }
  // Far below where sums overflow.
  if (limits.step_bytes > uint64_t{1} << 48) {
    fail(M40_INVALID_ARGUMENT, "step_bytes is %llu: wanted at most 2^48", static_cast<unsigned long long>(limits.step_bytes));
  }
  if (uint64_t{limits.n_sequences} * limits.n_sequence_kv_blocks > uint64_t{1} << 46) {
    fail(M40_INVALID_ARGUMENT, "%u sequences of %u KV blocks: wanted at most 2^46 KV blocks in all", limits.n_sequences, limits.n_sequence_kv_blocks);
  }
  if (limits.lane > M40_LANE_PROMPTS) fail(M40_INVALID_ARGUMENT, "lane is %u: wanted 0 (main) or 1 (prompts)", limits.lane);
  if (cache == nullptr) return;
  check_cache_desc(*cache);
  if (cache->n_layers == 0) return;
  if (uint64_t{limits.n_sequence_kv_blocks} * cache->n_groups > UINT32_MAX) {
    fail(M40_INVALID_ARGUMENT, "%u KV blocks a sequence in each of %u groups: wanted fewer than 2^32 in all", limits.n_sequence_kv_blocks, cache->n_groups);
  }
  if (uint64_t{limits.n_sequence_kv_blocks} * cache->kv_block_tokens > uint64_t{1} << 32) {
    fail(M40_INVALID_ARGUMENT, "%u KV blocks a sequence of %u tokens: positions would not fit 32 bits", limits.n_sequence_kv_blocks,
         cache->kv_block_tokens);
  }
  if (limits.n_sequence_kv_blocks == 0) fail(M40_INVALID_ARGUMENT, "n_sequence_pages is 0: wanted at least 1 with a KV cache");
}

void validate_buffer(uint32_t index, const m40_buffer_desc& buffer, const m40_limits& limits) {
  if (buffer.rows > M40_ROWS_EXPERTS) {
    fail(M40_INVALID_ARGUMENT, "buffer %u: rows is %u: wanted 0 (tokens), 1 (outputs) or 2 (experts)", index, buffer.rows);
  }
  if (buffer.rows == M40_ROWS_EXPERTS ? buffer.rows_factor == 0 : buffer.rows_factor != 1) {
    fail(M40_INVALID_ARGUMENT, "buffer %u: rows_factor is %u: wanted %s", index, buffer.rows_factor,
         buffer.rows == M40_ROWS_EXPERTS ? "the experts used a token" : "1");
  }
  if (buffer.columns == 0) fail(M40_INVALID_ARGUMENT, "buffer %u: columns is 0: wanted at least 1", index);
  if (buffer.element > M40_ELEMENT_U32) {
    fail(M40_INVALID_ARGUMENT, "buffer %u: element is %u: wanted 0 (F32) or 1 (U32)", index, buffer.element);
  }
  checked_buffer_bytes(buffer, limits);
}

}  // namespace

void validate_program(const ProgramDescription& program, const TensorLookup* tensors) {
  if (program.n_ops == 0 || program.n_ops > max_list) {
    fail(M40_INVALID_ARGUMENT, "a program of %u operations: wanted 1 to %u", program.n_ops, max_list);
  }
  if (program.n_buffers == 0 || program.n_buffers > max_list) {
    fail(M40_INVALID_ARGUMENT, "a program of %u buffers: wanted 1 to %u", program.n_buffers, max_list);
  }
  validate_limits(*program.limits, program.cache);
  for (uint32_t i = 0; i < program.n_buffers; i++) validate_buffer(i, program.buffers[i], *program.limits);
  for (uint32_t i = 0; i < program.n_ops; i++) check_record(program, tensors, i);
}

uint64_t position_limit(const ProgramDescription& program, const TensorLookup& tensors) {
  uint64_t limit = uint64_t{1} << 32;
  if (program.cache != nullptr && program.cache->n_layers != 0) {
    const uint64_t cached = uint64_t{program.limits->n_sequence_kv_blocks} * program.cache->kv_block_tokens;
    if (cached < limit) limit = cached;
  }
  for (uint32_t i = 0; i < program.n_ops; i++) {
    const m40_op& op = program.ops[i];
    if (op.kind != M40_OP_EMBED || op.embed.position_table == M40_NONE) continue;
    const m40_tensor_desc* table = tensors.find(op.embed.position_table);
    if (table != nullptr && table->rows < limit) limit = table->rows;
  }
  return limit;
}

}  // namespace m40
