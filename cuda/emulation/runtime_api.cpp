// The emulated runtime. Environment variables make its device one that fails, for tests of what then happens:
//   M40_EMULATION_DEVICES=0             no device
//   M40_EMULATION_DRIVER=11000          a driver that is older than the library's CUDA
//   M40_EMULATION_CAPABILITY=35         a GPU that is too old
//   M40_EMULATION_MEMORY_BYTES=...      the device's memory
//   M40_EMULATION_FAIL_AFTER=N          the N-th grid and all after it fail, as on a device that fell off its bus
//   M40_EMULATION_LATE_MS=N             what is given to a stream is done so many milliseconds later, by the device's clock
//   M40_EMULATION_HANG_IN=NAME          the next grid of a kernel with that in its name never ends, and nothing after it
//                                       begins; what waits for it without a bound ends the process
#include "runtime_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "clock.h"
#include "threads.h"

struct M40EmulatedGraph {
  std::vector<std::function<cudaError_t()>> work;
};

struct M40EmulatedStream {
  M40EmulatedGraph* capture = nullptr;
};

struct M40EmulatedEvent {};

namespace {

uint64_t from_environment(const char* name, uint64_t fallback) {
  const char* text = getenv(name);
  return text == nullptr || *text == '\0' ? fallback : strtoull(text, nullptr, 10);
}

std::mutex mutex;
cudaError_t last_error = cudaSuccess;  // of this process: an error that a kernel makes stays
bool lost = false;
std::string failure;  // what a kernel did wrong
uint64_t n_grids = 0;  // that kernels were launched on
// Of graphs that can be launched: how many there are, and how often one was.
std::atomic<uint64_t> n_live_graphs{0}, n_graph_launches{0};
std::map<void*, size_t> allocations;
size_t allocated_bytes = 0;
uint64_t n_allocations = 0;  // of device memory and page-locked host memory, since the library was loaded
std::map<const void*, size_t> host_allocations;
using m40::emulation::Clock;
std::atomic<bool> hangs{false};
std::atomic<Clock::rep> skipped{0};    // how far the device's clock is ahead of the host's
std::atomic<Clock::rep> busy_until{0};  // where the device is late

Clock::duration lateness() { return std::chrono::milliseconds(from_environment("M40_EMULATION_LATE_MS", 0)); }
bool is_late() { return Clock::now().time_since_epoch().count() < busy_until; }

cudaError_t remember(cudaError_t error) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (lost) return last_error;
  if (error != cudaSuccess) last_error = error;
  return error;
}

// Of what waits for all that the device was given.
void wait_for_device(const char* function) {
  if (hangs) {
    fprintf(stderr, "%s would wait for ever: the emulated device hangs\n", function);
    abort();
  }
  if (is_late()) Clock::sleep_until(Clock::time_point(Clock::duration(busy_until)));
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

// As many as an M40 has, or as the environment says.
int multiprocessors() { return static_cast<int>(from_environment("M40_EMULATION_MULTIPROCESSORS", 24)); }

size_t memory_bytes() { return from_environment("M40_EMULATION_MEMORY_BYTES", uint64_t{8} << 30); }

cudaError_t run(const char* kernel, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (lost) return last_error;
    const uint64_t limit = from_environment("M40_EMULATION_FAIL_AFTER", 0);
    if (++n_grids >= limit && limit != 0) {
      lost = true;
      failure = "the emulated device was told to fail";
      return last_error = cudaErrorLaunchFailure;
    }
  }
  const char* hanging = getenv("M40_EMULATION_HANG_IN");
  if (hanging != nullptr && *hanging != '\0' && strstr(kernel, hanging) != nullptr) {
    hangs = true;
    return cudaSuccess;
  }
  const char* wrong = m40::emulation::run_grid(kernel, grid, block, shared_bytes, thread);
  if (wrong == nullptr) return cudaSuccess;
  const std::lock_guard<std::mutex> lock(mutex);
  lost = true;
  failure = wrong;
  return last_error = cudaErrorLaunchFailure;
}

// Does the work now, or keeps it for the graph.
cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work) {
  if (stream != nullptr && stream->capture != nullptr) {
    stream->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  if (hangs) return cudaSuccess;
  const cudaError_t error = remember(work());
  busy_until = (Clock::now() + lateness()).time_since_epoch().count();
  return error;
}

// What has been given to a stream is done.
cudaError_t ask() { return remember(hangs || is_late() ? cudaErrorNotReady : cudaSuccess); }

}  // namespace

namespace m40::emulation {

void enqueue_grid(const char* kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, std::function<void()> thread) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  // The limits of compute capability 5.2.
  const bool good = threads >= 1 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 && threads <= 1024 && grid.x >= 1 && grid.y >= 1 &&
                    grid.z >= 1 && grid.x <= 0x7FFFFFFFu && grid.y <= 65535 && grid.z <= 65535 && shared_bytes <= 48 * 1024;
  if (!good) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      char text[256];
      snprintf(text, sizeof(text), "%s<<<(%u, %u, %u), (%u, %u, %u), %zu>>> is beyond what a launch may be", kernel, grid.x, grid.y, grid.z,
               block.x, block.y, block.z, shared_bytes);
      failure = text;
    }
    remember(cudaErrorInvalidConfiguration);
    return;
  }
  submit(stream, [=, thread = std::move(thread)] { return run(kernel, grid, block, shared_bytes, thread); });
}

