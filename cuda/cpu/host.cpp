#include "host.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <set>
#include <utility>

namespace m40::reference {

namespace {

// The first 64 KiB of a file that the kernel writes; "" where there is none.
std::string read_start(const char* path) {
  std::string text;
  FILE* file = fopen(path, "re");
  if (file == nullptr) return text;
  text.resize(1 << 16);
  text.resize(fread(&text[0], 1, text.size(), file));
  fclose(file);
  return text;
}

// Not strtoull: new compilers bind it to a symbol that old systems lack.
uint64_t parse_number(const char* text) {
  uint64_t number = 0;
  while (*text == ' ' || *text == '\t') text++;
  while (*text >= '0' && *text <= '9') number = number * 10 + static_cast<uint64_t>(*text++ - '0');
  return number;
}

// What follows "name" and a colon, up to the end of the line.
std::string field(const std::string& text, const char* name) {
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    if (text.compare(at, strlen(name), name) == 0) {
      size_t value = text.find(':', at);
      if (value == std::string::npos || value >= end) return "";
      value = text.find_first_not_of(" \t:", value);
      return value == std::string::npos || value >= end ? "" : text.substr(value, end - value);
    }
    at = end + 1;
  }
  return "";
}

// -1 where the kernel does not say.
int64_t topology(int processor, const char* name) {
  char path[128];
  snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", processor, name);
  const std::string text = read_start(path);
  return text.empty() || text[0] == '-' ? -1 : static_cast<int64_t>(parse_number(text.c_str()));
}

}  // namespace

HostMemory host_memory() {
  const std::string text = read_start("/proc/meminfo");
  return {parse_number(field(text, "MemTotal").c_str()) * 1024, parse_number(field(text, "MemAvailable").c_str()) * 1024};
}

uint32_t allowed_processors() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  const int n = CPU_COUNT(&set);
  return n < 1 ? 1 : static_cast<uint32_t>(n);
}

uint32_t allowed_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  std::set<std::pair<int64_t, int64_t>> cores;
  for (int i = 0; i < CPU_SETSIZE; i++) {
    if (!CPU_ISSET(i, &set)) continue;
    const int64_t core = topology(i, "core_id");
    // A processor of unknown place counts as a core of its own.
    cores.insert(core < 0 ? std::pair<int64_t, int64_t>(-1, i)
                          : std::pair<int64_t, int64_t>(topology(i, "physical_package_id"), core));
  }
  return cores.empty() ? 1 : static_cast<uint32_t>(cores.size());
}

std::string processor_name() {
  const std::string name = field(read_start("/proc/cpuinfo"), "model name");
  return name.empty() ? "CPU" : name;
}

uint32_t processor_khz() {
  const uint64_t highest = parse_number(read_start("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq").c_str());
  if (highest != 0) return static_cast<uint32_t>(highest);
  return static_cast<uint32_t>(parse_number(field(read_start("/proc/cpuinfo"), "cpu MHz").c_str()) * 1000);
}

}  // namespace m40::reference
