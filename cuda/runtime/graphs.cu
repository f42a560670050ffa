#include "graphs.h"

#include <algorithm>

#include "executor.h"

namespace m40::cuda {

namespace {

constexpr uint32_t steps_before_graph = 2;  // of a shape, before it is worth a graph
constexpr size_t most_graphs = 256;

// The program as a graph; nullptr where the driver cannot make one.
cudaGraphExec_t capture(const m40_program& program, const StepShape& shape) {
  cudaStream_t stream = program.stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess) {
    launch_program(program, shape);
    if (cudaStreamEndCapture(stream, &graph) == cudaSuccess && graph != nullptr &&
        cudaGraphInstantiateWithFlags(&executable, graph, 0) != cudaSuccess) {
      executable = nullptr;
    }
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  cudaGetLastError();  // plain launches will do
  return executable;
}

}  // namespace

ProgramGraphs::~ProgramGraphs() {
  for (const auto& entry : entries_) {
    if (entry.second.executable != nullptr) cudaGraphExecDestroy(entry.second.executable);
  }
}

ProgramGraphs::Use ProgramGraphs::launch(const m40_program& program, const StepShape& shape) {
  if (!usable_) return Use::kNone;
  Entry& entry = entry_of(shape);
  entry.last_use = ++n_uses_;
  Use use = Use::kReplayed;
  if (entry.executable == nullptr) {
    if (++entry.n_steps <= steps_before_graph) return Use::kNone;
    entry.executable = capture(program, shape);
    usable_ = entry.executable != nullptr;
    if (!usable_) return Use::kNone;
    use = Use::kCaptured;
  }
  check(cudaGraphLaunch(entry.executable, program.stream), "a step");
  return use;
}

ProgramGraphs::Entry& ProgramGraphs::entry_of(const StepShape& shape) {
  const auto found = entries_.find(shape);
  if (found != entries_.end()) return found->second;
  if (entries_.size() >= most_graphs) evict_least_recent();
  return entries_[shape];
}

void ProgramGraphs::evict_least_recent() {
  const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return a.second.last_use < b.second.last_use;
  });
  if (oldest->second.executable != nullptr) cudaGraphExecDestroy(oldest->second.executable);
  entries_.erase(oldest);
}

}  // namespace m40::cuda
