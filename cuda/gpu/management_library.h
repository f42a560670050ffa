// The functions of the driver's management library (NVML) that are used here, found at run time. Types and numbers are
// its own: nvml.h comes with no driver.
#ifndef M40_RUNTIME_MANAGEMENT_LIBRARY_H
#define M40_RUNTIME_MANAGEMENT_LIBRARY_H

#include <dlfcn.h>

#include "../include/m40.h"

namespace m40::cuda::management {

using Device = void*;

// Of nvmlReturn_t.
constexpr int success = 0;
constexpr int no_permission = 4;
constexpr int insufficient_size = 7;
constexpr int driver_not_loaded = 9;
constexpr int version_mismatch = 18;
// Of a function that the library does not have; no number of its own.
constexpr int no_function = -1;

constexpr int temperature_of_gpu = 0;
constexpr int threshold_of_shutdown = 0;
constexpr int threshold_of_slowdown = 1;
constexpr int clock_of_graphics = 0;
constexpr int clock_of_multiprocessors = 1;
constexpr int clock_of_memory = 2;
constexpr int corrected_errors = 0;
constexpr int uncorrected_errors = 1;
constexpr int since_driver_load = 0;
constexpr int since_manufacture = 1;
constexpr int for_corrected_errors = 0;
constexpr int for_uncorrected_error = 1;

struct Utilisation {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
// As the functions without a number in their name have it.
struct Program {
  unsigned id;
  unsigned long long used_bytes;
};

// A function of the library that it may be too old, or too new, to have; it fails then.
template <typename... Arguments>
class Function {
 public:
  Function(void* library, const char* name)
      : function_(library == nullptr ? nullptr : reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name))) {}
  int code(Arguments... arguments) const { return function_ == nullptr ? no_function : function_(arguments...); }
  bool operator()(Arguments... arguments) const { return code(arguments...) == success; }

 private:
  int (*function_)(Arguments...);
};

using Number = Function<Device, unsigned*>;
using NumberOf = Function<Device, int, unsigned*>;
using Programs = Function<Device, unsigned*, Program*>;

inline uint32_t value(const Number& function, Device device) {
  unsigned number = 0;
  return function(device, &number) ? number : M40_NONE;
}

inline uint32_t value(const NumberOf& function, Device device, int which) {
  unsigned number = 0;
  return function(device, which, &number) ? number : M40_NONE;
}

// A value that the library gives in MHz.
inline uint32_t kilohertz(const NumberOf& function, Device device, int which) {
  const uint32_t megahertz = value(function, device, which);
  return megahertz > M40_NONE / 1000 ? M40_NONE : megahertz * 1000;
}

struct Library {
  void* const handle = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  const Function<> initialise{handle, "nvmlInit_v2"};
  const Function<char*, unsigned> version{handle, "nvmlSystemGetDriverVersion"};
  const Function<unsigned*> count{handle, "nvmlDeviceGetCount_v2"};
  const Function<const char*, Device*> find{handle, "nvmlDeviceGetHandleByPciBusId_v2"};
  const Function<unsigned, Device*> at{handle, "nvmlDeviceGetHandleByIndex_v2"};
  const Number index{handle, "nvmlDeviceGetIndex"};
  const Function<Device, char*, unsigned> name{handle, "nvmlDeviceGetName"};
  const Function<Device, int*, int*> capability{handle, "nvmlDeviceGetCudaComputeCapability"};
  const Number compute_mode{handle, "nvmlDeviceGetComputeMode"};
  const Number persistence{handle, "nvmlDeviceGetPersistenceMode"};
  const Function<Device, Memory*> memory{handle, "nvmlDeviceGetMemoryInfo"};
  const Function<Device, int*, int*> ecc{handle, "nvmlDeviceGetEccMode"};
  const Function<Device, int, int, unsigned long long*> errors{handle, "nvmlDeviceGetTotalEccErrors"};
  const Function<Device, int, unsigned*, unsigned long long*> retired_pages{handle, "nvmlDeviceGetRetiredPages"};
  const Number retirement_pending{handle, "nvmlDeviceGetRetiredPagesPendingStatus"};
  const Programs compute_programs{handle, "nvmlDeviceGetComputeRunningProcesses"};
  const Programs graphics_programs{handle, "nvmlDeviceGetGraphicsRunningProcesses"};
  const Number pcie_generation{handle, "nvmlDeviceGetCurrPcieLinkGeneration"};
  const Number pcie_width{handle, "nvmlDeviceGetCurrPcieLinkWidth"};
  const Number pcie_max_generation{handle, "nvmlDeviceGetMaxPcieLinkGeneration"};
  const Number pcie_max_width{handle, "nvmlDeviceGetMaxPcieLinkWidth"};
  const Number pcie_replays{handle, "nvmlDeviceGetPcieReplayCounter"};
  const NumberOf clock{handle, "nvmlDeviceGetClockInfo"};
  const NumberOf max_clock{handle, "nvmlDeviceGetMaxClockInfo"};
  const NumberOf set_clock{handle, "nvmlDeviceGetApplicationsClock"};
  const Function<Device, unsigned long long*> throttle_reasons{handle, "nvmlDeviceGetCurrentClocksThrottleReasons"};
  const Function<Device, Utilisation*> utilisation{handle, "nvmlDeviceGetUtilizationRates"};
  const Number power{handle, "nvmlDeviceGetPowerUsage"};
  const Number power_limit{handle, "nvmlDeviceGetEnforcedPowerLimit"};
  // The enforced one is the least of several; this is the one that can be set.
  const Number limit_that_is_set{handle, "nvmlDeviceGetPowerManagementLimit"};
  const Function<Device, unsigned> limit_power{handle, "nvmlDeviceSetPowerManagementLimit"};
  const Function<Device, unsigned long long*> energy{handle, "nvmlDeviceGetTotalEnergyConsumption"};
  const Number default_power_limit{handle, "nvmlDeviceGetPowerManagementDefaultLimit"};
  const Function<Device, unsigned*, unsigned*> power_limits{handle, "nvmlDeviceGetPowerManagementLimitConstraints"};
  const NumberOf temperature{handle, "nvmlDeviceGetTemperature"};
  const NumberOf temperature_threshold{handle, "nvmlDeviceGetTemperatureThreshold"};
};

}  // namespace m40::cuda::management

#endif
