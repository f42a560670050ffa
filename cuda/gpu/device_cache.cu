// What sequences keep: KV blocks of K and V, slots of states, and their way to the host and back.
#include "../ops/ops.h"
#include "device_objects.h"
#include "device_seat.h"
#include "../program/cache_functions.h"

using m40::cuda::check;

uint64_t m40::place_layers(const m40_cache_desc& desc, m40_cache* cache) {
  check_cache_desc(desc);
  return cuda::align_up(cuda::place_cache(desc, cache == nullptr ? nullptr : cache->layer_offsets));
}

uint64_t m40::place_slot(const m40_cache_desc& desc, m40_cache* cache) {
  return place_states(desc, cache == nullptr ? nullptr : cache->state_offsets, cuda::alignment);
}

uint64_t m40::placed_cache_bytes(uint64_t n_bytes) { return cuda::placed_bytes(n_bytes); }

void m40::open_cache(const m40_cache& cache, uint64_t n_bytes) {
  const m40_context* context = cache.arena->context;
  cuda::LaunchedWork work;
  context->use(work);
  cuda::permit(cache.memory, n_bytes);
  check(cudaMemsetAsync(cache.memory, 0, n_bytes, context->stream), "a KV cache");
  // Programs of other streams use it, too.
  context->watch.wait(context->stream, "a KV cache");
}

// Pieces that stand side by side go in one copy.
void m40::copy_pieces(const m40_cache& cache, const char* what, CopyWay way, const Pieces& to, const Pieces& from, uint32_t n) {
  const m40_context* context = cache.arena->context;
  const uint64_t bytes = to.piece_bytes;
  const auto continues = [&](uint32_t first, uint32_t i) {
    const uint64_t before = (i - first) * bytes;
    if (to.at(i) != to.at(first) + before || from.at(i) != from.at(first) + before) return false;
    // Copies are made in their order, so one must not write what it still has to read.
    const uint8_t *a = to.at(first), *b = from.at(first);
    return way != CopyWay::kWithinDevice || before < static_cast<uint64_t>(a > b ? a - b : b - a);
  };
  const cudaMemcpyKind kind = way == CopyWay::kToHost ? cudaMemcpyDeviceToHost : way == CopyWay::kToDevice ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
  cuda::LaunchedWork work;
  context->use(work);
  for (uint32_t first = 0, i = 1; first < n; i++) {
    if (i < n && continues(first, i)) continue;
    if (to.at(first) != from.at(first)) check(cudaMemcpyAsync(to.at(first), from.at(first), (i - first) * bytes, kind, context->stream), what);
    first = i;
  }
  context->watch.wait(context->stream, what);
}
