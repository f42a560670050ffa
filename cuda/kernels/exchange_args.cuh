// The arguments of an all-gather (exchange.cuh).
#ifndef M40_KERNELS_EXCHANGE_ARGS_CUH
#define M40_KERNELS_EXCHANGE_ARGS_CUH

#include "../program/exchange.h"
#include "elementwise_args.cuh"

namespace m40::cuda {

constexpr uint32_t exchange_threads = 256;
// Loads of a thread in flight: a round trip to the host's memory takes a microsecond or two.
constexpr uint32_t exchange_loads = 4;

struct ExchangeArgs {
  const float* input;  // the card's own columns
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  uint32_t n_rows;
  uint32_t n_cards;
  uint32_t card;
  uint32_t bounds[M40_MAX_CARDS + 1];
  bool in_place;
  bool activates;             // what is handed over is what an activation makes of its own input
  ActivationArgs activation;  // its output is ignored
  uint32_t index;         // of the program's exchanges
  uint32_t n_exchanges;   // of a step
  const uint64_t* steps;  // that the program has done since it was given the memory
  uint32_t* fault;        // 0, or why an exchange of the step has been given up: see exchange_given_up
  uint32_t* give_up;      // the first word of the host's memory
  const uint8_t* memory;  // where the others' columns arrive
  uint8_t* targets[M40_MAX_CARDS - 1];  // where its own go: the memory that all share, or the k-th next card's at [k - 1]
  ExchangeLayout layout;

  __device__ uint32_t n_targets() const { return layout.shared ? 1 : n_cards - 1; }
  // The k-th next card, from 1 on.
  __device__ uint32_t next_card(uint32_t k) const { return (card + k) % n_cards; }
};

// Why an exchange has been given up: 1 + the card that did not come, or as the host asked all to:
constexpr uint32_t exchange_given_up = 0xFFFF;

}  // namespace m40::cuda

#endif
