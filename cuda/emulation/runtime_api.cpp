// The emulated runtime: what there is for a device, streams and graphs, and grids on them.
#include "runtime_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "device_state.h"
#include "threads.h"

using namespace m40::emulation;

struct M40EmulatedGraph {
  std::vector<std::function<cudaError_t()>> work;
  long long n_bytes = 0;  // of the device's memory
};

struct M40EmulatedStream {
  M40EmulatedGraph* capture = nullptr;
  // A cooperative grid, with all blocks on the device at once, runs on a thread of its own.
  std::thread beside;
  std::atomic<bool> busy{false};

  // What is given to the stream comes after that.
  void wait() {
    if (beside.joinable()) beside.join();
  }
};

struct M40EmulatedEvent {
  bool timed;
  std::chrono::steady_clock::time_point time = {};  // of its record; nothing is ever under way then
};

namespace {

std::atomic<uint64_t> n_grids{0};                      // that kernels were launched on
std::atomic<uint64_t> n_grids_of[max_devices] = {};  // and on each device
std::atomic<uint64_t> n_hanging{0};                    // of kernels that are to hang
// How many cooperative grids run.
std::atomic<uint64_t> n_beside{0};
// Of graphs that can be launched: how many there are, and how often one was.
std::atomic<uint64_t> n_live_graphs{0}, n_graph_launches{0};

// As many as an M40 has, or as the environment says.
int multiprocessors() { return static_cast<int>(from_environment("M40_EMULATION_MULTIPROCESSORS", 24)); }

// What is in the name of the kernels that hang on the current device; null where none does.
const char* hanging_kernel() {
  const char* text = getenv("M40_EMULATION_HANG_IN");
  if (text == nullptr || *text < '0' || *text > '9') return text;
  char* rest = nullptr;
  const auto device = static_cast<int>(strtoul(text, &rest, 10));
  return *rest == ':' && device == current_device() ? rest + 1 : nullptr;
}

// Whether a grid is to be run, by what the environment makes of the device; else what comes of it.
bool may_run(const char* kernel, cudaError_t* otherwise) {
  if ((*otherwise = loss()) != cudaSuccess) return false;
  const uint64_t limit = from_environment_list("M40_EMULATION_FAIL_AFTER", 0);
  n_grids++;
  if (++n_grids_of[current_device()] >= limit && limit != 0) {
    *otherwise = lose("the emulated device was set to fail");
    return false;
  }
  const char* hanging = hanging_kernel();
  if (hanging != nullptr && *hanging != '\0' && strstr(kernel, hanging) != nullptr && ++n_hanging >= from_environment("M40_EMULATION_HANG_FROM", 1)) {
    hang();
    return false;
  }
  return true;
}

cudaError_t run(const char* kernel, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread) {
  cudaError_t otherwise;
  if (!may_run(kernel, &otherwise)) return otherwise;
  const char* wrong = run_grid(kernel, grid, block, shared_bytes, thread);
  return wrong == nullptr ? cudaSuccess : lose(wrong);
}

void run_beside(M40EmulatedStream* stream, const char* kernel, dim3 grid, dim3 block, size_t shared_bytes, std::function<void()> thread) {
  cudaError_t otherwise;
  if (hangs() || !may_run(kernel, &otherwise)) return;
  stream->wait();
  stream->busy = true;
  n_beside++;
  const uint64_t late = from_environment("M40_EMULATION_BLOCKS_LATE", 0);
  stream->beside = std::thread([=, device = current_device(), thread = std::move(thread)] {
    use_device(device);
    const char* wrong = run_grid_together(kernel, grid, block, shared_bytes, late, thread);
    if (wrong != nullptr) lose(wrong);
    n_beside--;
    stream->busy = false;
  });
}

}  // namespace

namespace m40::emulation {

void hold_up_host() { delay("M40_EMULATION_WORD_US"); }

int blocks_at_once() { return static_cast<int>(from_environment("M40_EMULATION_RESIDENT_BLOCKS", 2)); }

cudaError_t submit(cudaStream_t stream, std::function<cudaError_t()> work) {
  if (stream != nullptr && stream->capture != nullptr) {
    stream->capture->work.push_back(std::move(work));
    return cudaSuccess;
  }
  if (hangs()) return cudaSuccess;
  if (stream != nullptr) stream->wait();
  const cudaError_t error = remember(work());
  occupy();
  return error;
}

void enqueue_grid(bool together, const char* kernel, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, std::function<void()> thread) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  // The limits of compute capability 5.2.
  const bool good = threads >= 1 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 && threads <= 1024 && grid.x >= 1 && grid.y >= 1 &&
                    grid.z >= 1 && grid.x <= 0x7FFFFFFFu && grid.y <= 65535 && grid.z <= 65535 && shared_bytes <= 48 * 1024;
  if (!good) {
    char text[256];
    snprintf(text, sizeof(text), "%s<<<(%u, %u, %u), (%u, %u, %u), %zu>>> is beyond what a launch may be", kernel, grid.x, grid.y, grid.z,
             block.x, block.y, block.z, shared_bytes);
    return refuse_launch(text);
  }
  if (together) return run_beside(stream, kernel, grid, block, shared_bytes, std::move(thread));
  if (stream == nullptr || stream->capture == nullptr) delay("M40_EMULATION_LAUNCH_US");
  submit(stream, [=, thread = std::move(thread)] { return run(kernel, grid, block, shared_bytes, thread); });
}

}  // namespace m40::emulation

