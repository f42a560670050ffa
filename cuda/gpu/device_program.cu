// Programs: placing them, and their buffers.
#include <string.h>

#include <algorithm>
#include <numeric>

#include "../ops/ops.h"
#include "../common/checks.h"
#include "device_objects.h"
#include "executor.h"
#include "graphs.h"
#include "inbox.h"
#include "persistent/resident.h"
#include "step_executors.h"
#include "../program/program_api.h"
#include "run_state.h"
#include "../program/rope_angles.h"
#include "step_progress.h"
#include "uploader.h"

using m40::fail;
using m40::guarded;
using m40::ProgramDescription;
using m40::require;
using m40::cuda::check;
using m40::cuda::OpenedInbox;
using m40::cuda::PackedWeight;
using m40::cuda::placed_bytes;
using m40::cuda::Tensor;

namespace {

// Copies, and waits for the copy. A plain cudaMemcpy of pageable memory may return before the device has the bytes, and
// a context's stream does not wait for it.
void copy_to_device(const m40_program& program, uint8_t* to, const void* from, uint64_t n_bytes, const char* what) {
  check(cudaMemcpyAsync(to, from, n_bytes, cudaMemcpyHostToDevice, program.stream), what);
  program.context->watch.wait(program.stream, what);
}

void check_tables(const m40_context* context, const m40_op* ops, uint32_t n_ops) {
  const auto check_table = [&](uint32_t op, uint32_t tensor) {
    if (tensor != M40_NONE && context->tensors[tensor].values != nullptr) {
      fail(M40_UNSUPPORTED, "operation %u (embed): a table of one row (tensor %u): wanted at least 2", op, tensor);
    }
  };
  for (uint32_t i = 0; i < n_ops; i++) {
    if (ops[i].kind != M40_OP_EMBED) continue;
    check_table(i, ops[i].embed.table);
    check_table(i, ops[i].embed.position_table);
  }
}

// Opens what the program placed, one part after the other, and clears it.
void open_memory(const m40_program& program, uint64_t begin, uint64_t end) {
  m40::cuda::permit(program.memory + begin, end - begin);
  check(cudaMemsetAsync(program.memory + begin, 0, end - begin, program.stream), "a program");
}

void open_all_memory(const m40_program& program) {
  const m40::cuda::ProgramPlan& plan = program.plan;
  std::vector<uint64_t> places(plan.buffers);
  const auto add = [&places](uint64_t place) {
    if (place != 0) places.push_back(place);
  };
  for (uint64_t place : plan.turns) add(place);
  for (uint64_t place : plan.packed_rows) add(place);
  add(plan.heads);
  add(plan.exchanged_steps);
  add(plan.inbox);
  for (uint64_t place : {plan.input, plan.results, plan.run, plan.counters, plan.scratch, plan.resident_state, plan.resident_lists}) places.push_back(place);
  std::sort(places.begin(), places.end());
  places.push_back(plan.n_bytes);
  for (size_t i = 0; i + 1 < places.size(); i++) {
    if (places[i + 1] > places[i]) open_memory(program, places[i], places[i + 1] - m40::cuda::guard_bytes);
  }
}

void place_turns(const m40_program& program, size_t i) {
  const m40_op_rope_store& op = program.ops[i].rope_store;
  std::vector<float> factors;
  if (op.factors != M40_NONE) {
    factors.resize(op.rope_dim / 2);
    check(cudaMemcpy(factors.data(), program.context->tensors[op.factors].values, factors.size() * sizeof(float), cudaMemcpyDeviceToHost),
          "rope factors");
  }
  std::vector<double> angles(op.rope_dim / 2);
  m40::rope_angles(op, factors.empty() ? nullptr : factors.data(), angles.data());
  std::vector<uint64_t> turns(angles.size());
  m40::cuda::rope_turns(angles.data(), op.rope_dim / 2, turns.data());
  copy_to_device(program, program.memory + program.plan.turns[i], turns.data(), turns.size() * sizeof(uint64_t), "rope angles");
}

// Weights of one row were uploaded as vectors; products want them packed.
void pack_rows(const m40_program& program, const uint32_t* weights, uint32_t n_weights, uint32_t columns, uint64_t place) {
  for (uint32_t i = 0; i < n_weights; i++) {
    const Tensor& tensor = program.context->tensors[weights[i]];
    if (tensor.values == nullptr) continue;
    const PackedWeight row = m40::cuda::packed_view(M40_TYPE_F32, 1, 1, columns, program.memory + place);
    m40::cuda::launch_repack(tensor.values, row, 0, 1, program.stream);
    place += m40::cuda::packed_bytes(M40_TYPE_F32, 1, 1, columns);
  }
}

void place_heads(const m40_program& program) {
  if (program.plan.n_heads == 0) return;
  std::vector<uint32_t> heads(program.plan.n_heads);
  std::iota(heads.begin(), heads.end(), 0);
  copy_to_device(program, program.memory + program.plan.heads, heads.data(), heads.size() * sizeof(uint32_t), "heads");
}

void fill_memory(const m40_program& program) {
  open_all_memory(program);
  program.context->watch.wait(program.stream, "a program");
  for (size_t i = 0; i < program.ops.size(); i++) {
    const m40_op& op = program.ops[i];
    if (op.kind == M40_OP_ROPE_STORE && op.rope_store.rope != M40_ROPE_NONE) place_turns(program, i);
    if (program.plan.packed_rows[i] == 0) continue;
    if (op.kind == M40_OP_MATMUL) {
      pack_rows(program, op.matmul.weight, op.matmul.n_weights, op.matmul.columns, program.plan.packed_rows[i]);
    } else if (op.kind == M40_OP_HEAD_MATMUL) {
      pack_rows(program, &op.head_matmul.weight, 1, op.head_matmul.columns, program.plan.packed_rows[i]);
    } else {
      pack_rows(program, op.expert_matmul.weight, op.expert_matmul.n_weights, op.expert_matmul.columns, program.plan.packed_rows[i]);
    }
  }
  place_heads(program);
  m40::cuda::check_launches("a program");
  program.context->watch.wait(program.stream, "a program");
}

uint8_t* inbox_of(const m40_program& program) { return program.memory + program.plan.inbox; }

// Opens the inboxes of the other cards, from the next one on; false where the program has these already. Where one
// cannot be opened the program keeps those that it has.
bool open_inboxes(m40_program& program, const m40_inbox* inboxes, uint32_t n_inboxes) {
  std::vector<const m40_inbox*> wanted;
  for (uint32_t k = 1; k < n_inboxes; k++) wanted.push_back(&inboxes[(program.exchange.card() + k) % n_inboxes]);
  auto& targets = program.targets;
  const bool same = std::equal(targets.begin(), targets.end(), wanted.begin(), wanted.end(), [](const auto& target, const m40_inbox* inbox) { return target->is(*inbox); });
  if (same) return false;
  std::vector<std::unique_ptr<OpenedInbox>> opened;
  for (const m40_inbox* inbox : wanted) opened.emplace_back(new OpenedInbox(*inbox, program.context->device));
  targets = std::move(opened);
  return true;
}

// Plans a program's memory and fills it.
void place(m40_program& program, const ProgramDescription& description) {
  m40_context* context = program.context;
  check_tables(context, description.ops, description.n_ops);
  m40::cuda::LaunchedWork work;
  context->use(work);
  program.stream = context->stream_of(description.limits->lane);
  program.fusions = m40::cuda::find_fusions(program.ops);
  program.graphs.reset(new m40::cuda::ProgramGraphs);
  program.progress.reset(new m40::cuda::StepProgress);
  program.plan = m40::cuda::plan_program(description);
  program.memory = program.arena->next(program.plan.n_bytes, "a program");
  context->uploader->wait();
  const m40_limits& limits = *description.limits;
  program.input.reset(new m40::cuda::HostMemory(context->watch, program.plan.input_bytes));
  program.results.reset(new m40::cuda::HostMemory(context->watch, m40::cuda::StepResults::n_bytes(limits, limits.n_outputs)));
  program.run_input.reset(new m40::cuda::HostMemory(context->watch, m40::cuda::run_state_bytes(limits)));
  fill_memory(program);
  // A program that computes concurrently with others may have no persistent kernel.
  const bool wanted = limits.lane == M40_LANE_MAIN && (context->executor == M40_EXECUTOR_AUTO || context->executor == M40_EXECUTOR_RESIDENT);
  if (program.exchange.n_operations() != 0) {
    program.no_resident = "the program exchanges rows with other cards";
  } else if (!wanted) {
    program.no_resident = limits.lane == M40_LANE_MAIN ? "another executor was asked for" : "the program is of the lane of prompts";
  } else if (m40::cuda::device_has_resident(context->device, &program.no_resident)) {
    program.resident.reset(new m40::cuda::ResidentDecoder(program));
  }
  program.executors.reset(new m40::cuda::StepExecutors(context->executor, program.resident != nullptr));
}

}  // namespace

