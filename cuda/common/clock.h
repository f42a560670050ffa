// The clock that waits for the device go by.
#ifndef M40_RUNTIME_CLOCK_H
#define M40_RUNTIME_CLOCK_H

#ifdef M40_EMULATED
#include "../emulation/clock.h"
#else
#include <chrono>
#include <thread>
#endif

namespace m40::cuda {

#ifdef M40_EMULATED
using Clock = emulation::Clock;
#else
struct Clock : std::chrono::steady_clock {
  static void sleep_until(time_point time) { std::this_thread::sleep_until(time); }
};
#endif

}  // namespace m40::cuda

#endif
