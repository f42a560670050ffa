// CUDA graphs of the steps of a program: what a step of a shape launches is recorded once and replayed.
#ifndef M40_RUNTIME_GRAPHS_H
#define M40_RUNTIME_GRAPHS_H

#include <map>

#include "device_objects.h"
#include "step_input.h"

namespace m40::cuda {

// Holds those of the shapes that came up last.
class ProgramGraphs {
 public:
  ProgramGraphs() = default;
  ~ProgramGraphs();
  ProgramGraphs(const ProgramGraphs&) = delete;
  ProgramGraphs& operator=(const ProgramGraphs&) = delete;

  enum class Use : uint8_t {
    kNone,      // steps of that shape have none yet, or the driver makes none
    kCaptured,  // it has just been made, and runs
    kReplayed,
  };

  // Puts the program on the context's stream as a graph, if there is one. No step may be under way: what is evicted is
  // freed.
  Use launch(const m40_program& program, const StepShape& shape);

  // Whether the driver makes graphs, as far as is known.
  bool usable() const { return usable_; }

 private:
  struct Entry {
    uint32_t n_steps = 0;
    cudaGraphExec_t executable = nullptr;
    uint64_t last_use = 0;
  };

  Entry& entry_of(const StepShape& shape);
  void evict_least_recent();

  std::map<StepShape, Entry> entries_;
  uint64_t n_uses_ = 0;
  bool usable_ = true;  // false once the driver could not make one
};

}  // namespace m40::cuda

#endif
