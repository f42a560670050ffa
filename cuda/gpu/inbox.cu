#include "inbox.h"

#include <string.h>
#include <unistd.h>

#include "cuda_check.h"

namespace m40::cuda {

namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(m40_inbox::handle), "a handle of CUDA's has its place");

// For any error of CUDA, there is no inbox: rows go through the host's memory then.
void require_access(cudaError_t error, const char* what, uint32_t device) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that it is not taken for a launch's
  fail(M40_UNSUPPORTED, "%s device %u: %s (%s)", what, device, cudaGetErrorName(error), cudaGetErrorString(error));
}

void enable_access(uint32_t device, uint32_t other) {
  if (other == device) return;
  int can = 0;
  require_access(cudaDeviceCanAccessPeer(&can, static_cast<int>(device), static_cast<int>(other)), "access to the memory of", other);
  if (can == 0) fail(M40_UNSUPPORTED, "device %u has no access to the memory of device %u", device, other);
  const cudaError_t enabled = cudaDeviceEnablePeerAccess(static_cast<int>(other), 0);
  if (enabled == cudaErrorPeerAccessAlreadyEnabled) {
    cudaGetLastError();
    return;
  }
  require_access(enabled, "access to the memory of", other);
}

}  // namespace

m40_inbox name_inbox(const uint8_t* allocation, const uint8_t* address, uint64_t n_bytes, uint32_t device) {
  m40_inbox inbox = {};
  inbox.process = static_cast<uint64_t>(getpid());
  inbox.address = reinterpret_cast<uint64_t>(address);
  inbox.offset = static_cast<uint64_t>(address - allocation);
  inbox.n_bytes = n_bytes;
  inbox.device = device;
  cudaIpcMemHandle_t handle;
  require_access(cudaIpcGetMemHandle(&handle, const_cast<uint8_t*>(allocation)), "a handle for memory of", device);
  memcpy(inbox.handle, &handle, sizeof(handle));
  return inbox;
}

OpenedInbox::OpenedInbox(const m40_inbox& inbox, uint32_t device) : inbox_(inbox) {
  if (inbox.process == static_cast<uint64_t>(getpid())) {
    enable_access(device, inbox.device);
    memory_ = reinterpret_cast<uint8_t*>(inbox.address);
    return;
  }
  cudaIpcMemHandle_t handle;
  memcpy(&handle, inbox.handle, sizeof(handle));
  require_access(cudaIpcOpenMemHandle(&opened_, handle, cudaIpcMemLazyEnablePeerAccess), "memory of another process's", inbox.device);
  memory_ = static_cast<uint8_t*>(opened_) + inbox.offset;
}

OpenedInbox::~OpenedInbox() {
  if (opened_ == nullptr) return;
  cudaIpcCloseMemHandle(opened_);
  cudaGetLastError();
}

bool OpenedInbox::is(const m40_inbox& inbox) const {
  return inbox.process == inbox_.process && inbox.address == inbox_.address && inbox.n_bytes == inbox_.n_bytes && memcmp(inbox.handle, inbox_.handle, sizeof(inbox.handle)) == 0;
}

}  // namespace m40::cuda
