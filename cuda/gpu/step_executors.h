// The executor of a decode step: a launch for each of its operations, a CUDA graph of them, or the library's decode
// executor. Which is fastest depends on the card, its driver and the number of rows: it is measured.
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
  // asked: M40_EXECUTOR_*. decoder_rows: those of a step that the decode executor runs, at most; 0 where there is none.
  StepExecutors(uint32_t asked, uint32_t decoder_rows) : asked_(asked) {
    for (uint32_t n = 0; n < std::min(decoder_rows, most_graph_tokens); n++) measured_[n].has_decoder = true;
  }

  // The executor of the next decode step of so many rows: M40_EXECUTOR_LAUNCHES, _GRAPHS or _RESIDENT.
  uint32_t next(uint32_t n_tokens) const {
    if (n_tokens > most_graph_tokens) return M40_EXECUTOR_LAUNCHES;
    const Measured& measured = measured_[n_tokens - 1];
    if (measured.has_decoder && asked_ == M40_EXECUTOR_RESIDENT) return M40_EXECUTOR_RESIDENT;
    if (measured.has_decoder && asked_ == M40_EXECUTOR_AUTO && !measures_launched(n_tokens)) {
      if (measured.decoder.n < enough || measured.decoder.least < (1 - least_gain) * fastest_launched(measured).least) return M40_EXECUTOR_RESIDENT;
    }
    return next_launched(n_tokens);
  }

  // The same without the decode executor: M40_EXECUTOR_LAUNCHES or _GRAPHS.
  uint32_t next_launched(uint32_t n_tokens) const {
    if (n_tokens > most_graph_tokens || asked_ == M40_EXECUTOR_LAUNCHES || !has_graphs_) return M40_EXECUTOR_LAUNCHES;
    const Measured& measured = measured_[n_tokens - 1];
    if (asked_ != M40_EXECUTOR_AUTO || measured.graphs.n < enough) return M40_EXECUTOR_GRAPHS;
    if (measured.launches.n < enough) return M40_EXECUTOR_LAUNCHES;
    return &fastest_launched(measured) == &measured.graphs ? M40_EXECUTOR_GRAPHS : M40_EXECUTOR_LAUNCHES;
  }

  // Whether its time is wanted.
  bool measures(uint32_t n_tokens) const {
    if (measures_launched(n_tokens)) return true;
    return asked_ == M40_EXECUTOR_AUTO && n_tokens <= most_graph_tokens && measured_[n_tokens - 1].has_decoder && measured_[n_tokens - 1].decoder.n < enough;
  }
  // The same where it is run by launches or graphs.
  bool measures_launched(uint32_t n_tokens) const {
    if (asked_ != M40_EXECUTOR_AUTO || n_tokens > most_graph_tokens) return false;
    const Measured& measured = measured_[n_tokens - 1];
    return measured.launches.n < enough || (has_graphs_ && measured.graphs.n < enough);
  }

  // The time of such a step, by what it was run by.
  void took(uint32_t n_tokens, uint32_t executor, float milliseconds) {
    Measured& measured = measured_[n_tokens - 1];
    (executor == M40_EXECUTOR_GRAPHS ? measured.graphs : executor == M40_EXECUTOR_RESIDENT ? measured.decoder : measured.launches).add(milliseconds);
  }

  // The driver makes no graphs.
  void have_no_graphs() { has_graphs_ = false; }

  // The decode executor does no steps of so many rows, or of any.
  void have_no_decoder(uint32_t n_tokens) {
    if (n_tokens <= most_graph_tokens) measured_[n_tokens - 1].has_decoder = false;
  }
  void have_no_decoder() {
    for (Measured& measured : measured_) measured.has_decoder = false;
  }

  // What such steps are run by from now on; M40_EXECUTOR_AUTO where too few were measured yet.
  uint32_t chosen(uint32_t n_tokens) const { return measures(n_tokens) ? uint32_t{M40_EXECUTOR_AUTO} : next(n_tokens); }

 private:
  static constexpr uint32_t enough = 4;
  // Launches keep a processor busy, a persistent kernel the whole device: where one is faster by less than this share,
  // graphs are better.
  static constexpr float least_gain = 0.01f;

  struct Times {
    uint32_t n = 0;
    float least = 0;

    void add(float milliseconds) { least = n++ == 0 ? milliseconds : std::min(least, milliseconds); }
  };

  struct Measured {
    Times launches;
    Times graphs;
    Times decoder;
    bool has_decoder = false;
  };

  const Times& fastest_launched(const Measured& measured) const {
    return has_graphs_ && (1 - least_gain) * measured.graphs.least <= measured.launches.least ? measured.graphs : measured.launches;
  }

  uint32_t asked_;
  bool has_graphs_ = true;
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
