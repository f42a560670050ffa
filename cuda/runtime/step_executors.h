// What a decode step is run by: a launch for each of its operations, or a CUDA graph of them. Which is faster depends on the
// card, its driver and the number of rows: it is measured.
#ifndef M40_RUNTIME_STEP_EXECUTORS_H
#define M40_RUNTIME_STEP_EXECUTORS_H

#include <algorithm>

#include "cuda_check.h"
#include "../include/m40.h"

namespace m40::cuda {

// Steps of more rows are launched: they take so long that it does not matter, and seldom have the same shape twice.
constexpr uint32_t most_graph_tokens = 64;

class StepExecutors {
 public:
  // asked: M40_EXECUTOR_*
  explicit StepExecutors(uint32_t asked) : asked_(asked) {}

  // What the next decode step of so many rows is to be run by: M40_EXECUTOR_LAUNCHES or M40_EXECUTOR_GRAPHS.
  uint32_t next(uint32_t n_tokens) const {
    if (n_tokens > most_graph_tokens) return M40_EXECUTOR_LAUNCHES;
    if (asked_ != M40_EXECUTOR_AUTO) return asked_;
    const Measured& measured = measured_[n_tokens - 1];
    if (measured.graphs.n < enough) return M40_EXECUTOR_GRAPHS;
    if (measured.launches.n < enough) return M40_EXECUTOR_LAUNCHES;
    return measured.faster();
  }

  // Whether its time is wanted.
  bool measures(uint32_t n_tokens) const {
    return asked_ == M40_EXECUTOR_AUTO && n_tokens <= most_graph_tokens && !measured_[n_tokens - 1].known();
  }

  // The time of such a step, by what it was run by.
  void took(uint32_t n_tokens, uint32_t executor, float milliseconds) {
    Measured& measured = measured_[n_tokens - 1];
    (executor == M40_EXECUTOR_GRAPHS ? measured.graphs : measured.launches).add(milliseconds);
  }

  // The driver makes no graphs.
  void have_no_graphs() { asked_ = M40_EXECUTOR_LAUNCHES; }

  // What such steps are run by from now on; M40_EXECUTOR_AUTO where too few were measured yet.
  uint32_t chosen(uint32_t n_tokens) const { return measures(n_tokens) ? uint32_t{M40_EXECUTOR_AUTO} : next(n_tokens); }

 private:
  static constexpr uint32_t enough = 4;
  // Launches keep a processor busy: where they are faster by less than this share, graphs are better.
  static constexpr float least_gain = 0.01f;

  struct Times {
    uint32_t n = 0;
    float least = 0;

    void add(float milliseconds) { least = n++ == 0 ? milliseconds : std::min(least, milliseconds); }
  };

  struct Measured {
    Times launches;
    Times graphs;

    bool known() const { return launches.n >= enough && graphs.n >= enough; }
    uint32_t faster() const {
      return launches.least < (1 - least_gain) * graphs.least ? M40_EXECUTOR_LAUNCHES : M40_EXECUTOR_GRAPHS;
    }
  };

  uint32_t asked_;
  Measured measured_[most_graph_tokens];
};

// How long the device takes for a step, with what it waits for the host in it.
class StepTimer {
 public:
  StepTimer() = default;
  ~StepTimer() {
    for (cudaEvent_t event : events_) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
  StepTimer(const StepTimer&) = delete;
  StepTimer& operator=(const StepTimer&) = delete;

  void start(cudaStream_t stream) {
    for (cudaEvent_t& event : events_) {
      if (event == nullptr) check(cudaEventCreateWithFlags(&event, cudaEventDefault), "a step's time");
    }
    check(cudaEventRecord(events_[0], stream), "a step's time");
  }
  void stop(cudaStream_t stream) { check(cudaEventRecord(events_[1], stream), "a step's time"); }

  // Of a step that is done.
  float milliseconds() const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "a step's time");
    return milliseconds;
  }

 private:
  cudaEvent_t events_[2] = {};
};

}  // namespace m40::cuda

#endif