// For tests, which look them up themselves: no part of m40.h.
extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_launches(void) { return n_grids; }

extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_resident_kernels(void) { return n_beside; }

extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_live_graphs(void) { return n_live_graphs; }

extern "C" __attribute__((visibility("default"))) uint64_t m40_emulation_graph_launches(void) { return n_graph_launches; }

namespace {

// Device 0 answers also where there is none: callers count the devices first.
bool exists(int device) { return device == 0 || (device > 0 && device < device_count()); }

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (device_count() == 0) return remember(cudaErrorNoDevice);
  if (from_environment("M40_EMULATION_DRIVER", 11080) < 11080) return remember(cudaErrorInsufficientDriver);
  *count = device_count();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (!exists(device)) return remember(cudaErrorInvalidDevice);
  use_device(device);
  return remember(cudaSuccess);
}

cudaError_t cudaGetDevice(int* device) {
  *device = current_device();
  return cudaSuccess;
}

// Ten times the number before the point, plus the one after it.
static int compute_capability() { return static_cast<int>(from_environment("M40_EMULATION_CAPABILITY", 52)); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!exists(device)) return remember(cudaErrorInvalidDevice);
  *properties = {};
  const int capability = compute_capability();
  snprintf(properties->name, sizeof(properties->name), "Emulated compute capability %d.%d", capability / 10, capability % 10);
  properties->totalGlobalMem = memory_bytes();
  properties->major = capability / 10;
  properties->minor = capability % 10;
  properties->multiProcessorCount = multiprocessors();
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* place, int n_bytes, int device) {
  if (!exists(device)) return remember(cudaErrorInvalidDevice);
  snprintf(place, static_cast<size_t>(n_bytes), "0000:00:%02x.0", 0x52 + device);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount: *value = multiprocessors(); break;
    case cudaDevAttrKernelExecTimeout: *value = from_environment("M40_EMULATION_WATCHDOG", 0) != 0; break;
    case cudaDevAttrComputeCapabilityMajor: *value = compute_capability() / 10; break;
    default: *value = 0;  // unknown
  }
  return remember(exists(device) ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = device_count() == 0 ? 0 : static_cast<int>(from_environment("M40_EMULATION_DRIVER", 11080));
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 11080;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  wait_for_device("cudaDeviceSynchronize");
  return remember(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new M40EmulatedStream;
  return remember(cudaSuccess);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) { return cudaStreamCreateWithFlags(stream, flags); }

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -1;
  return remember(cudaSuccess);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  stream->wait();
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  wait_for_device("cudaStreamSynchronize");
  if (stream != nullptr) stream->wait();
  return remember(cudaSuccess);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t error = loss(); error != cudaSuccess) return error;
  return stream != nullptr && stream->busy ? remember(cudaErrorNotReady) : ask();
}
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return remember(cudaSuccess); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new M40EmulatedEvent{(flags & cudaEventDisableTiming) == 0};
  return remember(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->time = std::chrono::steady_clock::now();
  return remember(cudaSuccess);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  if (const cudaError_t error = loss(); error != cudaSuccess) return remember(error);
  const std::chrono::steady_clock::time_point never = {};
  if (!from->timed || !to->timed || from->time == never || to->time == never) return remember(cudaErrorInvalidValue);
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return remember(cudaSuccess);
}
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
  const auto n_bytes = static_cast<long long>(from_environment("M40_EMULATION_GRAPH_BYTES", 0));
  if (!take_memory(n_bytes)) return remember(cudaErrorMemoryAllocation);
  *executable = new M40EmulatedGraph(*graph);
  (*executable)->n_bytes = n_bytes;
  n_live_graphs++;
  return remember(cudaSuccess);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return remember(cudaSuccess); }

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  if (++n_graph_launches == from_environment("M40_EMULATION_GRAPH_LAUNCH_FAILS", 0)) return remember(cudaErrorMemoryAllocation);
  delay("M40_EMULATION_GRAPH_US");
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
  take_memory(-executable->n_bytes);
  delete executable;
  n_live_graphs--;
  return cudaSuccess;
}
