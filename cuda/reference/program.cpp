// Programs: placing them, their buffers, and the loop over their records that is a step.
#include <string.h>

#include <algorithm>

#include "../runtime/results.h"
#include "../runtime/rope_angles.h"
#include "execution.h"

using m40::fail;
using m40::guarded;
using m40::ProgramDescription;
using m40::require;
using m40::ResultMemory;
using m40::Step;
using m40::reference::Execution;
using m40::reference::plan_program;
using m40::rope_angles;

namespace {

ProgramDescription describe(const m40_limits* limits, const m40_cache_desc* cache, const m40_buffer_desc* buffers, uint32_t n_buffers,
                            const m40_op* ops, uint32_t n_ops) {
  require(limits, "limits");
  if (n_buffers != 0) require(buffers, "buffers");
  if (n_ops != 0) require(ops, "ops");
  return {limits, cache, buffers, n_buffers, ops, n_ops};
}

bool uses_cache(const m40_op& op) { return op.kind == M40_OP_ROPE || op.kind == M40_OP_ATTENTION; }

void add_arena(m40_program& program, m40_arena* arena) {
  auto& arenas = program.arenas;
  if (std::find(arenas.begin(), arenas.end(), arena) == arenas.end()) arenas.push_back(arena);
}

void add_tensor_arenas(m40_program& program) {
  const auto add = [&program](uint32_t tensor) {
    if (tensor != M40_NONE) add_arena(program, program.context->tensors[tensor].arena);
  };
  for (const m40_op& op : program.ops) {
    switch (op.kind) {
      case M40_OP_EMBED:
        add(op.embed.table);
        add(op.embed.position_table);
        break;
      case M40_OP_NORM:
        add(op.norm.weight);
        add(op.norm.bias);
        break;
      case M40_OP_MATMUL:
        for (uint32_t i = 0; i < op.matmul.n_weights; i++) {
          add(op.matmul.weight[i]);
          add(op.matmul.bias[i]);
        }
        break;
      case M40_OP_ROPE:
        add(op.rope.q_norm);
        add(op.rope.k_norm);
        break;
      case M40_OP_EXPERT_MATMUL:
        for (uint32_t i = 0; i < op.expert_matmul.n_weights; i++) add(op.expert_matmul.weight[i]);
        break;
    }
  }
}

void check_alive(const m40_program* program) {
  require(program, "program");
  for (const m40_arena* arena : program->arenas) {
    if (!arena->alive()) fail(M40_INVALID_ARGUMENT, "an arena that the program uses has been destroyed");
  }
}

// The buffer's memory, if it has n_bytes.
uint8_t* buffer_memory(const m40_program* program, uint32_t buffer, const void* data, uint64_t n_bytes) {
  check_alive(program);
  if (buffer >= program->buffers.size()) {
    fail(M40_INVALID_ARGUMENT, "buffer %u: the program has %zu", buffer, program->buffers.size());
  }
  const uint64_t has = m40::checked_buffer_bytes(program->buffers[buffer], program->limits.limits);
  if (n_bytes > has) {
    fail(M40_INVALID_ARGUMENT, "%llu bytes of buffer %u: it has %llu", static_cast<unsigned long long>(n_bytes), buffer,
         static_cast<unsigned long long>(has));
  }
  if (n_bytes != 0) require(data, "data");
  return program->memory + program->plan.buffers[buffer];
}

// The program, one operation after the other.
void execute(const Execution& execution) {
  const m40_program& program = execution.program;
  for (size_t i = 0; i < program.ops.size(); i++) {
    const m40_op& op = program.ops[i];
    switch (op.kind) {
      case M40_OP_EMBED: run_embed(execution, op.embed); break;
      case M40_OP_NORM: run_norm(execution, op.norm); break;
      case M40_OP_MATMUL: run_matmul(execution, op.matmul); break;
      case M40_OP_ROPE: run_rope(execution, op.rope, reinterpret_cast<const double*>(execution.memory(program.plan.angles[i]))); break;
      case M40_OP_ATTENTION: run_attention(execution, op.attention); break;
      case M40_OP_ACTIVATION: run_activation(execution, op.activation); break;
      case M40_OP_ADD: run_add(execution, op.add); break;
      case M40_OP_SELECT: run_select(execution, op.select); break;
      case M40_OP_SOFTCAP: run_softcap(execution, op.softcap); break;
      case M40_OP_ROUTE: run_route(execution, op.route); break;
      case M40_OP_EXPERT_MATMUL: run_expert_matmul(execution, op.expert_matmul); break;
      case M40_OP_EXPERT_SUM: run_expert_sum(execution, op.expert_sum); break;
      case M40_OP_SAMPLE: run_sample(execution, op.sample); break;
    }
  }
}

void require_step(const m40_program* program) {
  check_alive(program);
  if (!program->step_begun) fail(M40_INVALID_ARGUMENT, "no step is under way: wanted m40_step_begin first");
}

void begin_step(m40_program* program, const void* block, uint64_t block_bytes) {
  check_alive(program);
  require(block, "block");
  if (program->step_begun) fail(M40_INVALID_ARGUMENT, "a step is under way: wanted m40_step_finish first");
  program->step = parse_step(block, block_bytes, program->limits, reinterpret_cast<uint32_t*>(program->memory + program->plan.seen));
  program->step_computed = false;
  program->step_begun = true;
}

void require_all_samples(m40_program* program) {
  program->step_begun = false;  // unless all goes well
  m40::check_all_samples(program->step);
  program->step_begun = true;
}

void compute_step(m40_program* program) {
  if (program->step_computed) return;
  program->step_begun = false;  // unless all goes well
  execute({*program, program->step, program->context->kernels, program->context->pool});
  program->step_computed = true;
  program->step_begun = true;
}

void finish_step(m40_program* program, const ResultMemory& memory) {
  program->step_begun = false;
  const m40_op_sample* sample = m40::find_sample(program->ops);
  const Step& step = program->step;
  m40::check_result_memory(sample, step, memory);
  compute_step(program);
  program->step_begun = false;
  if (sample == nullptr) return;
  const Execution execution = {*program, step, program->context->kernels, program->context->pool};
  m40::for_each_run_of_values(*sample, step, memory.values, [&](uint32_t kind, uint32_t first, uint32_t n, float* values) {
    const uint32_t buffer = kind == M40_OUTPUT_LOGITS ? sample->logits : sample->hidden;
    const uint64_t columns = m40::output_values(*sample, kind);
    for (uint32_t i = 0; i < n; i++) memcpy(values + i * columns, execution.row(buffer, first + i), columns * sizeof(float));
  });
  m40::write_results(*sample, step, reinterpret_cast<const uint32_t*>(execution.memory(program->plan.statuses)),
                     reinterpret_cast<const m40_sample*>(execution.memory(program->plan.samples)), memory);
}

}  // namespace

