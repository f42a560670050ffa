#include "management.h"

#include <dlfcn.h>

#include <map>
#include <mutex>

#include "device.h"

namespace m40::cuda {

namespace {

// The part of NVML's interface that is used here, by its own numbers; nvml.h comes with no driver.
using Device = void*;
constexpr int success = 0;
constexpr int temperature_of_gpu = 0;
constexpr int clock_of_multiprocessors = 1;
constexpr int clock_of_memory = 2;
struct Utilisation {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

// A function of the library that it may be too old to have; it fails then.
template <typename... Arguments>
class Function {
 public:
  Function(void* library, const char* name)
      : function_(library == nullptr ? nullptr : reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name))) {}
  bool operator()(Arguments... arguments) const { return function_ != nullptr && function_(arguments...) == success; }

 private:
  int (*function_)(Arguments...);
};

class Management {
 public:
  // Loaded and initialised when it is first asked for, and kept: others in this process may use it as well.
  static Management& instance() {
    static Management management;
    return management;
  }

  std::string driver_version() const {
    char text[80] = {};
    return ready_ && version_(text, sizeof(text) - 1) ? text : "";
  }

  bool knows(uint32_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return devices_.count(index) != 0;
  }

  m40_device_state state(uint32_t index) {
    m40_device_state answer = {};
    answer.temperature_celsius = M40_NONE;
    answer.power_milliwatts = M40_NONE;
    answer.power_limit_milliwatts = M40_NONE;
    answer.clock_khz = M40_NONE;
    answer.memory_clock_khz = M40_NONE;
    answer.utilisation_percent = M40_NONE;
    const Device device = find(index);
    if (device == nullptr) return answer;
    unsigned value = 0;
    if (temperature_(device, temperature_of_gpu, &value)) answer.temperature_celsius = value;
    if (power_(device, &value)) answer.power_milliwatts = value;
    if (power_limit_(device, &value)) answer.power_limit_milliwatts = value;
    if (clock_(device, clock_of_multiprocessors, &value)) answer.clock_khz = value * 1000;
    if (clock_(device, clock_of_memory, &value)) answer.memory_clock_khz = value * 1000;
    Utilisation utilisation = {};
    if (utilisation_(device, &utilisation)) answer.utilisation_percent = utilisation.gpu;
    Memory memory = {};
    if (memory_(device, &memory)) {
      answer.memory_bytes = memory.total;
      answer.used_bytes = memory.used;
      answer.free_bytes = memory.free;
    }
    return answer;
  }

 private:
  Management()
      : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)),
        initialise_(library_, "nvmlInit_v2"),
        version_(library_, "nvmlSystemGetDriverVersion"),
        find_(library_, "nvmlDeviceGetHandleByPciBusId_v2"),
        temperature_(library_, "nvmlDeviceGetTemperature"),
        power_(library_, "nvmlDeviceGetPowerUsage"),
        power_limit_(library_, "nvmlDeviceGetEnforcedPowerLimit"),
        clock_(library_, "nvmlDeviceGetClockInfo"),
        utilisation_(library_, "nvmlDeviceGetUtilizationRates"),
        memory_(library_, "nvmlDeviceGetMemoryInfo"),
        ready_(initialise_()) {}

  // CUDA and NVML number devices differently; they agree on the place on the bus.
  Device find(uint32_t index) {
    if (!ready_) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = devices_.find(index);
    if (known != devices_.end()) return known->second;
    char place[32] = {};
    Device device = nullptr;
    if (cudaDeviceGetPCIBusId(place, sizeof(place), static_cast<int>(index)) != cudaSuccess) {
      cudaGetLastError();  // so that it is not taken for a launch's
      return nullptr;
    }
    if (!find_(place, &device)) return nullptr;
    devices_[index] = device;
    return device;
  }

  void* library_;
  Function<> initialise_;
  Function<char*, unsigned> version_;
  Function<const char*, Device*> find_;
  Function<Device, int, unsigned*> temperature_;
  Function<Device, unsigned*> power_;
  Function<Device, unsigned*> power_limit_;
  Function<Device, int, unsigned*> clock_;
  Function<Device, Utilisation*> utilisation_;
  Function<Device, Memory*> memory_;
  bool ready_;
  std::mutex mutex_;
  std::map<uint32_t, Device> devices_;
};

}  // namespace

std::string driver_version() { return Management::instance().driver_version(); }

bool is_managed(uint32_t device) { return Management::instance().knows(device); }

m40_device_state device_state(uint32_t device) { return Management::instance().state(device); }

}  // namespace m40::cuda
