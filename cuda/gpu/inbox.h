// Memory of a device that other devices write: how a program's inbox is named for other contexts, and reached by them.
//
// Within a process the device is given access to the other's memory. Between processes memory goes by a handle of
// CUDA's for the whole of what was allocated, an arena.
#ifndef M40_RUNTIME_INBOX_H
#define M40_RUNTIME_INBOX_H

#include <stdint.h>

#include "../include/m40.h"

namespace m40::cuda {

// n_bytes at `address`, on that device, within an allocation that begins at `allocation`. Throws M40_UNSUPPORTED where
// they cannot be named for others.
m40_inbox name_inbox(const uint8_t* allocation, const uint8_t* address, uint64_t n_bytes, uint32_t device);

// Another card's inbox, as this device reaches it.
class OpenedInbox {
 public:
  // Throws M40_UNSUPPORTED where the current device, which is `device`, cannot write there.
  OpenedInbox(const m40_inbox& inbox, uint32_t device);
  ~OpenedInbox();
  OpenedInbox(const OpenedInbox&) = delete;
  OpenedInbox& operator=(const OpenedInbox&) = delete;

  uint8_t* memory() const { return memory_; }
  // The same one; what it is called may differ from call to call.
  bool is(const m40_inbox& inbox) const;

 private:
  m40_inbox inbox_;
  uint8_t* memory_ = nullptr;
  void* opened_ = nullptr;  // of another process; nullptr: of this one
};

}  // namespace m40::cuda

#endif
