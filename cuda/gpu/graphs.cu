#include "graphs.h"

#include <algorithm>

#include "executor.h"

namespace m40::cuda {

namespace {

constexpr uint32_t most_steps_wanted = 1 << 16;
constexpr uint32_t replays_of_many = 256;
constexpr size_t most_graphs = 256;
// Half of what memory plans leave free (engine/memory/memory_plan.ts).
constexpr uint64_t most_bytes = uint64_t{128} << 20;
// No graph takes so much: another program has allocated it.
constexpr uint64_t most_bytes_each = uint64_t{64} << 20;

// The program as a graph with its memory on the device already.
cudaError_t capture(const m40_program& program, const StepShape& shape, cudaGraphExec_t* executable) {
  cudaStream_t stream = program.stream;
  cudaGraph_t graph = nullptr;
  cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  if (error == cudaSuccess) {
    launch_program(program, shape);
    error = cudaStreamEndCapture(stream, &graph);
    if (error == cudaSuccess) error = cudaGraphInstantiateWithFlags(executable, graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (error != cudaSuccess) {
      *executable = nullptr;
    } else {
      error = cudaGraphUpload(*executable, stream);
      if (error != cudaSuccess) cudaGraphExecDestroy(*executable), *executable = nullptr;
    }
  }
  cudaGetLastError();  // plain launches will do
  return error;
}

uint64_t free_memory() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  return cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess ? free_bytes : 0;
}

}  // namespace

ProgramGraphs::ProgramGraphs() : most_executables_(most_graphs), limit_(most_graphs) {}

ProgramGraphs::~ProgramGraphs() {
  for (auto& entry : entries_) destroy(entry.second);
}

ProgramGraphs::Use ProgramGraphs::launch(const m40_program& program, const StepShape& shape) {
  if (!usable_) return Use::kNone;
  Entry& entry = entry_of(shape);
  entry.last_use = ++n_uses_;
  Use use = Use::kReplayed;
  if (entry.executable == nullptr) {
    const bool has_room = n_executables_ < most_executables_ && !entry.failed;
    const uint32_t wanted = has_room ? steps_before_graph : entry.steps_wanted;
    if (++entry.n_steps <= wanted || !make(program, shape, entry)) {
      return entry.steps_wanted == steps_before_graph ? Use::kNone : Use::kPutOff;
    }
    use = Use::kCaptured;
  } else if (++entry.n_replays == replays_of_many) {
    entry.steps_wanted = steps_before_graph;
  }
  const cudaError_t error = cudaGraphLaunch(entry.executable, program.stream);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    destroy(entry);
    put_off(entry);
    entry.failed = true;
    allow_fewer();
    return Use::kPutOff;
  }
  check(error, "a step");
  return use;
}

bool ProgramGraphs::make(const m40_program& program, const StepShape& shape, Entry& entry) {
  while (n_executables_ >= most_executables_) evict_least_recent();
  const uint64_t before = free_memory();
  cudaError_t error = capture(program, shape, &entry.executable);
  if (error == cudaErrorMemoryAllocation && n_executables_ > 0) {
    allow_fewer();
    error = capture(program, shape, &entry.executable);
  }
  if (error != cudaSuccess) {
    put_off(entry);
    entry.failed = true;
    // Where there is no room there may be some later.
    usable_ = n_executables_ > 0 || error == cudaErrorMemoryAllocation;
    return false;
  }
  n_executables_++;
  entry.n_replays = 0;
  entry.failed = false;
  const uint64_t after = free_memory();
  const bool was_within = n_bytes_ <= most_bytes;
  if (before > after) n_bytes_ += std::min(before - after, most_bytes_each);
  // As many as there are now; what one of them gives back, the next one gets.
  if (was_within && n_bytes_ > most_bytes) limit_ = most_executables_ = std::min(most_executables_, n_executables_);
  // What there was no room for once may have become free.
  if (most_executables_ < limit_ && after > most_bytes) most_executables_++;
  return true;
}

void ProgramGraphs::allow_fewer() {
  most_executables_ = std::max<size_t>(n_executables_ / 2, 1);
  while (n_executables_ > 0 && n_executables_ >= most_executables_) evict_least_recent();
}

ProgramGraphs::Entry& ProgramGraphs::entry_of(const StepShape& shape) {
  const auto found = entries_.find(shape);
  if (found != entries_.end()) return found->second;
  if (entries_.size() >= most_graphs) {
    const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    destroy(oldest->second);
    entries_.erase(oldest);
  }
  return entries_[shape];
}

void ProgramGraphs::evict_least_recent() {
  Entry* oldest = nullptr;
  for (auto& [shape, entry] : entries_) {
    if (entry.executable != nullptr && (oldest == nullptr || entry.last_use < oldest->last_use)) oldest = &entry;
  }
  destroy(*oldest);
  put_off(*oldest);
}

void ProgramGraphs::put_off(Entry& entry) {
  entry.n_steps = 0;
  entry.steps_wanted = std::min(2 * entry.steps_wanted, most_steps_wanted);
}

void ProgramGraphs::destroy(Entry& entry) {
  if (entry.executable == nullptr) return;
  cudaGraphExecDestroy(entry.executable);
  entry.executable = nullptr;
  n_executables_--;
}

}  // namespace m40::cuda
