// A management library (NVML) of the emulated device, for tests: gpu/management_library.h loads it as on a machine with
// a driver. Built into libnvidia-ml.so.1 by tests/fixtures/emulated_management.ts. One function that is asked for there
// is missing, as in old drivers, and one says that it does not know, as for some cards.
//   M40_EMULATION_TEMPERATURE=...   degrees Celsius; absent: not known
//   M40_EMULATION_SILENT=1          a call that asks for the device's power never returns
//   M40_EMULATION_POWER_LIMIT=FILE  the power limits that were set, in milliwatts, a line each; the last one holds, and
//                                   the device draws no more. Absent: they cannot be set.
//   M40_EMULATION_NVML=NAME=VALUE,NAME=VALUE,...
//                                   what else it says, of the settings below; VALUE "-": not supported on this card.
//                                   Each call reads it again. N:NAME=VALUE is device N's own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <string>

namespace {

constexpr int success = 0;
constexpr int invalid_argument = 2;
constexpr int not_supported = 3;
constexpr int no_permission = 4;
constexpr int not_found = 6;
constexpr int insufficient_size = 7;
constexpr int unknown_clock = 2;

constexpr unsigned max_devices = 16;

int initialised = 0;
// A device's handle is its place here.
int devices[max_devices];

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

struct Program {
  unsigned id;
  unsigned long long used_bytes;
};

// max_devices for what is no device's handle.
unsigned index_of(const void* device) {
  unsigned index = 0;
  while (index < max_devices && device != &devices[index]) index++;
  return index;
}

int state(const void* device) { return initialised == 0 || index_of(device) == max_devices ? invalid_argument : success; }

// Whether there is a setting of that name, and its text.
bool find_setting(const std::string& name, std::string* value) {
  for (const char* at = getenv("M40_EMULATION_NVML"); at != nullptr && *at != '\0';) {
    const char* end = strchr(at, ',');
    const std::string setting = end == nullptr ? std::string(at) : std::string(at, end);
    if (setting.compare(0, name.size() + 1, name + "=") == 0) {
      *value = setting.substr(name.size() + 1);
      return true;
    }
    at = end == nullptr ? nullptr : end + 1;
  }
  return false;
}

// The text of a setting: the device's own, else that of all, else `usual`.
std::string text(const char* name, const char* usual, const void* device = nullptr) {
  std::string value;
  if (device != nullptr && find_setting(std::to_string(index_of(device)) + ":" + name, &value)) return value;
  return find_setting(name, &value) ? value : usual;
}

template <class T>
int number(const char* name, unsigned long long usual, T* value, const void* device = nullptr) {
  const std::string said = text(name, "", device);
  if (said == "-") return not_supported;
  *value = static_cast<T>(said.empty() ? usual : strtoull(said.c_str(), nullptr, 10));
  return success;
}

template <class T>
int number_of(const void* device, const char* name, unsigned long long usual, T* value) {
  return state(device) == success ? number(name, usual, value, device) : invalid_argument;
}

int code(const char* name, const void* device = nullptr) {
  int value = 0;
  number(name, success, &value, device);
  return value;
}

unsigned count_devices() {
  unsigned n = 1;
  number("devices", 1, &n);
  return n < max_devices ? n : max_devices;
}

int copy(const std::string& from, char* to, unsigned n_bytes) {
  if (n_bytes <= from.size()) return insufficient_size;
  memcpy(to, from.c_str(), from.size() + 1);
  return success;
}

}  // namespace

#define NVML_API extern "C" __attribute__((visibility("default"))) int

// A function that returns one number of the device.
#define NVML_NUMBER(function, setting, usual) \
  NVML_API function(void* device, unsigned* value) { return number_of(device, setting, usual, value); }

NVML_API nvmlInit_v2() {
  if (const int failure = code("init"); failure != success) return failure;
  initialised++;
  return success;
}

NVML_API nvmlSystemGetDriverVersion(char* version, unsigned n_bytes) { return copy(text("driver", "450.248.02"), version, n_bytes); }

