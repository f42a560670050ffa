#include "management.h"

#include <string.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "device.h"
#include "management_library.h"

namespace m40::cuda {

namespace {

using namespace management;

class Management {
 public:
  // Loaded and initialised when it is first asked for, and kept: others in this process may use it as well.
  static Management& instance() {
    static Management management;
    return management;
  }

  std::string driver_version() const {
    char text[80] = {};
    return ready() && library_.version(text, sizeof(text) - 1) ? text : "";
  }

  bool knows(uint32_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return devices_.count(index) != 0;
  }

  m40_device_state state(uint32_t index) {
    m40_device_state answer = {};
    answer.energy_millijoules = UINT64_MAX;
    answer.temperature_celsius = M40_NONE;
    answer.power_milliwatts = M40_NONE;
    answer.power_limit_milliwatts = M40_NONE;
    answer.clock_khz = M40_NONE;
    answer.memory_clock_khz = M40_NONE;
    answer.utilisation_percent = M40_NONE;
    const Device device = find(index);
    if (device == nullptr) return answer;
    answer.temperature_celsius = value(library_.temperature, device, temperature_of_gpu);
    answer.power_milliwatts = value(library_.power, device);
    answer.power_limit_milliwatts = value(library_.power_limit, device);
    answer.clock_khz = kilohertz(library_.clock, device, clock_of_multiprocessors);
    answer.memory_clock_khz = kilohertz(library_.clock, device, clock_of_memory);
    unsigned long long millijoules = 0;
    if (library_.energy(device, &millijoules)) answer.energy_millijoules = millijoules;
    Utilisation utilisation = {};
    if (library_.utilisation(device, &utilisation)) answer.utilisation_percent = utilisation.gpu;
    Memory memory = {};
    if (library_.memory(device, &memory)) {
      answer.memory_bytes = memory.total;
      answer.used_bytes = memory.used;
      answer.free_bytes = memory.free;
    }
    return answer;
  }

  m40_power_limit set_power_limit(uint32_t index, uint32_t milliwatts) {
    m40_power_limit answer = {M40_NONE, M40_NONE, M40_NONE, M40_NONE};
    const Device device = find(index);
    if (device == nullptr) return answer;
    unsigned least = 0;
    unsigned most = 0;
    if (library_.power_limits(device, &least, &most)) {
      answer.least_milliwatts = least;
      answer.most_milliwatts = most;
    }
    unsigned before = 0;
    int code = library_.limit_that_is_set.code(device, &before);
    if (code == success) {
      answer.before_milliwatts = before;
      // What could not be put back is not changed.
      if (milliwatts != 0) code = library_.limit_power.code(device, milliwatts);
    }
    answer.code = static_cast<uint32_t>(code);
    return answer;
  }

  m40_management describe() const {
    m40_management answer = {};
    answer.status = status();
    answer.code = initialised_ == no_function ? M40_NONE : static_cast<uint32_t>(initialised_);
    unsigned n_devices = 0;
    if (ready() && library_.count(&n_devices)) answer.n_devices = n_devices;
    const std::string version = driver_version();
    memcpy(answer.driver, version.data(), std::min(version.size(), sizeof(answer.driver) - 1));
    return answer;
  }

  m40_device_health health(uint32_t index) {
    m40_device_health answer = unknown_health();
    Device device = nullptr;
    const int code = library_.at.code(index, &device);
    if (code != success) {
      answer.code = static_cast<uint32_t>(code);
      return answer;
    }
    answer.code = 0;
    library_.name(device, answer.name, sizeof(answer.name) - 1);
    answer.cuda_device = cuda_index(index);
    int major = 0;
    int minor = 0;
    if (library_.capability(device, &major, &minor)) answer.compute_capability = static_cast<uint32_t>(major * 10 + minor);
    answer.compute_mode = value(library_.compute_mode, device);
    answer.persistence = value(library_.persistence, device);
    memory_of(device, answer);
    programs_of(device, answer);
    link_of(device, answer);
    clocks_of(device, answer);
    power_and_heat_of(device, answer);
    return answer;
  }

 private:
  Management() : initialised_(library_.initialise.code()) {}

  bool ready() const { return initialised_ == success; }

  uint32_t status() const {
    switch (initialised_) {
      case success: return M40_MANAGEMENT_OK;
      case no_function: return M40_MANAGEMENT_MISSING;
      case no_permission: return M40_MANAGEMENT_FORBIDDEN;
      case driver_not_loaded: return M40_MANAGEMENT_NO_DRIVER;
      case version_mismatch: return M40_MANAGEMENT_MISMATCH;
      default: return M40_MANAGEMENT_FAILED;
    }
  }

  // CUDA and NVML number devices differently; they agree on the place on the bus.
  Device find(uint32_t index) {
    if (!ready()) return nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto known = devices_.find(index);
    if (known != devices_.end()) return known->second;
    char place[32] = {};
    Device device = nullptr;
    if (cudaDeviceGetPCIBusId(place, sizeof(place), static_cast<int>(index)) != cudaSuccess) {
      cudaGetLastError();  // so that it is not taken for a launch's
      return nullptr;
    }
    if (!library_.find(place, &device)) return nullptr;
    devices_[index] = device;
    return device;
  }

