// The emulated device's memory, which is the host's, and page-locked memory.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "device_state.h"
#include "allocations.h"
#include "poison.h"

using namespace m40::emulation;

namespace {

std::mutex mutex;
struct Allocation {
  size_t n_bytes;
  int device;
};
std::map<void*, Allocation> allocations;
size_t allocated_bytes[max_devices] = {};
uint64_t n_allocations = 0;  // of device memory and page-locked host memory, since the library was loaded
std::map<const void*, size_t> host_allocations;

// A device's memory is that of KV blocks, which other processes can have.
size_t whole_kv_blocks(size_t n_bytes) {
  const auto kv_block = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return (n_bytes + kv_block - 1) / kv_block * kv_block;
}

bool is_page_locked(const void* memory) {
  const std::lock_guard<std::mutex> lock(mutex);
  auto after = host_allocations.upper_bound(memory);
  if (after == host_allocations.begin()) return false;
  const auto& [begin, n_bytes] = *--after;
  return static_cast<const uint8_t*>(memory) < static_cast<const uint8_t*>(begin) + n_bytes;
}

// A copy that CUDA makes by way of memory of its own is over, for the host, when the device has made it.
void wait_for_copy(const void* to, const void* from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDeviceToHost && !is_page_locked(to)) wait_for_device("a copy to memory that is not page-locked");
  if (kind == cudaMemcpyHostToDevice && !is_page_locked(from)) wait_for_device("a copy from memory that is not page-locked");
}

}  // namespace

bool m40::emulation::take_memory(long long n_bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  size_t& taken = allocated_bytes[current_device()];
  if (n_bytes > 0 && taken + static_cast<size_t>(n_bytes) > memory_bytes()) return false;
  taken += static_cast<size_t>(n_bytes);
  return true;
}

size_t m40::emulation::allocation_bytes(void* memory) {
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = allocations.find(memory);
  return found == allocations.end() ? 0 : whole_kv_blocks(found->second.n_bytes);
}

// For tests, which look it up themselves: no part of m40.h.
extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_allocations(void) {
  const std::lock_guard<std::mutex> lock(mutex);
  return n_allocations;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  // As where other programs have all of the memory: not even a context finds room.
  if (from_environment("M40_EMULATION_NO_CONTEXT", 0) != 0) return remember(cudaErrorMemoryAllocation);
  const std::lock_guard<std::mutex> lock(mutex);
  *total_bytes = memory_bytes();
  const size_t taken = allocated_bytes[current_device()];
  *free_bytes = taken < *total_bytes ? *total_bytes - taken : 0;
  return loss();
}

cudaError_t cudaMalloc(void** memory, size_t n_bytes) {
  wait_for_device("cudaMalloc");
  const std::lock_guard<std::mutex> lock(mutex);
  if (const cudaError_t error = loss(); error != cudaSuccess) return error;
  size_t& taken = allocated_bytes[current_device()];
  if (n_bytes > memory_bytes() || taken > memory_bytes() - n_bytes) return remember(cudaErrorMemoryAllocation);
  void* allocated = nullptr;
  const size_t whole = whole_kv_blocks(n_bytes);
  if (posix_memalign(&allocated, whole_kv_blocks(1), whole) != 0) return remember(cudaErrorMemoryAllocation);
  poison(static_cast<uint8_t*>(allocated) + n_bytes, whole - n_bytes);
  allocations[allocated] = {n_bytes, current_device()};
  n_allocations++;
  taken += n_bytes;
  *memory = allocated;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  wait_for_device("cudaFree");
  const std::lock_guard<std::mutex> lock(mutex);
  if (memory == nullptr) return cudaSuccess;
  const auto found = allocations.find(memory);
  if (found == allocations.end()) return remember(cudaErrorInvalidValue);
  const size_t n_bytes = found->second.n_bytes;
  allocated_bytes[found->second.device] -= n_bytes;
  allocations.erase(found);
  unpoison_for_free(static_cast<uint8_t*>(memory) + n_bytes, whole_kv_blocks(n_bytes) - n_bytes);
  forget_peers(memory, whole_kv_blocks(n_bytes));
  free(memory);
  return loss();
}

cudaError_t cudaHostAlloc(void** memory, size_t n_bytes, unsigned) {
  wait_for_device("cudaHostAlloc");
  void* allocated = nullptr;
  if (posix_memalign(&allocated, 64, n_bytes) != 0) return remember(cudaErrorMemoryAllocation);
  const std::lock_guard<std::mutex> lock(mutex);
  host_allocations[allocated] = n_bytes;
  n_allocations++;
  *memory = allocated;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  wait_for_device("cudaFreeHost");
  const std::lock_guard<std::mutex> lock(mutex);
  host_allocations.erase(memory);
  free(memory);
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* memory, size_t n_bytes, unsigned) {
  wait_for_device("cudaHostRegister");
  const std::lock_guard<std::mutex> lock(mutex);
  if (!host_allocations.emplace(memory, n_bytes).second) return remember(cudaErrorInvalidValue);
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* memory) {
  wait_for_device("cudaHostUnregister");
  const std::lock_guard<std::mutex> lock(mutex);
  return host_allocations.erase(memory) == 1 ? cudaSuccess : remember(cudaErrorInvalidValue);
}

cudaError_t cudaHostGetDevicePointer(void** on_device, void* memory, unsigned) {
  const std::lock_guard<std::mutex> lock(mutex);
  const uint8_t* place = static_cast<const uint8_t*>(memory);
  for (const auto& [start, n_bytes] : host_allocations) {
    const uint8_t* begin = static_cast<const uint8_t*>(start);
    if (place < begin || place >= begin + n_bytes) continue;
    *on_device = memory;
    return loss();
  }
  return remember(cudaErrorInvalidValue);
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t n_bytes, cudaMemcpyKind kind) {
  wait_for_device("cudaMemcpy");
  return cudaMemcpyAsync(to, from, n_bytes, kind, nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n_bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  wait_for_copy(to, from, kind);
  return submit(stream, [=] {
    memcpy(to, from, n_bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  wait_for_copy(to, from, kind);
  return submit(stream, [=] {
    for (size_t i = 0; i < height; i++) {
      memcpy(static_cast<uint8_t*>(to) + i * to_pitch, static_cast<const uint8_t*>(from) + i * from_pitch, width);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemset(void* memory, int value, size_t n_bytes) { return cudaMemsetAsync(memory, value, n_bytes, nullptr); }

cudaError_t cudaMemsetAsync(void* memory, int value, size_t n_bytes, cudaStream_t stream) {
  return submit(stream, [=] {
    memset(memory, value, n_bytes);
    return cudaSuccess;
  });
}