NVML_API nvmlDeviceGetCount_v2(unsigned* count) { return number("devices", 1, count); }

NVML_API nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** device) {
  if (initialised == 0) return invalid_argument;
  unsigned place_number = 0;
  // As the emulated runtime numbers them.
  if (sscanf(place, "0000:00:%2x.0", &place_number) != 1) return not_found;
  const unsigned index = place_number - 0x52;
  if (index >= count_devices()) return not_found;
  *device = &devices[index];
  return success;
}

NVML_API nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (initialised == 0 || index >= count_devices()) return invalid_argument;
  *device = &devices[index];
  return code("handle", *device);
}

NVML_NUMBER(nvmlDeviceGetIndex, "index", index_of(device))

NVML_API nvmlDeviceGetName(void* device, char* name, unsigned n_bytes) {
  return state(device) == success ? copy(text("name", "Tesla M40 24GB", device), name, n_bytes) : invalid_argument;
}

NVML_API nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  int capability = 0;
  const int status = number_of(device, "capability", 52, &capability);
  *major = capability / 10;
  *minor = capability % 10;
  return status;
}

NVML_NUMBER(nvmlDeviceGetComputeMode, "compute_mode", 0)
NVML_NUMBER(nvmlDeviceGetPersistenceMode, "persistence", 1)

NVML_API nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  unsigned long long used_mib = 0;
  const int status = number_of(device, "used_mib", 1024, &used_mib);
  const unsigned long long total = 24ull << 30;
  *memory = {total, total - (used_mib << 20), used_mib << 20};
  return status;
}

NVML_API nvmlDeviceGetEccMode(void* device, int* current, int* pending) {
  const int status = number_of(device, "ecc", 0, current);
  return status == success ? number("ecc_next", static_cast<unsigned>(*current), pending, device) : status;
}

NVML_API nvmlDeviceGetTotalEccErrors(void* device, int kind, int counter, unsigned long long* n) {
  static const char* const names[] = {"corrected", "uncorrected", "lifetime_corrected", "lifetime_uncorrected"};
  if (kind < 0 || kind > 1 || counter < 0 || counter > 1) return invalid_argument;
  return number_of(device, names[2 * counter + kind], 0, n);
}

NVML_API nvmlDeviceGetRetiredPages(void* device, int cause, unsigned* count, unsigned long long* addresses) {
  if (count == nullptr || addresses == nullptr || cause < 0 || cause > 1) return invalid_argument;
  unsigned n = 0;
  const int status = number_of(device, cause == 0 ? "retired" : "retired_uncorrected", 0, &n);
  if (status != success) return status;
  const unsigned room = *count;
  *count = n;
  if (n > room) return insufficient_size;
  for (unsigned i = 0; i < n; i++) addresses[i] = 4096ull * i;
  return success;
}

NVML_NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retirement_pending", 0)

// The setting "programs" has numbers of processes, each with its MiB: 123:4096;456:100
NVML_API nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count, Program* programs) {
  if (state(device) != success) return invalid_argument;
  const unsigned room = *count;
  *count = 0;
  const std::string all = text("programs", "", device);
  for (const char* at = all.c_str(); *at != '\0';) {
    char* end = nullptr;
    const unsigned id = static_cast<unsigned>(strtoul(at, &end, 10));
    const unsigned long long mib = *end == ':' ? strtoull(end + 1, &end, 10) : 0;
    if (*count < room) programs[*count] = {id, mib << 20};
    (*count)++;
    at = *end == ';' ? end + 1 : end + strlen(end);
  }
  return *count > room ? insufficient_size : success;
}

NVML_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation", 3)
NVML_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width", 16)
NVML_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_max_generation", 3)
NVML_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie_max_width", 16)
NVML_NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie_replays", 0)

