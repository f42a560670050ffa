// Host memory that a context has in common with others: mapped for this context alone, and made fit for its device.
#ifndef M40_RUNTIME_SHARED_HOST_H
#define M40_RUNTIME_SHARED_HOST_H

#include <vector>

#include "../include/m40.h"
#include "shared_memory.h"

// Memory and its descriptor.
struct m40_shared {
  m40::SharedMemory memory;
};

namespace m40 {

class SharedHost {
 public:
  // Maps it once more, and registers it.
  void* add(m40_context* context, const m40_shared& shared);
  // Whether it has the memory; it is gone then, but where the device hangs and may use it still.
  bool remove(m40_context* context, const void* memory);
  void remove_all(m40_context* context);

 private:
  std::vector<SharedMemory> areas_;
};

// Another descriptor of the same memory.
Descriptor duplicate(const m40_shared& shared);

}  // namespace m40

#endif
