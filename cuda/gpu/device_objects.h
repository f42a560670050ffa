// The objects that the handles of m40.h refer to on a GPU.
#ifndef M40_RUNTIME_DEVICE_OBJECTS_H
#define M40_RUNTIME_DEVICE_OBJECTS_H

#include <stdint.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "../include/m40.h"
#include "../kernels/packed.cuh"
#include "cuda_check.h"
#include "device.h"
#include "device_memory.h"
#include "device_watch.h"
#include "../common/error.h"
#include "../program/objects.h"
#include "../program/program.h"
#include "../program/run.h"

namespace m40::cuda {

struct Tensor {
  m40_arena* arena;
  m40_tensor_desc desc;  // as the caller described it
  float* values;         // of a vector: [columns]; else nullptr
  PackedWeight packed;   // of a weight
};

// Where a program's memory lies, relative to its start.
struct ProgramPlan {
  std::vector<uint64_t> buffers;
  std::vector<uint64_t> turns;        // an operation's rope_turns(); 0 for other operations
  std::vector<uint64_t> packed_rows;  // an operation's weights of one row, one after the other; 0 for other operations
  uint64_t input;                     // a step's input: see step_input.h
  uint64_t input_bytes;
  uint64_t results;                   // StepResults
  uint64_t run;                       // a run's RunState: see device_run.cu
  uint64_t counters;                  // Scratch
  uint64_t exchanged_steps;           // uint64_t: steps done since m40_program_exchange; 0 where there are no exchanges
  uint64_t inbox;                     // where other cards hand over what they computed; likewise
  uint64_t scratch;
  uint64_t scratch_bytes;
  uint64_t expert_groups[2];          // ExpertGrouping of decoded rows, and of prompts'
  uint64_t executor;                  // the decode executor's own; 0 where there is none
  uint64_t heads;                     // 0, 1, 2 ...: the experts of the slots of head_matmul; 0 where there is none
  uint32_t n_heads;
  uint64_t n_bytes;                   // of all
};

// What a step gives back in one copy, in addition to its logits.
struct StepResults {
  uint32_t expert_fault_token;  // 1 + the token with an expert that does not exist; 0: all exist
  uint32_t expert_fault;
  uint32_t exchange_fault;      // see kernels/exchange.cuh
  uint32_t reserved;
  // uint32_t statuses[limits.n_outputs], m40_sample samples[limits.n_outputs] follow.
  static uint64_t statuses_offset() { return sizeof(StepResults); }
  static uint64_t samples_offset(const m40_limits& limits) { return sizeof(StepResults) + uint64_t{limits.n_outputs} * sizeof(uint32_t); }
  static uint64_t n_bytes(const m40_limits& limits, uint64_t n_outputs) {
    return samples_offset(limits) + n_outputs * sizeof(m40_sample);
  }
};

// Whether the heads of an operation are contiguous rows, as the slots of products with experts are.
bool heads_are_rows(const m40_op_head_matmul& op, const m40_buffer_desc* buffers);

ProgramPlan plan_program(const ProgramDescription& program);

// What an operation is to the one after it.
enum class Fusion : uint8_t {
  kNone,
  kWhole,  // can be computed by it, and no other operation reads the result
  kKept,   // can be computed by it, but others read the result as well: it has to be written
};

// Throws where there is no such device, or it is too old for the kernels.
void check_usable(uint32_t device);

// Page-locked host memory. Freeing waits for the device: where it hangs, it is left to the end of the process.
class HostMemory {
 public:
  HostMemory(const DeviceWatch& watch, uint64_t n_bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  uint8_t* data() const { return data_; }

 private:
  const DeviceWatch& watch_;
  uint8_t* data_ = nullptr;
};

class DecodeExecutor;
class DeviceSeat;
class LaunchedWork;
class OpenedInbox;
class Uploader;
class ProgramGraphs;
class StepExecutors;
struct StepProgress;

}  // namespace m40::cuda

// Its memory is the device's; what is placed in it takes placed_bytes().
struct m40_arena : m40::Arena {
  m40_context* context;

  ~m40_arena();
  void release();
};

struct m40_cache : m40::CacheBase {
  uint64_t layer_offsets[M40_MAX_CACHE_LAYERS];  // in a KV block
  uint64_t state_offsets[M40_MAX_STATES];        // in a slot
};

struct m40_program : m40::ProgramBase {
  m40_program();
  ~m40_program();

  m40_context* context;
  m40_arena* arena;
  m40_cache* cache;  // nullptr where no operation uses one
  cudaStream_t stream;  // of its lane
  m40::cuda::ProgramPlan plan;
  uint8_t* memory;
  std::vector<m40::cuda::Fusion> fusions;  // see find_fusions()
  std::unique_ptr<m40::cuda::HostMemory> input;    // what a step's input is gathered in, plan.input_bytes
  std::unique_ptr<m40::cuda::HostMemory> results;  // StepResults
  std::unique_ptr<m40::cuda::ProgramGraphs> graphs;
  std::unique_ptr<m40::cuda::DecodeExecutor> decoder;    // nullptr where there is none
  std::string no_decoder;                                // why, then
  std::unique_ptr<m40::cuda::StepExecutors> executors;
  std::unique_ptr<m40::cuda::StepProgress> progress;
  std::unique_ptr<m40::cuda::HostMemory> run_input;  // what a run's RunState is gathered in
  std::vector<std::unique_ptr<m40::cuda::OpenedInbox>> targets;  // of the next cards, where rows go from card to card
  m40::Run run;                                      // the last: its thread uses the others

  // Writes into no other card's memory any more.
  void end_exchanges();
};

struct m40_context final : m40::Objects<m40_arena, m40_cache, m40_program, m40::cuda::Tensor> {
  m40_context(uint32_t device_index, uint32_t asked_executor);
  ~m40_context();

  // To be called first in every function of the ABI: CUDA's device is the calling thread's, and no kernel stays on it
  // that what the function does would have to wait for. Throws where it hangs.
  void use() const;
  // The same for functions that return before their work ends, or that wait for the device without a bound, as
  // allocations do. No persistent kernel is launched until the work ends.
  void use(m40::cuda::LaunchedWork& work) const;
  // The same of functions that wait for a step, or ask for one: a kernel may stay.
  void use_for_steps() const;
  // Waits for all work of the device, and no persistent kernel starts until the work ends. False where the device
  // hangs: memory that it may still use must not be freed.
  bool settle(m40::cuda::LaunchedWork& work) const;
  // How long what its programs have on the stream of prompts may take.
  m40::cuda::Clock::duration longest_prompt() const;

  uint32_t device;
  uint32_t executor;  // M40_EXECUTOR_*, as asked for
  m40::cuda::DeviceSeat& seat;  // the device's
  mutable m40::cuda::DeviceWatch watch;
  // Of a lane (M40_LANE_*). That of prompts is made when the first program wants it.
  cudaStream_t stream_of(uint32_t lane);

  cudaStream_t stream = nullptr;   // the main lane's: what is on it is done first
  cudaStream_t prompts = nullptr;
  std::unique_ptr<m40::cuda::Uploader> uploader;
  std::vector<std::unique_ptr<m40::cuda::HostMemory>> host_memory;
};

#endif
