// The emulated device's memory as other devices reach it: in the same process as it is, from others through a file in
// memory that takes its place when the first one asks for a handle.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "device_state.h"
#include "allocations.h"

using namespace m40::emulation;

namespace {

// What a handle has in its bytes.
struct Handle {
  pid_t process;
  int file;
  size_t n_bytes;
};
static_assert(sizeof(Handle) <= sizeof(cudaIpcMemHandle_t), "a handle has room");

std::mutex mutex;
std::map<void*, int> files;       // of memory that others may open
std::map<void*, size_t> openings;  // of others' memory

bool reaches_no_peers() { return from_environment("M40_EMULATION_NO_PEERS", 0) != 0; }

// The file with what is in the memory; -1: none. The kernel copies, as parts of it may not be touched.
int file_of(const void* memory, size_t n_bytes) {
  const int file = memfd_create("emulated device memory", MFD_CLOEXEC);
  if (file < 0) return -1;
  const char* from = static_cast<const char*>(memory);
  size_t written = 0;
  while (written < n_bytes) {
    const ssize_t n = syscall(SYS_pwrite64, file, from + written, n_bytes - written, written);
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  if (written == n_bytes) return file;
  close(file);
  return -1;
}

}  // namespace

void m40::emulation::forget_peers(void* memory, size_t n_bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = files.find(memory);
  if (found == files.end()) return;
  // Memory that can be given back, in the place of the file.
  mmap(memory, n_bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  close(found->second);
  files.erase(found);
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int other) {
  if (device < 0 || other < 0 || device >= device_count() || other >= device_count()) return remember(cudaErrorInvalidDevice);
  *can = device != other && !reaches_no_peers();
  return loss();
}

cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned) {
  static std::map<std::pair<int, int>, bool> enabled;
  const std::lock_guard<std::mutex> lock(mutex);
  if (reaches_no_peers()) return remember(cudaErrorNotSupported);
  bool& is_enabled = enabled[{current_device(), other}];
  if (is_enabled) return remember(cudaErrorPeerAccessAlreadyEnabled);
  is_enabled = true;
  return loss();
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  wait_for_device("cudaIpcGetMemHandle");
  if (reaches_no_peers()) return remember(cudaErrorNotSupported);
  const size_t n_bytes = allocation_bytes(memory);
  if (n_bytes == 0) return remember(cudaErrorInvalidValue);
  const std::lock_guard<std::mutex> lock(mutex);
  auto found = files.find(memory);
  if (found == files.end()) {
    const int file = file_of(memory, n_bytes);
    if (file < 0) return remember(cudaErrorMemoryAllocation);
    if (mmap(memory, n_bytes, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, file, 0) == MAP_FAILED) {
      close(file);
      return remember(cudaErrorMemoryAllocation);
    }
    found = files.emplace(memory, file).first;
  }
  const Handle named = {getpid(), found->second, n_bytes};
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &named, sizeof(named));
  return loss();
}

cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  Handle named;
  memcpy(&named, &handle, sizeof(named));
  if (named.process == getpid()) return remember(cudaErrorInvalidValue);
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/fd/%d", static_cast<int>(named.process), named.file);
  const bool loses = from_environment("M40_EMULATION_PEERS_LOSE", 0) != 0;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return remember(cudaErrorInvalidValue);
  void* mapped = mmap(nullptr, named.n_bytes, PROT_READ | PROT_WRITE, loses ? MAP_PRIVATE : MAP_SHARED, file, 0);
  close(file);
  if (mapped == MAP_FAILED) return remember(cudaErrorInvalidValue);
  const std::lock_guard<std::mutex> lock(mutex);
  openings[mapped] = named.n_bytes;
  *memory = mapped;
  return loss();
}

cudaError_t cudaIpcCloseMemHandle(void* memory) {
  wait_for_device("cudaIpcCloseMemHandle");
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = openings.find(memory);
  if (found == openings.end()) return remember(cudaErrorInvalidValue);
  munmap(memory, found->second);
  openings.erase(found);
  return cudaSuccess;
}
