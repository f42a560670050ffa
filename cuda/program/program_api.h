// The functions of m40.h that make programs and reach into them, but for what libraries do differently. The types are a
// library's own m40_arena, m40_cache and m40_program.
#ifndef M40_PROGRAM_PROGRAM_API_H
#define M40_PROGRAM_PROGRAM_API_H

#include <algorithm>
#include <memory>

#include "program.h"

namespace m40 {

// m40_program_create. place(program, description) plans the program's memory (program.plan), has it at program.memory,
// and fills it.
template <class OwnArena, class Cache, class Program, class Place>
void create_program(OwnArena* arena, const m40_limits* limits, Cache* cache, const m40_buffer_desc* buffers, uint32_t n_buffers,
                    const m40_op* ops, uint32_t n_ops, Program** program, const Place& place) {
  require(arena, "arena");
  require(program, "program");
  auto* context = arena->context;
  if (cache != nullptr && (cache->arena->context != context || !cache->arena->alive())) {
    fail(M40_INVALID_ARGUMENT, "the KV cache is of another context, or its arena has been destroyed");
  }
  const ProgramDescription description =
      describe_program(limits, cache == nullptr ? nullptr : &cache->desc, buffers, n_buffers, ops, n_ops);
  validate_program(description, context);
  std::unique_ptr<Program> created(new Program);
  fill_program(*created, description, *context, *context, arena, cache == nullptr ? nullptr : cache->arena);
  created->context = context;
  created->arena = arena;
  created->cache = created->uses_cache() ? cache : nullptr;
  context->programs.reserve(context->programs.size() + 1);
  place(*created, description);
  arena->take(created->plan.n_bytes);
  *program = created.get();
  context->programs.push_back(std::move(created));
}

// Frees a program that nothing uses any more.
template <class Program>
void drop_program(Program* program) {
  auto& programs = program->context->programs;
  programs.erase(std::remove_if(programs.begin(), programs.end(), [program](const auto& owned) { return owned.get() == program; }),
                 programs.end());
}

// m40_program_exchange_bytes.
template <class Program>
void exchange_bytes(const Program* program, uint64_t* n_bytes) {
  check_alive(program);
  require(n_bytes, "n_bytes");
  *n_bytes = program->exchange.n_bytes();
}

// m40_program_exchange with memory, up to the point where the program resets its count of steps. Throws where the
// memory does not fit.
template <class Program>
void check_exchange(const Program* program, const void* memory, uint64_t n_bytes, const m40_inbox* inboxes, uint32_t n_inboxes) {
  program->exchange.check_memory(memory, n_bytes, inboxes, n_inboxes);
  program->context->host_areas.require_within(memory, n_bytes, "the memory of exchanges");
}

// The buffer's memory, which has n_bytes.
template <class Program>
uint8_t* buffer_memory(const Program* program, uint32_t buffer, const void* data, uint64_t n_bytes) {
  check_buffer_access(program, buffer, data, n_bytes);
  return program->memory + program->plan.buffers[buffer];
}

}  // namespace m40

#endif
