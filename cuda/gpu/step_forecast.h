// How long a step takes the device, by the last one of its shape. A thread that sleeps meanwhile wants to be awake when
// the step ends: waking one takes 20 to 200 us, and the device would idle.
#ifndef M40_RUNTIME_STEP_FORECAST_H
#define M40_RUNTIME_STEP_FORECAST_H

#include <algorithm>
#include <map>

#include "../common/clock.h"
#include "step_input.h"

namespace m40::cuda {

class StepForecast {
 public:
  using Duration = std::chrono::duration<double, std::micro>;

  // Whether anything is known of such steps. Only decoding repeats itself from step to step.
  bool knows(const StepShape& shape) const { return durations_.count(shape) != 0; }

  // When to wake the waiting thread. begun: when all of the step had been given to the device.
  Clock::time_point wake_time(const StepShape& shape, Clock::time_point begun) const {
    return begun + std::chrono::duration_cast<Clock::duration>(durations_.at(shape) - margin_);
  }

  // A step's end, as seen by a thread that was watching.
  void took(const StepShape& shape, Duration duration) {
    if (shape.n_decode != shape.n_tokens || (durations_.size() >= most_shapes && !knows(shape))) return;
    durations_[shape] = duration;
  }

  // The thread that was woken was in time, and had to wait for so long.
  void woke_in_time(const StepShape& shape, Clock::time_point begun, Duration waited) {
    took(shape, Clock::now() - begun);
    if (waited > least_margin) margin_ = std::max(margin_ - Duration(0.5), least_margin);
  }

  // It found the step done. How long that took is not known: the next one is watched to its end.
  void woke_late(const StepShape& shape) {
    margin_ = std::min(margin_ + Duration(40), most_margin);
    durations_.erase(shape);
  }

 private:
  static constexpr size_t most_shapes = 1024;
  static constexpr Duration least_margin = Duration(20);
  static constexpr Duration most_margin = Duration(400);

  std::map<StepShape, Duration> durations_;
  Duration margin_ = Duration(200);
};

}  // namespace m40::cuda

#endif
