#include "shared_host.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "error.h"
#include "host_memory.h"

namespace m40 {

Descriptor duplicate(const m40_shared& shared) {
  Descriptor copy(fcntl(shared.memory.descriptor().number(), F_DUPFD_CLOEXEC, 0));
  if (copy.number() < 0) fail(M40_INTERNAL, "shared memory cannot be mapped again: %s", strerror(errno));
  return copy;
}

void* SharedHost::add(m40_context* context, const m40_shared& shared) {
  SharedMemory area = SharedMemory::open(duplicate(shared), shared.memory.n_bytes());
  area.close_descriptor();
  areas_.reserve(areas_.size() + 1);
  register_host_memory(context, area.data(), area.n_bytes());
  areas_.push_back(std::move(area));
  return areas_.back().data();
}

bool SharedHost::remove(m40_context* context, const void* memory) {
  const auto found = std::find_if(areas_.begin(), areas_.end(), [memory](const SharedMemory& area) { return area.data() == memory; });
  if (found == areas_.end()) return false;
  if (unregister_host_memory(context, found->data())) areas_.erase(found);
  return true;
}

void SharedHost::remove_all(m40_context* context) {
  areas_.erase(std::remove_if(areas_.begin(), areas_.end(), [&](const SharedMemory& area) { return unregister_host_memory(context, area.data()); }),
               areas_.end());
}

}  // namespace m40

extern "C" m40_status m40_shared_create(uint64_t n_bytes, m40_shared** shared, m40_error* error) {
  return m40::guarded(error, [&] {
    m40::require(shared, "shared");
    if (n_bytes == 0) m40::fail(M40_INVALID_ARGUMENT, "shared memory of 0 bytes: wanted at least 1");
    if (n_bytes > uint64_t{1} << 48) m40::fail(M40_OUT_OF_MEMORY, "%llu bytes of shared memory could not be mapped", static_cast<unsigned long long>(n_bytes));
    const auto kv_block = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    *shared = new m40_shared{m40::SharedMemory::create((n_bytes + kv_block - 1) / kv_block * kv_block, true)};
  });
}

extern "C" void m40_shared_destroy(m40_shared* shared) { delete shared; }