Clock::time_point Clock::now() {
  return time_point(std::chrono::steady_clock::now().time_since_epoch() + duration(skipped));
}

void Clock::sleep_until(time_point time) {
  const duration left = time - now();
  if (left <= duration::zero()) return;
  if (hangs || lateness() != duration::zero()) {
    skipped += left.count();
  } else {
    std::this_thread::sleep_for(left);
  }
}

}  // namespace m40::emulation

// For tests, which look it up themselves: no part of m40.h.
extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_allocations(void) {
  const std::lock_guard<std::mutex> lock(mutex);
  return n_allocations;
}

extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_launches(void) {
  const std::lock_guard<std::mutex> lock(mutex);
  return n_grids;
}

extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_live_graphs(void) { return n_live_graphs; }

extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_graph_launches(void) { return n_graph_launches; }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (from_environment("M40_EMULATION_DEVICES", 1) == 0) return remember(cudaErrorNoDevice);
  if (from_environment("M40_EMULATION_DRIVER", 11080) < 11080) return remember(cudaErrorInsufficientDriver);
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return remember(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return remember(cudaErrorInvalidDevice);
  *properties = {};
  const auto capability = static_cast<int>(from_environment("M40_EMULATION_CAPABILITY", 52));
  snprintf(properties->name, sizeof(properties->name), "Emulated compute capability %d.%d", capability / 10, capability % 10);
  properties->totalGlobalMem = memory_bytes();
  properties->major = capability / 10;
  properties->minor = capability % 10;
  properties->multiProcessorCount = multiprocessors();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* place, int n_bytes, int device) {
  if (device != 0) return remember(cudaErrorInvalidDevice);
  snprintf(place, static_cast<size_t>(n_bytes), "0000:00:52.0");
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  *value = attribute == cudaDevAttrMultiProcessorCount ? multiprocessors() : 0;  // 0: unknown
  return remember(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = from_environment("M40_EMULATION_DEVICES", 1) == 0 ? 0 : static_cast<int>(from_environment("M40_EMULATION_DRIVER", 11080));
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 11080;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  *total_bytes = memory_bytes();
  *free_bytes = allocated_bytes < *total_bytes ? *total_bytes - allocated_bytes : 0;
  return lost ? last_error : cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  wait_for_device("cudaDeviceSynchronize");
  return remember(cudaSuccess);
}

cudaError_t cudaGetLastError() {
  const std::lock_guard<std::mutex> lock(mutex);
  const cudaError_t error = last_error;
  if (!lost) last_error = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard<std::mutex> lock(mutex);
  return last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    default: return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchFailure: return failure.c_str();
    default: return "unknown error";
  }
}

cudaError_t cudaMalloc(void** memory, size_t n_bytes) {
  wait_for_device("cudaMalloc");
  const std::lock_guard<std::mutex> lock(mutex);
  if (lost) return last_error;
  if (n_bytes > memory_bytes() || allocated_bytes > memory_bytes() - n_bytes) return last_error = cudaErrorMemoryAllocation;
  void* allocated = nullptr;
  if (posix_memalign(&allocated, 256, n_bytes) != 0) return last_error = cudaErrorMemoryAllocation;
  allocations[allocated] = n_bytes;
  n_allocations++;
  allocated_bytes += n_bytes;
  *memory = allocated;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  wait_for_device("cudaFree");
  const std::lock_guard<std::mutex> lock(mutex);
  if (memory == nullptr) return cudaSuccess;
  const auto found = allocations.find(memory);
  if (found == allocations.end()) return last_error = cudaErrorInvalidValue;
  allocated_bytes -= found->second;
  allocations.erase(found);
  free(memory);
  return lost ? last_error : cudaSuccess;
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

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new M40EmulatedStream;
  return remember(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  wait_for_device("cudaStreamSynchronize");
  return remember(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t) { return ask(); }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return remember(cudaSuccess); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new M40EmulatedEvent;
  return remember(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return remember(cudaSuccess); }
cudaError_t cudaEventQuery(cudaEvent_t) { return ask(); }

cudaError_t cudaEventSynchronize(cudaEvent_t) {
  wait_for_device("cudaEventSynchronize");
  return remember(cudaSuccess);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  stream->capture = new M40EmulatedGraph;
  return remember(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->capture;
  stream->capture = nullptr;
  return remember(cudaSuccess);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  *executable = new M40EmulatedGraph(*graph);
  n_live_graphs++;
  return remember(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  n_graph_launches++;
  for (const auto& work : executable->work) {
    const cudaError_t error = submit(stream, work);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete executable;
  n_live_graphs--;
  return cudaSuccess;
}