m40_program::m40_program() = default;
m40_program::~m40_program() = default;

void m40_program::end_exchanges() {
  exchange.end();
  targets.clear();
}

extern "C" m40_status m40_program_bytes(m40_context* context, const m40_limits* limits, const m40_cache_desc* cache,
                                        const m40_buffer_desc* buffers, uint32_t n_buffers, const m40_op* ops, uint32_t n_ops,
                                        uint64_t* n_bytes, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(n_bytes, "n_bytes");
    const ProgramDescription description = m40::describe_program(limits, cache, buffers, n_buffers, ops, n_ops);
    validate_program(description, nullptr);
    *n_bytes = m40::cuda::plan_program(description).n_bytes;
  });
}

extern "C" m40_status m40_program_create(m40_arena* arena, const m40_limits* limits, m40_cache* cache, const m40_buffer_desc* buffers,
                                         uint32_t n_buffers, const m40_op* ops, uint32_t n_ops, m40_program** program,
                                         m40_error* error) {
  return guarded(error, [&] { m40::create_program(arena, limits, cache, buffers, n_buffers, ops, n_ops, program, place); });
}

extern "C" void m40_program_destroy(m40_program* program) {
  if (program == nullptr) return;
  program->run.end();
  m40::cuda::LaunchedWork work;
  if (program->context->settle(work)) m40::drop_program(program);
}

