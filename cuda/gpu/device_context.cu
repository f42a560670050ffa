// Contexts, arenas and page-locked host memory.
#include <algorithm>

#include "../common/checks.h"
#include "device_objects.h"
#include "../common/host_memory.h"
#include "persistent/resident.h"
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
    : device(device_index), executor(asked_executor), seat(m40::cuda::ResidentSeat::of(device_index)), uploader(new m40::cuda::Uploader(watch, seat)) {
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

void m40_context::use_beside_resident() const {
  watch.require_alive();
  check(cudaSetDevice(static_cast<int>(device)), "a context");
}

void m40_context::use() const {
  use_beside_resident();
  seat.clear();
}

void m40_context::use(m40::cuda::LaunchedWork& work) const {
  use_beside_resident();
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
    if (options->executor == M40_EXECUTOR_RESIDENT && !m40::cuda::device_has_resident(options->device, &why)) {
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

extern "C" m40_status m40_arena_create(m40_context* context, uint64_t arena_bytes, m40_arena** arena, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(arena, "arena");
    if (arena_bytes == 0) fail(M40_INVALID_ARGUMENT, "an arena of 0 bytes: wanted at least 1");
    m40::cuda::LaunchedWork work;
    context->use(work);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    check(cudaMemGetInfo(&free_bytes, &total_bytes), "an arena");
    const auto too_large = [&] {
      fail(M40_OUT_OF_MEMORY, "an arena of %llu bytes: the device has %llu bytes of memory, of which %llu are free",
           static_cast<unsigned long long>(arena_bytes), static_cast<unsigned long long>(total_bytes),
           static_cast<unsigned long long>(free_bytes));
    };
    if (arena_bytes > free_bytes) too_large();
    context->arenas.reserve(context->arenas.size() + 1);
    std::unique_ptr<m40_arena> created(new m40_arena);
    created->context = context;
    created->n_bytes = arena_bytes;
    void* memory = nullptr;
    const cudaError_t allocated = cudaMalloc(&memory, arena_bytes);
    if (allocated == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      too_large();
    }
    check(allocated, "an arena");
    m40::cuda::forbid(memory, arena_bytes);
    created->memory = static_cast<uint8_t*>(memory);
    *arena = created.get();
    context->arenas.push_back(std::move(created));
  });
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

extern "C" uint64_t m40_arena_used_bytes(const m40_arena* arena) { return arena == nullptr ? 0 : arena->used_bytes; }

// ---- host memory --------------------------------------------------------------------------------------

extern "C" m40_status m40_host_alloc(m40_context* context, uint64_t n_bytes, void** memory, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(memory, "memory");
    if (n_bytes == 0) fail(M40_INVALID_ARGUMENT, "host memory of 0 bytes: wanted at least 1");
    if (n_bytes > uint64_t{1} << 48) {
      fail(M40_OUT_OF_MEMORY, "%llu bytes of host memory could not be allocated", static_cast<unsigned long long>(n_bytes));
    }
    m40::cuda::LaunchedWork work;
    context->use(work);
    std::unique_ptr<HostMemory> allocated(new HostMemory(context->watch, n_bytes));
    context->host_memory.reserve(context->host_memory.size() + 1);
    *memory = allocated->data();
    context->host_memory.push_back(std::move(allocated));
    context->host_areas.add(*memory, n_bytes);
  });
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

extern "C" m40_status m40_host_share(m40_context* context, const m40_shared* shared, void** memory, m40_error* error) {
  return guarded(error, [&] {
    require(context, "context");
    require(shared, "shared");
    require(memory, "memory");
    *memory = context->shared_host.add(context, *shared);
  });
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