extern "C" m40_status m40_program_bytes(m40_context* context, const m40_limits* limits, const m40_cache_desc* cache,
                                        const m40_buffer_desc* buffers, uint32_t n_buffers, const m40_op* ops, uint32_t n_ops,
                                        uint64_t* n_bytes, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(n_bytes, "n_bytes");
    const ProgramDescription description = describe(limits, cache, buffers, n_buffers, ops, n_ops);
    validate_program(description, nullptr);
    *n_bytes = plan_program(description, context->pool.n_threads()).n_bytes;
  });
}

extern "C" m40_status m40_program_create(m40_arena* arena, const m40_limits* limits, m40_cache* cache, const m40_buffer_desc* buffers,
                                         uint32_t n_buffers, const m40_op* ops, uint32_t n_ops, m40_program** program,
                                         m40_error* error) {
  return guarded(error, [&] {
    require(arena, "arena");
    require(program, "program");
    m40_context* context = arena->context;
    if (cache != nullptr && (cache->arena->context != context || !cache->arena->alive())) {
      fail(M40_INVALID_ARGUMENT, "the KV cache is of another context, or its arena has been destroyed");
    }
    const ProgramDescription description = describe(limits, cache == nullptr ? nullptr : &cache->desc, buffers, n_buffers, ops, n_ops);
    validate_program(description, context);

    std::unique_ptr<m40_program> created(new m40_program{});
    created->context = context;
    created->arena = arena;
    created->buffers.assign(buffers, buffers + n_buffers);
    created->ops.assign(ops, ops + n_ops);
    if (std::any_of(ops, ops + n_ops, uses_cache)) created->cache = cache;
    created->limits.limits = *limits;
    created->limits.n_positions = position_limit(description, *context);
    const m40_op_sample* sample = m40::find_sample(created->ops);
    created->limits.samples = sample != nullptr;
    created->limits.hidden = sample != nullptr && sample->hidden != M40_NONE;
    if (created->cache != nullptr) {
      created->limits.page_tokens = cache->desc.page_tokens;
      created->limits.n_pages = cache->desc.n_pages;
      add_arena(*created, cache->arena);
    }
    add_arena(*created, arena);
    add_tensor_arenas(*created);
    created->plan = plan_program(description, context->pool.n_threads());
    created->memory = arena->next(created->plan.n_bytes, "a program");
    for (uint32_t i = 0; i < n_ops; i++) {
      if (ops[i].kind != M40_OP_ROPE || ops[i].rope.rope == M40_ROPE_NONE) continue;
      const uint32_t factors = ops[i].rope.factors;
      rope_angles(ops[i].rope, factors == M40_NONE ? nullptr : context->tensors[factors].values(),
                  reinterpret_cast<double*>(created->memory + created->plan.angles[i]));
    }
    context->programs.reserve(context->programs.size() + 1);
    arena->commit(created->plan.n_bytes);
    *program = created.get();
    context->programs.push_back(std::move(created));
  });
}

