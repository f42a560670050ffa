// The functions of m40.h that make programs and reach into them; what runs their steps is a library's own. A library
// includes this behind its objects, in the one source that defines what it does in its own way.
#ifndef M40_PROGRAM_PROGRAM_FUNCTIONS_H
#define M40_PROGRAM_PROGRAM_FUNCTIONS_H

#include <algorithm>
#include <memory>
#include <string>

#include "../common/checks.h"
#include "../common/error.h"
#include "../include/m40.h"
#include "program.h"

namespace m40 {

// ---- a library's own --------------------------------------------------------------------------------------------

// Bytes of the arena that a program takes.
uint64_t planned_bytes(m40_context* context, const ProgramDescription& description);
// Plans a program's memory (program.plan), has it at program.memory, and fills it.
void place_program(m40_program& program, const ProgramDescription& description);
// Names what other cards write their rows to.
m40_inbox name_inbox(const m40_program& program);
// Begins exchanges by this memory and these inboxes, which fit; and ends them.
void begin_exchanges(m40_program& program, void* memory, const m40_inbox* inboxes, uint32_t n_inboxes);
void end_exchanges(m40_program& program);
// What runs decode steps of so many rows: M40_EXECUTOR_*. And why no persistent kernel does; empty where one does.
uint32_t executor_of(const m40_program& program, uint32_t n_rows);
std::string why_no_persistent_kernel(const m40_program& program);
// Copies to a buffer's memory and from there.
void write_buffer(m40_program& program, uint8_t* memory, const void* data, uint64_t n_bytes);
void read_buffer(const m40_program& program, const uint8_t* memory, void* data, uint64_t n_bytes);

// ---- every library's --------------------------------------------------------------------------------------------

// Frees a program that nothing uses any more.
inline void drop_program(m40_program* program) {
  auto& programs = program->context->programs;
  programs.erase(std::remove_if(programs.begin(), programs.end(), [program](const auto& owned) { return owned.get() == program; }), programs.end());
}

// The buffer's memory, which has n_bytes.
inline uint8_t* buffer_memory(const m40_program* program, uint32_t buffer, const void* data, uint64_t n_bytes) {
  check_buffer_access(program, buffer, data, n_bytes);
  return program->memory + program->plan.buffers[buffer];
}

}  // namespace m40

extern "C" m40_status m40_program_bytes(m40_context* context, const m40_limits* limits, const m40_cache_desc* cache, const m40_buffer_desc* buffers,
                                        uint32_t n_buffers, const m40_op* ops, uint32_t n_ops, uint64_t* n_bytes, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(context, "context");
    m40::require(n_bytes, "n_bytes");
    const m40::ProgramDescription description = m40::describe_program(limits, cache, buffers, n_buffers, ops, n_ops);
    m40::validate_program(description, nullptr);
    *n_bytes = m40::planned_bytes(context, description);
  });
}

extern "C" m40_status m40_program_create(m40_arena* arena, const m40_limits* limits, m40_cache* cache, const m40_buffer_desc* buffers, uint32_t n_buffers,
                                         const m40_op* ops, uint32_t n_ops, m40_program** program, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(arena, "arena");
    m40::require(program, "program");
    m40_context* const context = arena->context;
    if (cache != nullptr && (cache->arena->context != context || !cache->arena->alive())) {
      m40::fail(M40_INVALID_ARGUMENT, "the KV cache is of another context, or its arena has been destroyed");
    }
    const m40::ProgramDescription description =
        m40::describe_program(limits, cache == nullptr ? nullptr : &cache->desc, buffers, n_buffers, ops, n_ops);
    m40::validate_program(description, context);
    std::unique_ptr<m40_program> created(new m40_program);
    m40::fill_program(*created, description, *context, *context, arena, cache == nullptr ? nullptr : cache->arena);
    created->context = context;
    created->arena = arena;
    created->cache = created->uses_cache() ? cache : nullptr;
    context->programs.reserve(context->programs.size() + 1);
    m40::place_program(*created, description);
    arena->take(created->plan.n_bytes);
    *program = created.get();
    context->programs.push_back(std::move(created));
  });
}

extern "C" m40_status m40_program_exchange_bytes(m40_program* program, uint64_t* n_bytes, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::check_alive(program);
    m40::require(n_bytes, "n_bytes");
    *n_bytes = program->exchange.n_bytes();
  });
}

extern "C" m40_status m40_program_inbox(m40_program* program, m40_inbox* inbox, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::check_alive(program);
    m40::require(inbox, "inbox");
    program->exchange.require_some();
    *inbox = m40::name_inbox(*program);
  });
}

extern "C" m40_status m40_program_exchange(m40_program* program, void* memory, uint64_t n_bytes, const m40_inbox* inboxes, uint32_t n_inboxes,
                                           m40_error* error) {
  return m40::guarded(error, [&] {
    m40::check_idle(program);
    program->exchange.require_some();
    if (memory == nullptr) return m40::end_exchanges(*program);
    program->exchange.check_memory(memory, n_bytes, inboxes, n_inboxes);
    program->context->host_areas.require_within(memory, n_bytes, "the memory of exchanges");
    m40::begin_exchanges(*program, memory, inboxes, n_inboxes);
  });
}

extern "C" m40_status m40_program_executors(m40_program* program, uint32_t* executors, uint32_t n, char* why, uint32_t why_bytes, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::check_alive(program);
    if (n != 0) m40::require(executors, "executors");
    for (uint32_t i = 0; i < n; i++) executors[i] = m40::executor_of(*program, i + 1);
    m40::copy_reason(m40::why_no_persistent_kernel(*program), why, why_bytes);
  });
}

extern "C" m40_status m40_buffer_write(m40_program* program, uint32_t buffer, const void* data, uint64_t n_bytes, m40_error* error) {
  return m40::guarded(error, [&] { m40::write_buffer(*program, m40::buffer_memory(program, buffer, data, n_bytes), data, n_bytes); });
}

extern "C" m40_status m40_buffer_read(m40_program* program, uint32_t buffer, void* data, uint64_t n_bytes, m40_error* error) {
  return m40::guarded(error, [&] { m40::read_buffer(*program, m40::buffer_memory(program, buffer, data, n_bytes), data, n_bytes); });
}

#endif
