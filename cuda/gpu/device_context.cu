// Contexts, arenas and page-locked host memory.
#include <algorithm>

#include "../common/checks.h"
#include "decode_executor.h"
#include "device_objects.h"
#include "../common/host_memory.h"
#include "../program/memory_functions.h"
#include "device_seat.h"
#include "step_progress.h"
#include "uploader.h"

using m40::fail;
using m40::guarded;
using m40::require;
using m40::cuda::check;
using m40::cuda::HostMemory;

namespace m40::cuda {

HostMemory::HostMemory(const DeviceWatch& watch, uint64_t n_bytes) : watch_(watch) {
  void* memory = nullptr;
  check(cudaHostAlloc(&memory, n_bytes, cudaHostAllocPortable | cudaHostAllocMapped), "page-locked host memory");
  data_ = static_cast<uint8_t*>(memory);
}

HostMemory::~HostMemory() {
  if (!watch_.hangs()) cudaFreeHost(data_);
}

}  // namespace m40::cuda

namespace {

// first: where a multiprocessor has room, its thread blocks are placed ahead of those of other streams.
cudaStream_t create_stream(bool first) {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "a context");
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, first ? greatest : least), "a context");
  return stream;
}

}  // namespace

m40_context::m40_context(uint32_t device_index, uint32_t asked_executor)
    : device(device_index), executor(asked_executor), seat(m40::cuda::DeviceSeat::of(device_index)), uploader(new m40::cuda::Uploader(watch, seat)) {
  use();
  stream = create_stream(true);
}

m40_context::~m40_context() {
  programs.clear();
  shared_host.remove_all(this);
  uploader.reset();
  arenas.clear();
  host_memory.clear();
  for (cudaStream_t one : {stream, prompts}) {
    if (one != nullptr) cudaStreamDestroy(one);
  }
  cudaGetLastError();
}

cudaStream_t m40_context::stream_of(uint32_t lane) {
  if (lane == M40_LANE_MAIN) return stream;
  if (prompts == nullptr) prompts = create_stream(false);
  return prompts;
}

void m40_context::use_for_steps() const {
  watch.require_alive();
  check(cudaSetDevice(static_cast<int>(device)), "a context");
}

void m40_context::use() const {
  use_for_steps();
  seat.clear();
}

void m40_context::use(m40::cuda::LaunchedWork& work) const {
  use_for_steps();
  work.begin(seat);
}

m40::cuda::Clock::duration m40_context::longest_prompt() const {
  m40::cuda::Clock::duration longest = m40::cuda::longest_work;
  for (const auto& program : programs) {
    const uint32_t share = program->progress->shape.prefill_share;
    if (share != 0) longest = std::max(longest, m40::cuda::longest_step(share));
  }
  return longest;
}

bool m40_context::settle(m40::cuda::LaunchedWork& work) const {
  if (watch.hangs() || seat.hangs()) return false;
  cudaSetDevice(static_cast<int>(device));
  try {
    work.begin(seat);
    uploader->wait();
    watch.wait(stream, "what was under way");
    if (prompts != nullptr) watch.wait(prompts, "what was under way", m40::cuda::Clock::now(), longest_prompt());
  } catch (const m40::Failure&) {
    // A device that was lost has nothing under way any more.
  }
  cudaGetLastError();
  return !watch.hangs() && !seat.hangs();
}

extern "C" m40_status m40_context_create(const m40_context_options* options, m40_context** context, m40_error* error) {
  return guarded(error, [&] {
    require(options, "options");
    require(context, "context");
    m40::check_text(options->instruction_set, sizeof(options->instruction_set), "instruction_set");
    m40::check_executor(options->executor);
    m40::cuda::check_usable(options->device);
    std::string why;
    if (options->executor == M40_EXECUTOR_RESIDENT && !m40::cuda::has_decode_executor(options->device, &why)) {
      fail(M40_UNSUPPORTED, "a persistent kernel was asked for: %s; wanted launches, graphs or auto", why.c_str());
    }
    *context = new m40_context(options->device, options->executor);
  });
}

extern "C" void m40_context_destroy(m40_context* context) {
  // Freeing waits for the device. Where it hangs, all is left to the end of the process.
  if (context == nullptr) return;
  context->end_runs();
  m40::cuda::LaunchedWork work;
  if (context->settle(work)) delete context;
}

// ---- arenas -------------------------------------------------------------------------------------------

m40_arena::~m40_arena() { release(); }

void m40_arena::release() {
  if (memory == nullptr) return;
  m40::cuda::release(memory, n_bytes);
  cudaFree(memory);
  memory = nullptr;
}

std::unique_ptr<m40_arena> m40::allocate_arena(m40_context* context, uint64_t n_bytes) {
  cuda::LaunchedWork work;
  context->use(work);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes), "an arena");
  const auto too_large = [&] {
    fail(M40_OUT_OF_MEMORY, "an arena of %llu bytes: the device has %llu bytes of memory, of which %llu are free",
         static_cast<unsigned long long>(n_bytes), static_cast<unsigned long long>(total_bytes), static_cast<unsigned long long>(free_bytes));
  };
  if (n_bytes > free_bytes) too_large();
  std::unique_ptr<m40_arena> arena(new m40_arena);
  void* memory = nullptr;
  const cudaError_t allocated = cudaMalloc(&memory, n_bytes);
  if (allocated == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    too_large();
  }
  check(allocated, "an arena");
  cuda::forbid(memory, n_bytes);
  arena->memory = static_cast<uint8_t*>(memory);
  return arena;
}

extern "C" void m40_arena_destroy(m40_arena* arena) {
  if (arena == nullptr) return;
  arena->context->end_runs();
  // What still runs may use it.
  m40::cuda::LaunchedWork work;
  if (arena->context->settle(work)) {
    for (const auto& program : arena->context->programs) {
      if (program->arena == arena) program->end_exchanges();
    }
    arena->release();
  } else {
    arena->memory = nullptr;
  }
}

// ---- host memory --------------------------------------------------------------------------------------

void* m40::allocate_host_memory(m40_context* context, uint64_t n_bytes) {
  cuda::LaunchedWork work;
  context->use(work);
  context->host_memory.emplace_back(new HostMemory(context->watch, n_bytes));
  return context->host_memory.back()->data();
}

extern "C" void m40_host_free(m40_context* context, void* memory) {
  if (context == nullptr || memory == nullptr) return;
  context->end_runs();
  m40::cuda::LaunchedWork work;
  if (!context->settle(work)) return;
  if (context->shared_host.remove(context, memory)) return;
  auto& list = context->host_memory;
  const auto found = std::find_if(list.begin(), list.end(), [memory](const auto& owned) { return owned->data() == memory; });
  if (found == list.end()) return;
  context->host_areas.remove(memory);
  list.erase(found);
}

void m40::register_host_memory(m40_context* context, void* memory, uint64_t n_bytes) {
  m40::cuda::LaunchedWork work;
  context->use(work);
  check(cudaHostRegister(memory, n_bytes, cudaHostRegisterPortable | cudaHostRegisterMapped), "page-locked host memory");
  context->host_areas.add(memory, n_bytes);
}

bool m40::unregister_host_memory(m40_context* context, void* memory) {
  context->end_runs();
  m40::cuda::LaunchedWork work;
  if (!context->settle(work)) return false;
  for (const auto& program : context->programs) program->exchange.forget(memory);
  context->host_areas.remove(memory);
  cudaHostUnregister(memory);
  cudaGetLastError();  // so that it is not taken for a launch's
  return true;
}
