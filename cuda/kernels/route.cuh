// Which experts a token goes to, and with what weights: a warp a token.
#ifndef M40_KERNELS_ROUTE_CUH
#define M40_KERNELS_ROUTE_CUH

#include <math.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../gpu/device.h"
#include "block.cuh"
#include "intrinsics.cuh"
#include "reduce.cuh"

namespace m40::cuda {

constexpr uint32_t route_warps = 4;
constexpr uint32_t route_most_groups = 32;  // a lane each
constexpr int route_held = 8;               // experts of a lane with their keys in registers

struct RouteKernelArgs {
  const float* input;
  uint32_t input_stride;
  uint32_t* experts;
  uint32_t experts_stride;
  float* weights;
  uint32_t weights_stride;
  const float* bias;  // or nullptr
  uint32_t n_tokens;
  uint32_t n_experts, n_used, n_shared, n_groups, n_groups_used;
  uint32_t score;
  bool normalise;
  float scale, least_sum;
};

// What is not a number counts as the smallest, so that the order of choices is total.
__device__ __forceinline__ float route_key(float key) { return key == key ? key : -INFINITY; }

// An expert or a group of them, and what it is chosen by: the larger number is preferred. That is the larger key, then
// the smaller index. (A float's bits are in the order of floats where those of negative ones are turned around.)
__device__ __forceinline__ uint64_t route_choice(float key, uint32_t index) {
  key = route_key(key);
  const uint32_t bits = key == 0 ? 0 : float_to_bits(key);  // both zeros are equal
  return uint64_t{bits >> 31 != 0 ? ~bits : bits | 0x80000000u} << 32 | ~index;
}

constexpr uint64_t route_no_choice = 0;  // after all others
static_assert(M40_NONE == ~0u, "what the index of no choice is");

__device__ __forceinline__ uint32_t chosen_index(uint64_t choice) { return ~static_cast<uint32_t>(choice); }

__device__ __forceinline__ uint64_t warp_preferred(uint64_t best) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const uint64_t other = __shfl_xor_sync(~0u, best, offset);
    if (other > best) best = other;
  }
  return best;
}

// Sorts from the most preferred on: Batcher's odd-even merge sort, which compares the same places for every input.
template <int kChoices>
__device__ __forceinline__ void sort_choices(uint64_t (&choices)[kChoices]) {
#pragma unroll
  for (int sorted = 1; sorted < kChoices; sorted *= 2) {
#pragma unroll
    for (int apart = sorted; apart > 0; apart /= 2) {
#pragma unroll
      for (int i = apart % sorted; i + apart < kChoices; i++) {
        const bool compared = (i - apart % sorted) / apart % 2 == 0 && i / (2 * sorted) == (i + apart) / (2 * sorted);
        if (!compared || choices[i] >= choices[i + apart]) continue;
        const uint64_t less = choices[i];
        choices[i] = choices[i + apart];
        choices[i + apart] = less;
      }
    }
  }
}

__device__ __forceinline__ float route_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// The groups with experts that may be chosen, a bit each: those with the largest sums of their two largest keys.
template <class Key>
__device__ __forceinline__ uint32_t route_groups(const RouteKernelArgs& args, const Key& key_of) {
  const uint32_t lane = threadIdx.x % 32, size = args.n_experts / args.n_groups;
  uint64_t mine = route_no_choice;
  if (lane < args.n_groups) {
    float first = -INFINITY, second = -INFINITY;
    for (uint32_t i = 0; i < size; i++) {
      const float key = route_key(key_of(lane * size + i));
      second = fmaxf(second, fminf(first, key));
      first = fmaxf(first, key);
    }
    mine = route_choice(size == 1 ? first : first + second, lane);
  }
  uint32_t groups = 0;
  for (uint32_t i = 0; i < args.n_groups_used; i++) {
    const uint32_t best = chosen_index(warp_preferred(mine));
    groups |= 1u << best;
    if (lane == best) mine = route_no_choice;
  }
  return groups;
}

