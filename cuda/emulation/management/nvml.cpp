// A management library (NVML) of the emulated device, for tests: what runtime/management.cu looks for on a machine
// with a driver. Built into libnvidia-ml.so.1 by tests/slow/emulated_test.ts. One function that runtime/management.cu asks
// for is missing, as in old drivers, and one says that it does not know, as for some cards.
//   M40_EMULATION_TEMPERATURE=...   degrees Celsius; absent: not known
//   M40_EMULATION_SILENT=1          who asks for the device's power never hears of it
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

constexpr int success = 0;
constexpr int invalid_argument = 2;
constexpr int not_supported = 3;
constexpr int not_found = 6;
constexpr int unknown_clock = 2;

int initialised = 0;
int the_device = 0;

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

int state(const void* device) { return initialised == 0 || device != &the_device ? invalid_argument : success; }

}  // namespace

#define NVML_API extern "C" __attribute__((visibility("default"))) int

NVML_API nvmlInit_v2() {
  initialised++;
  return success;
}

NVML_API nvmlSystemGetDriverVersion(char* version, unsigned n_bytes) {
  static const char text[] = "450.248.02";
  if (n_bytes < sizeof(text)) return invalid_argument;
  memcpy(version, text, sizeof(text));
  return success;
}

NVML_API nvmlDeviceGetHandleByPciBusId_v2(const char* place, void** device) {
  if (initialised == 0) return invalid_argument;
  if (strcmp(place, "0000:00:52.0") != 0) return not_found;
  *device = &the_device;
  return success;
}

NVML_API nvmlDeviceGetTemperature(void* device, int sensor, unsigned* celsius) {
  const char* text = getenv("M40_EMULATION_TEMPERATURE");
  if (text == nullptr) return not_supported;
  if (sensor == 0) *celsius = static_cast<unsigned>(atoi(text));
  return sensor == 0 ? state(device) : invalid_argument;
}

NVML_API nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  const char* silent = getenv("M40_EMULATION_SILENT");
  while (silent != nullptr && *silent == '1') pause();
  *milliwatts = 182500;
  return state(device);
}

NVML_API nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  *milliwatts = 250000;
  return state(device);
}

NVML_API nvmlDeviceGetClockInfo(void* device, int clock, unsigned* megahertz) {
  if (clock > unknown_clock) return invalid_argument;
  *megahertz = clock == 1 ? 1114 : 3004;
  return state(device);
}

NVML_API nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  *memory = {24ull << 30, 23ull << 30, 1ull << 30};
  return state(device);
}