  // Which of CUDA's devices is NVML's of that index; M40_NONE where CUDA has it not.
  uint32_t cuda_index(uint32_t index) {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
      cudaGetLastError();
      return M40_NONE;
    }
    for (uint32_t i = 0; i < static_cast<uint32_t>(count); i++) {
      const Device device = find(i);
      unsigned found = 0;
      if (device != nullptr && library_.index(device, &found) && found == index) return i;
    }
    return M40_NONE;
  }

  static m40_device_health unknown_health() {
    m40_device_health answer;
    memset(&answer, 0xFF, sizeof(answer));  // M40_NONE and UINT64_MAX
    memset(answer.name, 0, sizeof(answer.name));
    return answer;
  }

  void memory_of(Device device, m40_device_health& answer) {
    Memory memory = {};
    if (library_.memory(device, &memory)) {
      answer.memory_bytes = memory.total;
      answer.used_bytes = memory.used;
      answer.free_bytes = memory.free;
    }
    int now = 0;
    int next = 0;
    if (library_.ecc(device, &now, &next)) {
      answer.ecc = now != 0;
      answer.ecc_next = next != 0;
    }
    const auto errors = [&](int kind, int counter, uint64_t& field) {
      unsigned long long n = 0;
      if (library_.errors(device, kind, counter, &n)) field = n;
    };
    errors(corrected_errors, since_driver_load, answer.corrected_errors);
    errors(uncorrected_errors, since_driver_load, answer.uncorrected_errors);
    errors(corrected_errors, since_manufacture, answer.lifetime_corrected_errors);
    errors(uncorrected_errors, since_manufacture, answer.lifetime_uncorrected_errors);
    answer.retired_pages = retired(device, for_corrected_errors);
    answer.retired_pages_uncorrected = retired(device, for_uncorrected_error);
    answer.retirement_pending = value(library_.retirement_pending, device);
  }

  uint32_t retired(Device device, int cause) {
    unsigned long long addresses[128];
    unsigned n = sizeof(addresses) / sizeof(addresses[0]);
    const int code = library_.retired_pages.code(device, cause, &n, addresses);
    return code == success || code == insufficient_size ? n : M40_NONE;
  }

  void programs_of(Device device, m40_device_health& answer) {
    uint32_t known = 0;
    uint32_t n = 0;
    for (const auto* list : {&library_.compute_programs, &library_.graphics_programs}) {
      Program programs[64];
      unsigned count = sizeof(programs) / sizeof(programs[0]);
      const int code = list->code(device, &count, programs);
      if (code != success && code != insufficient_size) continue;
      known++;
      // Where they do not fit, none are given.
      const unsigned given = code == success ? std::min<unsigned>(count, sizeof(programs) / sizeof(programs[0])) : 0;
      for (unsigned i = 0; i < given; i++) {
        if (n + i >= M40_MAX_DEVICE_PROCESSES) break;
        answer.process_id[n + i] = programs[i].id;
        answer.process_bytes[n + i] = programs[i].used_bytes;
      }
      n += count;
    }
    if (known != 0) answer.n_processes = n;
  }

  void link_of(Device device, m40_device_health& answer) {
    answer.pcie_generation = value(library_.pcie_generation, device);
    answer.pcie_width = value(library_.pcie_width, device);
    answer.pcie_max_generation = value(library_.pcie_max_generation, device);
    answer.pcie_max_width = value(library_.pcie_max_width, device);
    answer.pcie_replays = value(library_.pcie_replays, device);
  }

  void clocks_of(Device device, m40_device_health& answer) {
    answer.clock_khz = kilohertz(library_.clock, device, clock_of_multiprocessors);
    answer.max_clock_khz = kilohertz(library_.max_clock, device, clock_of_multiprocessors);
    answer.set_clock_khz = kilohertz(library_.set_clock, device, clock_of_graphics);
    answer.memory_clock_khz = kilohertz(library_.clock, device, clock_of_memory);
    answer.max_memory_clock_khz = kilohertz(library_.max_clock, device, clock_of_memory);
    unsigned long long reasons = 0;
    if (library_.throttle_reasons(device, &reasons)) answer.throttle = static_cast<uint32_t>(reasons & 0x1FF);
  }

  void power_and_heat_of(Device device, m40_device_health& answer) {
    answer.power_milliwatts = value(library_.power, device);
    answer.power_limit_milliwatts = value(library_.power_limit, device);
    answer.default_power_limit_milliwatts = value(library_.default_power_limit, device);
    unsigned least = 0;
    unsigned most = 0;
    if (library_.power_limits(device, &least, &most)) {
      answer.min_power_limit_milliwatts = least;
      answer.max_power_limit_milliwatts = most;
    }
    answer.temperature_celsius = value(library_.temperature, device, temperature_of_gpu);
    answer.shutdown_celsius = value(library_.temperature_threshold, device, threshold_of_shutdown);
    answer.slowdown_celsius = value(library_.temperature_threshold, device, threshold_of_slowdown);
  }

  const Library library_;
  const int initialised_;
  std::mutex mutex_;
  std::map<uint32_t, Device> devices_;
};

}  // namespace

std::string driver_version() { return Management::instance().driver_version(); }

bool is_managed(uint32_t device) { return Management::instance().knows(device); }

m40_device_state device_state(uint32_t device) { return Management::instance().state(device); }

m40_power_limit set_power_limit(uint32_t device, uint32_t milliwatts) {
  return Management::instance().set_power_limit(device, milliwatts);
}

m40_management describe_management() { return Management::instance().describe(); }

m40_device_health device_health(uint32_t device) { return Management::instance().health(device); }

}  // namespace m40::cuda
