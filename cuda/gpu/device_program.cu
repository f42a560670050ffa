// Programs: placing them, and their buffers.
#include <string.h>

#include <algorithm>
#include <numeric>

#include "../ops/ops.h"
#include "decode_executor.h"
#include "device_objects.h"
#include "device_seat.h"
#include "executor.h"
#include "graphs.h"
#include "inbox.h"
#include "step_executors.h"
#include "../program/program_functions.h"
#include "run_state.h"
#include "../program/rope_angles.h"
#include "step_progress.h"
#include "uploader.h"

using m40::fail;
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
  add(plan.executor);
  for (uint64_t place : {plan.input, plan.results, plan.run, plan.counters, plan.scratch}) places.push_back(place);
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

}  // namespace

m40_program::m40_program() = default;
m40_program::~m40_program() = default;

void m40_program::end_exchanges() {
  exchange.end();
  targets.clear();
}

extern "C" void m40_program_destroy(m40_program* program) {
  if (program == nullptr) return;
  program->run.end();
  m40::cuda::LaunchedWork work;
  if (program->context->settle(work)) m40::drop_program(program);
}

uint64_t m40::planned_bytes(m40_context*, const ProgramDescription& description) { return cuda::plan_program(description).n_bytes; }

void m40::place_program(m40_program& program, const ProgramDescription& description) {
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
  program.decoder = cuda::make_decode_executor(program, &program.no_decoder);
  program.executors.reset(new m40::cuda::StepExecutors(context->executor, program.decoder == nullptr ? 0 : cuda::decode_executor_kind()->most_rows()));
}

// What concerns other devices may wait for this one, without a bound.
m40_inbox m40::name_inbox(const m40_program& program) {
  cuda::LaunchedWork work;
  program.context->use(work);
  return cuda::name_inbox(program.arena->memory, inbox_of(program), program.exchange.inbox_bytes(), program.context->device);
}

void m40::begin_exchanges(m40_program& program, void* memory, const m40_inbox* inboxes, uint32_t n_inboxes) {
  cuda::LaunchedWork work;
  program.context->use(work);
  const void* const before = program.exchange.memory();
  const bool opens = open_inboxes(program, inboxes, n_inboxes);
  // What fails from here on leaves it without any.
  program.exchange.end();
  check(cudaMemsetAsync(program.memory + program.plan.exchanged_steps, 0, sizeof(uint64_t), program.stream), "exchanges");
  if (n_inboxes != 0) check(cudaMemsetAsync(inbox_of(program), 0, program.exchange.inbox_layout().cleared_bytes(), program.stream), "exchanges");
  program.context->watch.wait(program.stream, "exchanges");
  // Graphs have the addresses.
  if (opens || memory != before) program.graphs.reset(new cuda::ProgramGraphs);
  program.exchange.begin(memory, n_inboxes != 0);
}

void m40::end_exchanges(m40_program& program) {
  cuda::LaunchedWork work;
  program.context->use(work);
  program.end_exchanges();
}

uint32_t m40::executor_of(const m40_program& program, uint32_t n_rows) { return program.executors->chosen(n_rows); }
std::string m40::why_no_persistent_kernel(const m40_program& program) {
  return program.decoder != nullptr ? program.decoder->why() : program.no_decoder;
}

void m40::write_buffer(m40_program& program, uint8_t* memory, const void* data, uint64_t n_bytes) {
  program.context->use();
  if (n_bytes != 0) copy_to_device(program, memory, data, n_bytes, "a buffer");
}
void m40::read_buffer(const m40_program& program, const uint8_t* memory, void* data, uint64_t n_bytes) {
  program.context->use();
  if (n_bytes != 0) check(cudaMemcpy(data, memory, n_bytes, cudaMemcpyDeviceToHost), "a buffer");
}
