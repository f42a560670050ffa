// Waiting for the device, but not for ever. A GPU that was lost says so; one that hangs says nothing, and most
// functions of CUDA that wait for it would never return.
#ifndef M40_RUNTIME_DEVICE_WATCH_H
#define M40_RUNTIME_DEVICE_WATCH_H

#include <atomic>
#include <functional>

#include "../common/clock.h"
#include "cuda_check.h"
#include "device.h"

namespace m40::cuda {

// Far more than anything takes that the device is given at once: the largest step of a model that fills its memory
// takes an M40 ten seconds.
constexpr Clock::duration longest_work = std::chrono::seconds(60);

// The same of a step that has this share of the device, in thousandths, above 0: what takes ten seconds takes as much
// longer.
constexpr Clock::duration longest_step(uint32_t share) { return longest_work + std::chrono::seconds(10) * (1000 - share) / share; }

class DeviceWatch {
 public:
  // Waits until all work of the stream, or all that precedes the event, is done. begun: when the last of it was given.
  // longest: the time that it may take. Throws Failure, M40_DEVICE_LOST, where the device failed or hangs.
  void wait(cudaStream_t stream, const char* what, Clock::time_point begun = Clock::now(), Clock::duration longest = longest_work);
  void wait(cudaEvent_t event, const char* what);
  // The same of what a function says: cudaErrorNotReady where it is not done. It may throw.
  void wait(const std::function<cudaError_t()>& query, const char* what, Clock::time_point begun, Clock::duration longest);

  // Whether it is done, within a time that is short enough to be spent looking.
  bool is_done(const std::function<cudaError_t()>& query, const char* what, Clock::duration patience) const;

  // Whether a wait was given up. Nothing may be called any more that waits for the device, or frees memory.
  bool hangs() const { return hangs_; }

  // Throws where it hangs.
  void require_alive() const;

 private:
  template <class Query>
  void wait_for(const Query& query, const char* what, Clock::time_point begun, Clock::duration longest);

  std::atomic<bool> hangs_{false};
};

}  // namespace m40::cuda

#endif
