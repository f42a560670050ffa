// CUDA graphs of the steps of a program: what a step of a shape launches is recorded once and replayed.
#ifndef M40_RUNTIME_GRAPHS_H
#define M40_RUNTIME_GRAPHS_H

#include <map>

#include "device_objects.h"
#include "step_input.h"

namespace m40::cuda {

// Holds those of the shapes that came up last, as many as find room in what memory plans leave for them: drivers take
// some kilobytes of the device's memory for each launch of a graph, and do not say how many.
class ProgramGraphs {
 public:
  ProgramGraphs();
  ~ProgramGraphs();
  ProgramGraphs(const ProgramGraphs&) = delete;
  ProgramGraphs& operator=(const ProgramGraphs&) = delete;

  enum class Use : uint8_t {
    kNone,      // steps of that shape have none yet, or the driver makes none
    kPutOff,    // they had one, or there was no room for it: they will not soon have one
    kCaptured,  // it has just been made, and runs
    kReplayed,
  };

  // Puts the program on the context's stream as a graph, if there is one. What is evicted while it runs the driver
  // frees when it is over.
  Use launch(const m40_program& program, const StepShape& shape);

  // Whether the driver makes graphs, as far as is known.
  bool usable() const { return usable_; }

 private:
  static constexpr uint32_t steps_before_graph = 2;  // of a shape, until it is worth a graph

  struct Entry {
    uint32_t n_steps = 0;       // since it came up, or lost its graph
    uint32_t steps_wanted = steps_before_graph;  // more of one that lost it, or found no room, until it was replayed often
    uint32_t n_replays = 0;     // since it has its graph
    bool failed = false;        // the driver had no room for it when it was tried last
    cudaGraphExec_t executable = nullptr;
    uint64_t last_use = 0;
  };

  Entry& entry_of(const StepShape& shape);
  // Makes its graph; false where there is no room for one, or the driver makes none.
  bool make(const m40_program& program, const StepShape& shape, Entry& entry);
  void evict_least_recent();
  // One that the driver had no room for: there will be fewer from now on.
  void allow_fewer();
  void destroy(Entry& entry);
  // It is not soon tried again.
  void put_off(Entry& entry);

  std::map<StepShape, Entry> entries_;
  uint64_t n_uses_ = 0;
  uint64_t n_bytes_ = 0;      // of the device's memory, as it was seen to go
  size_t n_executables_ = 0;
  size_t most_executables_;   // that there may be now: limit_, or fewer where there was no room
  size_t limit_;              // as many as there were when they took all the memory that they may
  bool usable_ = true;        // false once the driver could not make one
};

}  // namespace m40::cuda

#endif