NVML_API nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  const char* of_all = getenv("M40_EMULATION_TEMPERATURE");
  const std::string said = text("temperature", of_all == nullptr ? "" : of_all, device);
  if (said.empty()) return not_supported;
  if (sensor == 0) *celsius = static_cast<unsigned>(atoi(said.c_str()));
  return sensor == 0 ? state(device) : invalid_argument;
}

NVML_API nvmlDeviceGetTemperatureThreshold(void* device, int which, unsigned* celsius) {
  if (which < 0 || which > 1) return invalid_argument;
  return which == 0 ? number_of(device, "shutdown", 92, celsius) : number_of(device, "slowdown", 89, celsius);
}

NVML_API nvmlDeviceGetPowerManagementLimit(void* device, unsigned* milliwatts) {
  const int status = number_of(device, "power_limit", 250000, milliwatts);
  const char* path = getenv("M40_EMULATION_POWER_LIMIT");
  FILE* file = status == success && path != nullptr ? fopen(path, "r") : nullptr;
  if (file == nullptr) return status;
  for (unsigned set = 0; fscanf(file, "%u", &set) == 1;) *milliwatts = set;
  fclose(file);
  return success;
}

NVML_API nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  return nvmlDeviceGetPowerManagementLimit(device, milliwatts);
}

NVML_API nvmlDeviceGetPowerManagementLimitConstraints(void* device, unsigned* least, unsigned* most) {
  const int status = number_of(device, "min_power_limit", 180000, least);
  return status == success ? number_of(device, "max_power_limit", 250000, most) : status;
}

NVML_API nvmlDeviceSetPowerManagementLimit(void* device, unsigned milliwatts) {
  const char* path = getenv("M40_EMULATION_POWER_LIMIT");
  if (state(device) != success) return invalid_argument;
  if (path == nullptr) return no_permission;
  if (const int failure = code("set_power_limit"); failure != success) return failure;
  unsigned least = 0;
  unsigned most = 0;
  if (nvmlDeviceGetPowerManagementLimitConstraints(device, &least, &most) != success) return not_supported;
  if (milliwatts < least || milliwatts > most) return invalid_argument;
  FILE* file = fopen(path, "a");
  if (file == nullptr) return no_permission;
  fprintf(file, "%u\n", milliwatts);
  fclose(file);
  return success;
}

NVML_API nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  const char* silent = getenv("M40_EMULATION_SILENT");
  while (silent != nullptr && *silent == '1') pause();
  unsigned most = 0;
  const int status = number_of(device, "power", 182500, milliwatts);
  if (status == success && nvmlDeviceGetPowerManagementLimit(device, &most) == success && *milliwatts > most) *milliwatts = most;
  return status;
}

// Cards of the M40's age do not count it: the setting "energy" is what the device draws all the time, in milliwatts.
NVML_API nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  unsigned long long milliwatts = 0;
  if (text("energy", "-", device) == "-") return not_supported;
  const int status = number_of(device, "energy", 0, &milliwatts);
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  *millijoules = milliwatts * static_cast<unsigned long long>(now.tv_sec * 1000 + now.tv_nsec / 1000000) / 1000;
  return status;
}

NVML_NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "default_power_limit", 250000)

NVML_API nvmlDeviceGetClockInfo(void* device, int clock, unsigned* megahertz) {
  if (clock > unknown_clock) return invalid_argument;
  return clock == 1 ? number_of(device, "clock", 1114, megahertz) : number_of(device, "memory_clock", 3004, megahertz);
}

NVML_API nvmlDeviceGetMaxClockInfo(void* device, int clock, unsigned* megahertz) {
  if (clock > unknown_clock) return invalid_argument;
  return clock == 1 ? number_of(device, "max_clock", 1114, megahertz) : number_of(device, "max_memory_clock", 3004, megahertz);
}

NVML_API nvmlDeviceGetApplicationsClock(void* device, int clock, unsigned* megahertz) {
  if (clock != 0) return invalid_argument;
  return number_of(device, "set_clock", 1114, megahertz);
}

NVML_API nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  return number_of(device, "throttle", 0, reasons);
}
