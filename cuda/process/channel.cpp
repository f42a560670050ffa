#include "channel.h"

#include <sched.h>
#include <time.h>

namespace m40::channel {

uint64_t now_us() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_nsec) / 1000;
}

bool has_processors() {
  static const bool several = [] {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) != 0 || CPU_COUNT(&set) > 1;
  }();
  return several;
}

}  // namespace m40::channel
