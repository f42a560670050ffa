// The GPUs of the machine.
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "../ops/matmul_prefill.h"
#include "device_objects.h"
#include "management.h"

using m40::fail;
using m40::guarded;
using m40::require;
using m40::cuda::check;

namespace {

constexpr int oldest_capability = 52;

// Why there is no device, in one sentence.
void describe_absence(cudaError_t error, char* text, size_t n) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  int runtime = 0;
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) runtime = 0;
  if (error == cudaErrorInsufficientDriver && driver != 0) {
    snprintf(text, n,
             "the NVIDIA driver is too old: it supports CUDA %d.%d, this library was built with CUDA %d.%d; install driver 450 or newer "
             "(for CUDA 12: 525 or newer)",
             driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  } else if (error == cudaErrorInsufficientDriver || driver == 0) {
    snprintf(text, n, "no NVIDIA driver is installed, or it is not loaded");
  } else if (error == cudaErrorNoDevice || error == cudaSuccess) {
    snprintf(text, n, "the NVIDIA driver finds no GPU");
  } else {
    snprintf(text, n, "the NVIDIA driver reports %s (%s)", cudaGetErrorName(error), cudaGetErrorString(error));
  }
}

// Without a driver there are 0 devices, and the reason in text.
int count_devices(char* text, size_t n) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    count = 0;
    cudaGetLastError();  // so that it is not taken for a launch's
  }
  text[0] = '\0';
  if (count == 0) describe_absence(error, text, n);
  return count;
}

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, name, device) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return value < 0 ? 0 : value;
}

void check_device(uint32_t device) {
  char reason[400];
  const int count = count_devices(reason, sizeof(reason));
  if (count == 0) fail(M40_UNSUPPORTED, "%s", reason);
  if (device >= static_cast<uint32_t>(count)) {
    fail(M40_INVALID_ARGUMENT, "device %u: there are %d, wanted 0 to %d", device, count, count - 1);
  }
}

}  // namespace

namespace m40::cuda {

void check_usable(uint32_t device) {
  check_device(device);
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, static_cast<int>(device)), "a device's properties");
  if (properties.major * 10 + properties.minor < oldest_capability) {
    fail(M40_UNSUPPORTED, "%s has compute capability %d.%d: this library needs 5.2 or newer", properties.name, properties.major,
         properties.minor);
  }
}

}  // namespace m40::cuda

extern "C" const char* m40_backend(void) {
#ifdef M40_EMULATED
  return "emulated";
#else
  return "cuda";
#endif
}

extern "C" m40_status m40_device_count(uint32_t* n_devices, m40_error* error) {
  m40_error absence = {};
  const m40_status status = guarded(error, [&] {
    require(n_devices, "n_devices");
    *n_devices = static_cast<uint32_t>(count_devices(absence.message, sizeof(absence.message)));
  });
  // No failure, but the caller may want to know why.
  if (status == M40_OK && error != nullptr) *error = absence;
  return status;
}

extern "C" m40_status m40_get_device_info(uint32_t device, m40_device_info* info, m40_error* error) {
  return guarded(error, [&] {
    require(info, "info");
    check_device(device);
    const int index = static_cast<int>(device);
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, index), "a device's properties");
    m40_device_info answer = {};
    memcpy(answer.name, properties.name, strnlen(properties.name, sizeof(answer.name) - 1));
    check(cudaSetDevice(index), "a device's memory");
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "a device's memory");
    answer.memory_bytes = total_bytes;
    answer.free_bytes = free_bytes;
    answer.compute_capability = static_cast<uint32_t>(properties.major * 10 + properties.minor);
    answer.multiprocessors = static_cast<uint32_t>(properties.multiProcessorCount);
    answer.clock_khz = static_cast<uint32_t>(attribute(cudaDevAttrClockRate, index));
    answer.memory_clock_khz = static_cast<uint32_t>(attribute(cudaDevAttrMemoryClockRate, index));
    answer.memory_bus_bits = static_cast<uint32_t>(attribute(cudaDevAttrGlobalMemoryBusWidth, index));
    answer.ecc = attribute(cudaDevAttrEccEnabled, index) != 0 ? 1 : 0;
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess) answer.driver_version = static_cast<uint32_t>(driver);
    snprintf(answer.instruction_set, sizeof(answer.instruction_set), "sm_%u", answer.compute_capability);
    const std::string version = m40::cuda::driver_version();
    memcpy(answer.driver, version.data(), std::min(version.size(), sizeof(answer.driver) - 1));
#ifdef M40_EMULATED
    answer.kind = M40_DEVICE_CPU;
#else
    answer.kind = M40_DEVICE_GPU;
#endif
    std::copy(std::begin(m40::cuda::prefill_tile_tokens), std::end(m40::cuda::prefill_tile_tokens), answer.tile_tokens);
    *info = answer;
  });
}

extern "C" m40_status m40_get_device_state(uint32_t device, m40_device_state* state, m40_error* error) {
  return guarded(error, [&] {
    require(state, "state");
    // CUDA is asked the first time alone: of a device that was lost it would no longer say anything.
    if (!m40::cuda::is_managed(device)) check_device(device);
    *state = m40::cuda::device_state(device);
  });
}

extern "C" m40_status m40_set_power_limit(uint32_t device, uint32_t milliwatts, m40_power_limit* limit, m40_error* error) {
  return guarded(error, [&] {
    require(limit, "limit");
    if (!m40::cuda::is_managed(device)) check_device(device);
    *limit = m40::cuda::set_power_limit(device, milliwatts);
  });
}

extern "C" m40_status m40_get_management(m40_management* management, m40_error* error) {
  return guarded(error, [&] {
    require(management, "management");
    *management = m40::cuda::describe_management();
  });
}

extern "C" m40_status m40_get_device_health(uint32_t device, m40_device_health* health, m40_error* error) {
  return guarded(error, [&] {
    require(health, "health");
    const uint32_t n_devices = m40::cuda::describe_management().n_devices;
    if (device >= n_devices) fail(M40_INVALID_ARGUMENT, "device %u: the driver has %u", device, n_devices);
    *health = m40::cuda::device_health(device);
  });
}
