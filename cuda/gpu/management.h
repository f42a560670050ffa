// What the driver's management library (NVML) reports about a GPU. It comes with the driver and is loaded at run time.
// It may be missing: its values are then unknown, and nothing else changes.
#ifndef M40_RUNTIME_MANAGEMENT_H
#define M40_RUNTIME_MANAGEMENT_H

#include <string>

#include "../include/m40.h"

namespace m40::cuda {

// "535.183.01", or "" where unknown.
std::string driver_version();

// Whether an earlier query of a device's state succeeded.
bool is_managed(uint32_t device);

// By the device's index in CUDA. What is not known is as m40.h says. Any thread may ask.
m40_device_state device_state(uint32_t device);

// By the device's index in CUDA; 0 milliwatts: only reads the limit.
m40_power_limit set_power_limit(uint32_t device, uint32_t milliwatts);

// Whether the library can be asked, and how many devices it knows.
m40_management describe_management();

// By the library's own index.
m40_device_health device_health(uint32_t device);

}  // namespace m40::cuda

#endif
