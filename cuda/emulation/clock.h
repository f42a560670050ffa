// The emulated device's time. It is the host's, but where the device is late or hangs (device_state.h) whoever sleeps
// makes it pass at once: a test of what happens after a minute takes no minute.
#ifndef M40_EMULATION_CLOCK_H
#define M40_EMULATION_CLOCK_H

#include <chrono>

namespace m40::emulation {

struct Clock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;

  static time_point now();
  static void sleep_until(time_point time);
};

}  // namespace m40::emulation

#endif