extern "C" m40_status m40_program_exchange_bytes(m40_program* program, uint64_t* n_bytes, m40_error* error) {
  return guarded(error, [&] { m40::exchange_bytes(program, n_bytes); });
}

extern "C" m40_status m40_program_inbox(m40_program* program, m40_inbox* inbox, m40_error* error) {
  return guarded(error, [&] {
    m40::check_alive(program);
    require(inbox, "inbox");
    program->exchange.require_some();
    // What concerns other devices may wait for this one, without a bound.
    m40::cuda::LaunchedWork work;
    program->context->use(work);
    *inbox = m40::cuda::name_inbox(program->arena->memory, inbox_of(*program), program->exchange.inbox_bytes(), program->context->device);
  });
}

extern "C" m40_status m40_program_exchange(m40_program* program, void* memory, uint64_t n_bytes, const m40_inbox* inboxes, uint32_t n_inboxes,
                                           m40_error* error) {
  return guarded(error, [&] {
    m40::check_idle(program);
    program->exchange.require_some();
    m40::cuda::LaunchedWork work;
    program->context->use(work);
    if (memory == nullptr) return program->end_exchanges();
    m40::check_exchange(program, memory, n_bytes, inboxes, n_inboxes);
    const void* const before = program->exchange.memory();
    const bool opens = open_inboxes(*program, inboxes, n_inboxes);
    // What fails from here on leaves it without any.
    program->exchange.end();
    check(cudaMemsetAsync(program->memory + program->plan.exchanged_steps, 0, sizeof(uint64_t), program->stream), "exchanges");
    if (n_inboxes != 0) check(cudaMemsetAsync(inbox_of(*program), 0, program->exchange.inbox_layout().cleared_bytes(), program->stream), "exchanges");
    program->context->watch.wait(program->stream, "exchanges");
    if (opens || memory != before) {
      // Graphs have the addresses.
      program->graphs.reset(new m40::cuda::ProgramGraphs);
    }
    program->exchange.begin(memory, n_inboxes != 0);
  });
}

extern "C" m40_status m40_program_executors(m40_program* program, uint32_t* executors, uint32_t n, char* why, uint32_t why_bytes, m40_error* error) {
  return guarded(error, [&] {
    m40::check_alive(program);
    if (n != 0) m40::require(executors, "executors");
    for (uint32_t i = 0; i < n; i++) executors[i] = program->executors->chosen(i + 1);
    m40::copy_reason(program->resident != nullptr ? program->resident->why() : program->no_resident, why, why_bytes);
  });
}

extern "C" m40_status m40_buffer_write(m40_program* program, uint32_t buffer, const void* data, uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    uint8_t* memory = m40::buffer_memory(program, buffer, data, n_bytes);
    program->context->use();
    if (n_bytes != 0) copy_to_device(*program, memory, data, n_bytes, "a buffer");
  });
}

extern "C" m40_status m40_buffer_read(m40_program* program, uint32_t buffer, void* data, uint64_t n_bytes, m40_error* error) {
  return guarded(error, [&] {
    const uint8_t* memory = m40::buffer_memory(program, buffer, data, n_bytes);
    program->context->use();
    if (n_bytes != 0) check(cudaMemcpy(data, memory, n_bytes, cudaMemcpyDeviceToHost), "a buffer");
  });
}
