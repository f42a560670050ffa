#include "device_watch.h"

#include <dlfcn.h>

#include <algorithm>
#include <thread>

namespace m40::cuda {

namespace {

using std::chrono::microseconds;

bool is_done(cudaError_t answer, const char* what) {
  if (answer == cudaErrorNotReady) {
    cudaGetLastError();  // so that it is not taken for a launch's
    return false;
  }
  check(answer, what);
  return true;
}

// Polls without a pause at first. A long wait ends late by a 256th of its time, and costs no processor.
void pause(Clock::duration waited) {
  const Clock::duration wanted = std::min<Clock::duration>(waited / 256, microseconds(200));
  if (wanted < microseconds(20)) {
    std::this_thread::yield();
  } else {
    Clock::sleep_until(Clock::now() + wanted);
  }
}

// Unloading the library would take its kernels off the device, which waits for them.
void keep_library() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(&keep_library), &info) != 0) dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace

template <class Query>
void DeviceWatch::wait_for(const Query& query, const char* what, Clock::time_point begun, Clock::duration longest) {
  const Clock::time_point start = Clock::now();
  for (;;) {
    // Taken ahead of the query, so that time in which this process was stopped does not count against the device.
    const Clock::time_point now = Clock::now();
    if (cuda::is_done(query(), what)) return;
    // The wait of another lane was given up.
    require_alive();
    if (now - begun >= longest) break;
    pause(now - start);
  }
  if (!hangs_.exchange(true)) keep_library();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(longest).count();
  fail(M40_DEVICE_LOST,
       "%s: the device hangs: it has not finished in %d s; restart the program, and where that does not help, the machine", what,
       static_cast<int>(seconds));
}

void DeviceWatch::wait(cudaStream_t stream, const char* what, Clock::time_point begun, Clock::duration longest) {
  wait_for([stream] { return cudaStreamQuery(stream); }, what, begun, longest);
}

void DeviceWatch::wait(cudaEvent_t event, const char* what) {
  wait_for([event] { return cudaEventQuery(event); }, what, Clock::now(), longest_work);
}

void DeviceWatch::wait(const std::function<cudaError_t()>& query, const char* what, Clock::time_point begun, Clock::duration longest) {
  wait_for(query, what, begun, longest);
}

bool DeviceWatch::is_done(const std::function<cudaError_t()>& query, const char* what, Clock::duration patience) const {
  const Clock::time_point start = Clock::now();
  while (!cuda::is_done(query(), what)) {
    if (Clock::now() - start >= patience) return false;
  }
  return true;
}

void DeviceWatch::require_alive() const {
  if (hangs_) fail(M40_DEVICE_LOST, "the device hangs: it has not finished its earlier work");
}

}  // namespace m40::cuda
