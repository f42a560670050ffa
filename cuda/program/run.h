// A run (m40.h): its input, checked whole, and the thread that gives the device one step after the other. What a step
// is made from and how it is computed is the library's own.
#ifndef M40_RUNTIME_RUN_H
#define M40_RUNTIME_RUN_H

#include <stdint.h>

#include <atomic>
#include <functional>

#include "../include/m40.h"
#include "../common/futex.h"
#include "ring.h"
#include "run_agreement.h"
#include "step.h"
#include "../common/thread.h"

namespace m40 {

// The arrays are in the caller's memory.
struct RunInput {
  uint32_t n_steps;  // no more than the longest row samples tokens
  const m40_run_row* rows;
  const int32_t* end_tokens;
  uint32_t n_end_tokens;
};

// step: that of the block, parsed. Throws Failure with M40_INVALID_ARGUMENT, or M40_UNSUPPORTED for programs that have
// no runs.
RunInput parse_run(const void* run, uint64_t run_bytes, const Step& step, const StepLimits& limits);

// The running run. Its thread does the work; others wait for what that puts into the ring.
class Run {
 public:
  Run() = default;
  ~Run() { end(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Takes the ring until the run is over. The run has as many steps as on the other cards. Throws where the ring has no
  // room for the first step.
  void open(const Ring& ring, uint32_t n_rows, RunAgreement& agreement);
  // Starts work() on a thread of its own; what it throws is the run's failure.
  void start(std::function<void()> work);
  // Sleeps until there is something to read or the run is over, which is the answer; throws its failure then.
  bool wait();
  // Has it begin no more steps, and returns when it is over.
  void end();

  const Ring& ring() const { return ring_; }
  // The number of a step's entry for a row.
  uint32_t number(uint32_t step, uint32_t row) const { return first_ + step * n_rows_ + row; }
  // Whether what comes next follows from what another card does.
  bool follows() const { return agreement_->follows(); }
  // Decides whether the next step begins: the host does not want the run to stop, and the ring has room. Or waits for
  // the card that does, and for room.
  bool next(uint32_t step);
  // Whether all entries of a step are whole. They become so in any order.
  bool has_step(uint32_t step) const;
  // Whether a row samples another token after a step with complete entries.
  bool goes_on(uint32_t step) const;
  // For its thread: entries have become whole.
  void notify();

 private:
  void finish();
  bool has_room(uint32_t step) const { return ring_.has_room(number(step + 1, 0)); }

  Ring ring_;
  RunAgreement* agreement_ = nullptr;
  uint32_t first_ = 0;
  uint32_t n_rows_ = 0;
  std::atomic<bool> ends_{false};
  std::atomic<bool> done_{false};
  std::atomic<uint32_t> news_{0};
  bool failed_ = false;
  m40_error error_ = {};
  Thread thread_;
};

}  // namespace m40

#endif
