// The objects that the handles of m40.h refer to on the CPU.
#ifndef M40_REFERENCE_OBJECTS_H
#define M40_REFERENCE_OBJECTS_H

#include <stdint.h>

#include <vector>

#include "../include/m40.h"
#include "../common/error.h"
#include "../program/objects.h"
#include "../program/program.h"
#include "../program/run.h"
#include "kernels.h"
#include "thread_pool.h"

namespace m40::reference {

// Everything in an arena starts at a multiple of this: a cache line, and the widest vector.
constexpr uint64_t alignment = 64;
constexpr uint64_t align_up(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

struct Tensor {
  m40_arena* arena;
  m40_tensor_desc desc;  // as the caller described it
  uint32_t type;         // as it is stored: F32 for a vector
  uint64_t row_bytes;
  uint8_t* data;

  const uint8_t* row(uint64_t index) const { return data + index * row_bytes; }
  // Of a vector.
  const float* values() const { return reinterpret_cast<const float*>(data); }
};

// Where a layer's K and V of a KV block are, and how large.
struct CacheLayer {
  uint64_t keys, values;                      // bytes from the KV block's start
  uint64_t key_head_bytes, value_head_bytes;  // from a head to that of the next token
};

// A sequence that has rows in a step.
struct SequenceRows {
  uint32_t sequence, first, n;
};

// Where a program's memory lies, relative to its start.
struct ProgramPlan {
  std::vector<uint64_t> buffers;
  std::vector<uint64_t> angles;   // an operation's rope angles; 0 for other operations
  uint64_t samples;               // m40_sample [limits.n_outputs]
  uint64_t statuses;              // of outputs, uint32 [limits.n_outputs]
  uint64_t packed_rows;           // of the input of a product in packed arithmetic
  uint64_t scratch;               // of the first thread; the others' follow
  uint64_t scratch_bytes;         // a thread
  uint64_t n_bytes;               // of all, a multiple of the alignment
};

// What a run's steps are made from, copied, and advanced from step to step.
struct RunBlocks {
  std::vector<uint32_t> step;
  std::vector<uint32_t> run;
  std::vector<uint32_t> left;  // tokens that each row still samples
};

ProgramPlan plan_program(const ProgramDescription& program, uint32_t n_threads);

}  // namespace m40::reference

struct m40_arena : m40::Arena {
  m40_context* context;
  uint64_t mapped_bytes;

  ~m40_arena();
  void release();
};

// A KV block of a group is [its layers]: K [n_kv_heads][kv_block_tokens] heads of head_dim values, then V of value_dim,
// except for layers with the first values of K as V. A slot is [states].
struct m40_cache : m40::CacheBase {
  m40::reference::CacheLayer layers[M40_MAX_CACHE_LAYERS];
  uint64_t states[M40_MAX_STATES];  // in a slot
};

struct m40_program : m40::ProgramBase {
  m40_context* context;
  m40_arena* arena;
  m40_cache* cache;  // nullptr where no operation uses one
  m40::reference::ProgramPlan plan;
  uint8_t* memory;
  std::vector<m40::reference::SequenceRows> sequence_rows;  // of the step, where the program has states
  bool step_computed = false;                               // the one under way
  mutable uint64_t exchange_number = 0;                     // of the exchange that comes next
  m40::reference::RunBlocks run_blocks;
  m40::Run run;  // the last: its thread uses the others
};

struct m40_context final : m40::Objects<m40_arena, m40_cache, m40_program, m40::reference::Tensor> {
  m40_context(const m40::reference::Kernels& vector_kernels, uint32_t n_threads) : kernels(vector_kernels), pool(n_threads) {}
  ~m40_context();

  const m40::reference::Kernels& kernels;
  m40::reference::ThreadPool pool;
  std::vector<void*> host_memory;
};

#endif
