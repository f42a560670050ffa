// The host memory that a context's device may use.
#ifndef M40_RUNTIME_HOST_AREAS_H
#define M40_RUNTIME_HOST_AREAS_H

#include <stdint.h>

#include <map>

#include "error.h"

namespace m40 {

class HostAreas {
 public:
  void add(const void* memory, uint64_t n_bytes) { areas_[reinterpret_cast<uintptr_t>(memory)] = n_bytes; }
  void remove(const void* memory) { areas_.erase(reinterpret_cast<uintptr_t>(memory)); }
  // Throws where the memory is not within one of them. what: it is.
  void require_within(const void* memory, uint64_t n_bytes, const char* what) const {
    const auto place = reinterpret_cast<uintptr_t>(memory);
    auto area = areas_.upper_bound(place);
    if (area != areas_.begin()) {
      --area;
      const uint64_t offset = place - area->first;
      if (offset <= area->second && n_bytes <= area->second - offset) return;
    }
    fail(M40_INVALID_ARGUMENT, "%s: its %llu bytes are not in memory of m40_host_alloc", what, static_cast<unsigned long long>(n_bytes));
  }

 private:
  std::map<uintptr_t, uint64_t> areas_;  // bytes, by the start
};

}  // namespace m40

#endif
