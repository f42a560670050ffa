#include "program.h"

#include <algorithm>

#include "../common/checks.h"
#include "operations.h"
#include "results.h"
#include "../common/sizes.h"

namespace m40 {

namespace {

std::vector<CacheUse> cache_uses(const ProgramDescription& program) {
  std::vector<CacheUse> groups(program.cache->n_groups);
  for (uint32_t i = 0; i < program.n_ops; i++) {
    const m40_op& op = program.ops[i];
    if (op.kind == M40_OP_ROPE_STORE && op.rope_store.kv != M40_NONE) groups[program.cache->group[op.rope_store.layer]].used = true;
    if (op.kind != M40_OP_ATTENTION) continue;
    CacheUse& use = groups[program.cache->group[op.attention.layer]];
    const Reach reach = {op.attention.window, op.attention.chunk};
    use.used = true;
    if (std::find(use.reaches.begin(), use.reaches.end(), reach) == use.reaches.end()) use.reaches.push_back(reach);
  }
  return groups;
}

}  // namespace

uint8_t* Arena::next(uint64_t placed_bytes, const char* what) const {
  check_room(alive(), n_bytes, used_bytes, placed_bytes, what);
  return memory + used_bytes;
}

ProgramDescription describe_program(const m40_limits* limits, const m40_cache_desc* cache, const m40_buffer_desc* buffers,
                                    uint32_t n_buffers, const m40_op* ops, uint32_t n_ops) {
  require(limits, "limits");
  if (n_buffers != 0) require(buffers, "buffers");
  if (n_ops != 0) require(ops, "ops");
  return {limits, cache, buffers, n_buffers, ops, n_ops};
}

void fill_program(ProgramBase& program, const ProgramDescription& description, const TensorLookup& tensors, const TensorArenas& arenas,
                  const Arena* arena, const Arena* cache_arena) {
  program.buffers.assign(description.buffers, description.buffers + description.n_buffers);
  program.ops.assign(description.ops, description.ops + description.n_ops);
  const m40_limits& limits = *description.limits;
  program.limits.limits = limits;
  program.limits.n_positions = position_limit(description, tensors);
  const m40_op_sample* sample = find_sample(program.ops);
  program.limits.samples = sample != nullptr;
  program.limits.hidden = sample != nullptr && sample->hidden != M40_NONE;

  const auto add = [&program](const Arena* used) {
    auto& list = program.arenas;
    if (std::find(list.begin(), list.end(), used) == list.end()) list.push_back(used);
  };
  if (std::any_of(program.ops.begin(), program.ops.end(), uses_kv_blocks)) {
    program.limits.kv_block_tokens = description.cache->kv_block_tokens;
    program.limits.n_kv_blocks = description.cache->n_kv_blocks;
    program.limits.groups = cache_uses(description);
    add(cache_arena);
  }
  if (std::any_of(program.ops.begin(), program.ops.end(), find_state)) {
    program.limits.n_slots = description.cache->n_slots;
    add(cache_arena);
  }
  program.seen.resize(seen_words(program.limits));
  program.exchange = Exchange(description);
  add(arena);
  for (const m40_op& op : program.ops) {
    for_each_weight(op, [&](uint32_t tensor) { add(arenas.arena_of(tensor)); });
  }
}

void check_alive(const ProgramBase* program) {
  require(program, "program");
  for (const Arena* arena : program->arenas) {
    if (!arena->alive()) fail(M40_INVALID_ARGUMENT, "an arena that the program uses has been destroyed");
  }
}

void check_idle(const ProgramBase* program) {
  check_alive(program);
  if (program->step_under_way) fail(M40_INVALID_ARGUMENT, "a step is under way: wanted m40_step_finish first");
  if (program->run_under_way) fail(M40_INVALID_ARGUMENT, "a run is under way: wanted it over, as m40_run_wait says it");
}

void check_buffer_access(const ProgramBase* program, uint32_t buffer, const void* data, uint64_t n_bytes) {
  check_alive(program);
  if (buffer >= program->buffers.size()) {
    fail(M40_INVALID_ARGUMENT, "buffer %u: the program has %zu", buffer, program->buffers.size());
  }
  const uint64_t has = checked_buffer_bytes(program->buffers[buffer], program->limits.limits);
  if (n_bytes > has) {
    fail(M40_INVALID_ARGUMENT, "%llu bytes of buffer %u: it has %llu", static_cast<unsigned long long>(n_bytes), buffer,
         static_cast<unsigned long long>(has));
  }
  if (n_bytes != 0) require(data, "data");
}

Step parse_next_step(ProgramBase* program, const void* block, uint64_t block_bytes) {
  check_idle(program);
  require(block, "block");
  program->exchange.require_memory();
  return parse_step(block, block_bytes, program->limits, program->seen.data());
}

void check_times(const ProgramBase* program, const float* times, uint32_t n_times) {
  if (n_times != program->ops.size()) fail(M40_INVALID_ARGUMENT, "n_times is %u: wanted %zu, one for each operation", n_times, program->ops.size());
  if (n_times != 0) require(times, "times");
}

void require_step(const ProgramBase* program) {
  check_alive(program);
  if (!program->step_under_way) fail(M40_INVALID_ARGUMENT, "no step is under way: wanted m40_step_begin first");
}

void require_run(const ProgramBase* program) {
  check_alive(program);
  if (!program->run_under_way) fail(M40_INVALID_ARGUMENT, "no run is under way: wanted m40_run_begin first");
}

}  // namespace m40
