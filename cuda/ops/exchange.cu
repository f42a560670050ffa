#include "exchange.h"

#include <algorithm>

#include "../kernels/exchange.cuh"

namespace m40::cuda {

template <class V>
__global__ void __launch_bounds__(exchange_threads) exchange_kernel(ExchangeArgs args) {
  __shared__ ExchangeShared shared;
  exchange<V>(args, blockIdx.x, gridDim.x, shared);
}

__global__ void __launch_bounds__(exchange_threads) exchange_packets_kernel(ExchangeArgs args) { exchange_packets(args, blockIdx.x, gridDim.x); }

__global__ void count_step_kernel(uint64_t* steps) { *steps = *steps + 1; }

namespace {

// All fit on a card together.
constexpr uint32_t exchange_packet_blocks = 96;

// Whether all columns and rows begin where n of them can be loaded at once.
bool begin_at_multiples(const ExchangeArgs& args, uint32_t n) {
  const auto is_multiple = [n](const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % (n * sizeof(float)) == 0; };
  return std::all_of(args.bounds, args.bounds + args.n_cards + 1, [n](uint32_t bound) { return bound % n == 0; }) && args.input_stride % n == 0 &&
         args.output_stride % n == 0 && is_multiple(args.input) && is_multiple(args.output);
}

}  // namespace

void launch_exchange(const ExchangeArgs& args, cudaStream_t stream) {
  // As many on all cards: by the card that has most, whatever the device.
  uint64_t most = 0;
  for (uint32_t card = 0; card < args.n_cards; card++) most = std::max<uint64_t>(most, args.bounds[card + 1] - args.bounds[card]);
  const uint64_t n_values = most * args.n_rows;
  if (n_values != 0 && n_values <= exchange_packet_values && begin_at_multiples(args, 2)) {
    // A packet a thread: the more are in flight at a time, the better.
    const uint64_t blocks = std::min<uint64_t>((n_values + 2 * exchange_threads - 1) / (2 * exchange_threads), exchange_packet_blocks);
    M40_LAUNCH((exchange_packets_kernel), static_cast<uint32_t>(blocks), exchange_threads, 0, stream, args);
    return;
  }
  const uint64_t wanted = (most * args.n_rows + 4 * exchange_threads - 1) / (4 * exchange_threads);
  // Without rows the cards still wait for one another, so that the previous exchange is over.
  const uint32_t parts = static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, exchange_parts));
  if (begin_at_multiples(args, 4)) {
    M40_LAUNCH((exchange_kernel<float4>), parts, exchange_threads, 0, stream, args);
  } else {
    M40_LAUNCH((exchange_kernel<float>), parts, exchange_threads, 0, stream, args);
  }
}

void launch_count_step(uint64_t* steps, cudaStream_t stream) { M40_LAUNCH((count_step_kernel), 1, 1, 0, stream, steps); }

}  // namespace m40::cuda
