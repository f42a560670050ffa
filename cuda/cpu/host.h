// What the host has: memory, processors, their names.
#ifndef M40_REFERENCE_HOST_H
#define M40_REFERENCE_HOST_H

#include <stdint.h>

#include <string>

namespace m40::reference {

struct HostMemory {
  uint64_t total_bytes;      // 0 where the system does not say
  uint64_t available_bytes;  // without swapping
};

HostMemory host_memory();

// Processors that this process may run on.
uint32_t allowed_processors();

// The same, with the threads of one physical core counted once.
uint32_t allowed_cores();

// As /proc/cpuinfo has it; "CPU" where it has none.
std::string processor_name();

// The highest clock of the first processor; 0 where unknown.
uint32_t processor_khz();

}  // namespace m40::reference

#endif