// Grid: tokens by route_warps. kHeld: route_held, where there are no more than 32 times as many experts, or 0.
template <int kHeld>
__device__ __forceinline__ void route(const RouteKernelArgs& args, BlockIndex block) {
  const uint32_t token = block.x * route_warps + threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  if (token >= args.n_tokens) return;
  const float* const logits = args.input + uint64_t{token} * args.input_stride;
  uint32_t* const experts = args.experts + uint64_t{token} * args.experts_stride;
  float* const weights = args.weights + uint64_t{token} * args.weights_stride;

  float logit[kHeld == 0 ? 1 : kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; i++) logit[i] = lane + 32 * i < args.n_experts ? logits[lane + 32 * i] : -INFINITY;
  // Calls f with each of the lane's experts, its number among them and its logit.
  const auto for_each_expert = [&](const auto& f) {
    if constexpr (kHeld != 0) {
#pragma unroll
      for (int i = 0; i < kHeld; i++) {
        if (lane + 32 * i < args.n_experts) f(lane + 32 * i, i, logit[i]);
      }
    } else {
      for (uint32_t e = lane; e < args.n_experts; e += 32) f(e, 0, logits[e]);
    }
  };

  float largest = -INFINITY, share = 1;  // softmax: share * exp(logit - largest); over all experts, here
  if (args.score == M40_SCORE_SOFTMAX) {
    for_each_expert([&](uint32_t, int, float x) { largest = fmaxf(largest, x); });
    largest = warp_max(largest);
    float sum = 0;
    for_each_expert([&](uint32_t, int, float x) { sum += expf(x - largest); });
    share = 1.0f / warp_sum(sum);
  }

  // What experts are chosen by.
  const auto key_of = [&](uint32_t e, float x) {
    if (args.score == M40_SCORE_SIGMOID) x = route_sigmoid(x);
    if (args.bias == nullptr) return x;  // of a softmax without a bias, the logits: their order is the same
    if (args.score == M40_SCORE_SOFTMAX) x = expf(x - largest) * share;
    return x + __ldg(args.bias + e);
  };
  const uint32_t groups = args.n_groups > 1 ? route_groups(args, [&](uint32_t e) { return key_of(e, logits[e]); }) : 0;
  const auto candidate = [&](uint32_t e, float x) {
    if (args.n_groups > 1 && (groups >> e / (args.n_experts / args.n_groups) & 1) == 0) return route_no_choice;
    return route_choice(key_of(e, x), e);
  };
  // The lane's candidates, the best first: what is chosen is taken off.
  uint64_t held[kHeld == 0 ? 1 : kHeld];
  if constexpr (kHeld != 0) {
#pragma unroll
    for (int i = 0; i < kHeld; i++) held[i] = route_no_choice;
    for_each_expert([&](uint32_t e, int i, float x) { held[i] = candidate(e, x); });
    sort_choices(held);
  }
  uint64_t previous = ~uint64_t{0};
  uint32_t mine = 0;  // what number `lane` of the choices is
  for (uint32_t slot = 0; slot < args.n_used; slot++) {
    uint64_t best = route_no_choice;
    if constexpr (kHeld != 0) {
      best = held[0];
    } else {
      for_each_expert([&](uint32_t e, int, float x) {
        const uint64_t choice = candidate(e, x);
        if (choice < previous && choice > best) best = choice;
      });
    }
    previous = warp_preferred(best);
    if (kHeld != 0 && best == previous) {
#pragma unroll
      for (int i = 0; i + 1 < kHeld; i++) held[i] = held[i + 1];
      held[kHeld == 0 ? 0 : kHeld - 1] = route_no_choice;
    }
    if (lane == 0) experts[slot] = chosen_index(previous);
    if (lane == slot) mine = chosen_index(previous);
  }
  __syncwarp();

  const auto logit_of = [&](uint32_t slot) { return logits[slot < 32 ? mine : experts[slot]]; };
  if (args.score == M40_SCORE_SOFTMAX_CHOSEN) {
    for (uint32_t slot = lane; slot < args.n_used; slot += 32) largest = fmaxf(largest, logit_of(slot));
    largest = warp_max(largest);
  }
  float chosen = 0;
  for (uint32_t slot = lane; slot < args.n_used; slot += 32) {
    const float x = logit_of(slot), weight = args.score == M40_SCORE_SIGMOID ? route_sigmoid(x) : expf(x - largest);
    weights[slot] = weight;
    chosen += weight;
  }
  chosen = warp_sum(chosen);
  if (args.score == M40_SCORE_SOFTMAX_CHOSEN) share = 1.0f / chosen;
  if (args.normalise) {
    const float total = chosen * share;
    share /= total < args.least_sum ? args.least_sum : total;
  }
  for (uint32_t slot = lane; slot < args.n_used; slot += 32) weights[slot] *= share * args.scale;
  if (lane < args.n_shared) {
    experts[args.n_used + lane] = args.n_experts;
    weights[args.n_used + lane] = 1;
  }
}

}  // namespace m40::cuda

#endif