extern "C" void m40_program_destroy(m40_program* program) {
  if (program == nullptr) return;
  auto& programs = program->context->programs;
  programs.erase(std::remove_if(programs.begin(), programs.end(), [program](const auto& owned) { return owned.get() == program; }),
                 programs.end());
}

extern "C" m40_status m40_buffer_write(m40_program* program, uint32_t buffer, const void* data, uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    uint8_t* memory = buffer_memory(program, buffer, data, n_bytes);
    if (n_bytes != 0) memcpy(memory, data, n_bytes);
  });
}

extern "C" m40_status m40_buffer_read(m40_program* program, uint32_t buffer, void* data, uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    const uint8_t* memory = buffer_memory(program, buffer, data, n_bytes);
    if (n_bytes != 0) memcpy(data, memory, n_bytes);
  });
}

extern "C" m40_status m40_step(m40_program* program, const void* block, uint64_t block_bytes, m40_result* results,
                               uint32_t n_results, float* values, uint64_t n_values, m40_error* error) {
  return guarded(error, [&] {
    begin_step(program, block, block_bytes);
    finish_step(program, {results, n_results, values, n_values});
  });
}

extern "C" m40_status m40_step_begin(m40_program* program, const void* block, uint64_t block_bytes, m40_error* error) {
  return guarded(error, [&] {
    begin_step(program, block, block_bytes);
    require_all_samples(program);
  });
}

extern "C" m40_status m40_step_wait(m40_program* program, m40_error* error) {
  return guarded(error, [&] {
    require_step(program);
    compute_step(program);
  });
}

extern "C" m40_status m40_step_finish(m40_program* program, m40_result* results, uint32_t n_results, m40_error* error) {
  return guarded(error, [&] {
    require_step(program);
    finish_step(program, {results, n_results, nullptr, 0});
  });
}
