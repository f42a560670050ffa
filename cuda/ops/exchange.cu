#include "exchange.h"

#include <algorithm>

#include "matmul_plan.h"

namespace m40::cuda {

template <class V>
__global__ void __launch_bounds__(exchange_threads) exchange_kernel(ExchangeArgs args) {
  __shared__ ExchangeShared shared;
  exchange<V>(args, blockIdx.x, gridDim.x, shared);
}

__global__ void count_step_kernel(uint64_t* steps) { *steps = *steps + 1; }

namespace {

// Whether all columns and rows begin where four of them can be loaded at once.
bool has_fours(const ExchangeArgs& args) {
  return std::all_of(args.bounds, args.bounds + args.n_cards + 1, [](uint32_t bound) { return bound % 4 == 0; }) && args.input_stride % 4 == 0 &&
         args.output_stride % 4 == 0 && is_16_aligned(args.input) && is_16_aligned(args.output);
}

}  // namespace

void launch_exchange(const ExchangeArgs& args, cudaStream_t stream) {
  // As many on all cards: by the card that has most, whatever the device.
  uint64_t most = 0;
  for (uint32_t card = 0; card < args.n_cards; card++) most = std::max<uint64_t>(most, args.bounds[card + 1] - args.bounds[card]);
  const uint64_t wanted = (most * args.n_rows + 4 * exchange_threads - 1) / (4 * exchange_threads);
  // Where there are no rows the cards meet all the same: the exchange before this one is over then.
  const uint32_t parts = static_cast<uint32_t>(std::clamp<uint64_t>(wanted, 1, exchange_parts));
  if (has_fours(args)) {
    M40_LAUNCH((exchange_kernel<float4>), parts, exchange_threads, 0, stream, args);
  } else {
    M40_LAUNCH((exchange_kernel<float>), parts, exchange_threads, 0, stream, args);
  }
}

void launch_count_step(uint64_t* steps, cudaStream_t stream) { M40_LAUNCH((count_step_kernel), 1, 1, 0, stream, steps); }

}  // namespace m40::cuda
