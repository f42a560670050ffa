#include "device_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

#include "clock.h"

namespace m40::emulation {

namespace {

thread_local int current = 0;
std::mutex mutex;
thread_local cudaError_t last_error = cudaSuccess;
cudaError_t lost = cudaSuccess;  // of this process: an error that a kernel makes stays
std::string failure;  // what a kernel did wrong
std::atomic<bool> hanging{false};
std::atomic<Clock::rep> skipped{0};     // how far the device's clock is ahead of the host's
std::atomic<Clock::rep> busy_until{0};  // where the device is late

Clock::duration lateness() { return std::chrono::milliseconds(from_environment("M40_EMULATION_LATE_MS", 0)); }
bool is_late() { return Clock::now().time_since_epoch().count() < busy_until; }

}  // namespace

uint64_t from_environment(const char* name, uint64_t fallback) {
  const char* text = getenv(name);
  return text == nullptr || *text == '\0' ? fallback : strtoull(text, nullptr, 10);
}

uint64_t from_environment_list(const char* name, uint64_t fallback) {
  const char* text = getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  for (int i = 0; i < current; i++) {
    const char* comma = strchr(text, ',');
    if (comma == nullptr) break;
    text = comma + 1;
  }
  return strtoull(text, nullptr, 10);
}

int device_count() { return static_cast<int>(std::min<uint64_t>(from_environment("M40_EMULATION_DEVICES", 1), max_devices)); }
int current_device() { return current; }
void use_device(int device) { current = device; }

size_t memory_bytes() { return from_environment_list("M40_EMULATION_MEMORY_BYTES", uint64_t{8} << 30); }

cudaError_t remember(cudaError_t error) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (lost != cudaSuccess) return lost;
  if (error != cudaSuccess) last_error = error;
  return error;
}

cudaError_t loss() {
  const std::lock_guard<std::mutex> lock(mutex);
  return lost;
}

cudaError_t lose(const char* reason) {
  const std::lock_guard<std::mutex> lock(mutex);
  failure = reason;
  return lost = cudaErrorLaunchFailure;
}

void refuse_launch(std::string reason) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    failure = std::move(reason);
  }
  remember(cudaErrorInvalidConfiguration);
}

void hang() { hanging = true; }
bool hangs() { return hanging; }
void occupy() { busy_until = (Clock::now() + lateness()).time_since_epoch().count(); }

void delay(const char* variable) {
  const uint64_t microseconds = from_environment(variable, 0);
  if (microseconds != 0) std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
}

void wait_for_device(const char* function) {
  if (hangs()) {
    fprintf(stderr, "%s would wait for ever: the emulated device hangs\n", function);
    abort();
  }
  if (is_late()) Clock::sleep_until(Clock::time_point(Clock::duration(busy_until)));
}

cudaError_t ask() { return remember(hangs() || is_late() ? cudaErrorNotReady : cudaSuccess); }

Clock::time_point Clock::now() {
  return time_point(std::chrono::steady_clock::now().time_since_epoch() + duration(skipped));
}

void Clock::sleep_until(time_point time) {
  const duration left = time - now();
  if (left <= duration::zero()) return;
  if (hangs() || lateness() != duration::zero()) {
    skipped += left.count();
  } else {
    std::this_thread::sleep_for(left);
  }
}

}  // namespace m40::emulation

using namespace m40::emulation;

cudaError_t cudaGetLastError() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (lost != cudaSuccess) return lost;
  const cudaError_t error = last_error;
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard<std::mutex> lock(mutex);
  return lost != cudaSuccess ? lost : last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorPeerAccessAlreadyEnabled: return "cudaErrorPeerAccessAlreadyEnabled";
    case cudaErrorNotSupported: return "cudaErrorNotSupported";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchFailure: return failure.c_str();
    default: return "unknown error";
  }
}
