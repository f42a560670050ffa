// Which experts a token goes to, and with what weights: a warp a token.
#ifndef M40_KERNELS_ROUTE_CUH
#define M40_KERNELS_ROUTE_CUH

#include <math.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../runtime/device.h"
#include "block.cuh"
#include "reduce.cuh"

namespace m40::cuda {

constexpr uint32_t route_warps = 4;
constexpr uint32_t route_most_groups = 32;  // a lane each
constexpr int route_held = 8;               // experts of a lane whose keys are kept in registers

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

// An expert or a group of them, and what it is chosen by.
struct RouteChoice {
  float key;
  uint32_t index;  // M40_NONE: no choice, after all others
};

// The order of preference. What is not a number counts as the smallest, so that the order is total.
__device__ __forceinline__ RouteChoice route_choice(float key, uint32_t index) { return {key == key ? key : -INFINITY, index}; }

__device__ __forceinline__ bool preferred(const RouteChoice& a, const RouteChoice& b) {
  if (a.index == M40_NONE || b.index == M40_NONE) return a.index != M40_NONE;
  return a.key != b.key ? a.key > b.key : a.index < b.index;
}

__device__ __forceinline__ RouteChoice warp_preferred(RouteChoice best) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const RouteChoice other = {__shfl_xor_sync(~0u, best.key, offset), __shfl_xor_sync(~0u, best.index, offset)};
    if (preferred(other, best)) best = other;
  }
  return best;
}

__device__ __forceinline__ float route_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// The groups whose experts may be chosen, a bit each: those with the largest sums of their two largest keys.
template <class Key>
__device__ __forceinline__ uint32_t route_groups(const RouteKernelArgs& args, const Key& key_of) {
  const uint32_t lane = threadIdx.x % 32, size = args.n_experts / args.n_groups;
  RouteChoice mine = {0, M40_NONE};
  if (lane < args.n_groups) {
    float first = -INFINITY, second = -INFINITY;
    for (uint32_t i = 0; i < size; i++) {
      const float key = route_choice(key_of(lane * size + i), 0).key;
      second = fmaxf(second, fminf(first, key));
      first = fmaxf(first, key);
    }
    mine = route_choice(size == 1 ? first : first + second, lane);
  }
  uint32_t groups = 0;
  for (uint32_t i = 0; i < args.n_groups_used; i++) {
    const uint32_t best = warp_preferred(mine).index;
    groups |= 1u << best;
    if (lane == best) mine.index = M40_NONE;
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
    if (args.n_groups > 1 && (groups >> e / (args.n_experts / args.n_groups) & 1) == 0) return RouteChoice{0, M40_NONE};
    return route_choice(key_of(e, x), e);
  };
  RouteChoice held[kHeld == 0 ? 1 : kHeld];
#pragma unroll
  for (int i = 0; i < kHeld; i++) held[i] = {0, M40_NONE};
  if (kHeld != 0) for_each_expert([&](uint32_t e, int i, float x) { held[i] = candidate(e, x); });
  RouteChoice previous = {0, M40_NONE};
  uint32_t mine = 0;  // what number `lane` of the choices is
  for (uint32_t slot = 0; slot < args.n_used; slot++) {
    RouteChoice best = {0, M40_NONE};
    for_each_expert([&](uint32_t e, int i, float x) {
      const RouteChoice choice = kHeld != 0 ? held[i] : candidate(e, x);
      if (previous.index != M40_NONE && !preferred(previous, choice)) return;
      if (preferred(choice, best)) best = choice;
    });
    previous = warp_preferred(best);
    if (lane == 0) experts[slot] = previous.index;
    if (lane == slot) mine = previous.index;
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
