// The one device of this library: the host itself.
#include <string.h>

#include <algorithm>

#include "../common/error.h"
#include "host.h"
#include "kernels.h"

using m40::fail;
using m40::guarded;
using m40::require;

namespace {

// As much of the text as fits, zero-terminated; the rest of the field is zeros already.
template <size_t N>
void copy_text(char (&field)[N], const char* text) {
  memcpy(field, text, strnlen(text, N - 1));
}

void check_device(uint32_t device) {
  if (device != 0) fail(M40_INVALID_ARGUMENT, "device %u: the CPU library has device 0 alone", device);
}

}  // namespace

extern "C" m40_status m40_device_count(uint32_t* n_devices, m40_error* error) {
  return guarded(error, [&] {
    require(n_devices, "n_devices");
    *n_devices = 1;
  });
}

extern "C" m40_status m40_get_device_info(uint32_t device, m40_device_info* info, m40_error* error) {
  return guarded(error, [&] {
    require(info, "info");
    check_device(device);
    const m40::reference::HostMemory memory = m40::reference::host_memory();
    m40_device_info answer = {};
    answer.kind = M40_DEVICE_CPU;
    copy_text(answer.name, m40::reference::processor_name().c_str());
    answer.memory_bytes = memory.total_bytes;
    answer.free_bytes = memory.available_bytes;
    answer.multiprocessors = m40::reference::allowed_processors();
    answer.clock_khz = m40::reference::processor_khz();
    const m40::reference::Kernels* best = m40::reference::kernels_by_name("");
    copy_text(answer.instruction_set, best == nullptr ? "none" : best->name);
    *info = answer;
  });
}

extern "C" m40_status m40_get_device_state(uint32_t device, m40_device_state* state, m40_error* error) {
  return guarded(error, [&] {
    require(state, "state");
    check_device(device);
    const m40::reference::HostMemory memory = m40::reference::host_memory();
    m40_device_state answer = {};
    answer.memory_bytes = memory.total_bytes;
    answer.free_bytes = memory.available_bytes;
    answer.used_bytes = memory.total_bytes - std::min(memory.available_bytes, memory.total_bytes);
    answer.energy_millijoules = UINT64_MAX;
    answer.temperature_celsius = M40_NONE;
    answer.power_milliwatts = M40_NONE;
    answer.power_limit_milliwatts = M40_NONE;
    answer.clock_khz = M40_NONE;
    answer.memory_clock_khz = M40_NONE;
    answer.utilisation_percent = M40_NONE;
    *state = answer;
  });
}

extern "C" m40_status m40_get_management(m40_management* management, m40_error* error) {
  return guarded(error, [&] {
    require(management, "management");
    *management = {};
    management->status = M40_MANAGEMENT_MISSING;
    management->code = M40_NONE;
  });
}

extern "C" m40_status m40_get_device_health(uint32_t device, m40_device_health* health, m40_error* error) {
  return guarded(error, [&] {
    require(health, "health");
    fail(M40_INVALID_ARGUMENT, "device %u: the CPU library manages no GPUs", device);
  });
}

extern "C" m40_status m40_set_power_limit(uint32_t device, uint32_t, m40_power_limit* limit, m40_error* error) {
  return guarded(error, [&] {
    require(limit, "limit");
    check_device(device);
    *limit = {M40_NONE, M40_NONE, M40_NONE, M40_NONE};
  });
}
