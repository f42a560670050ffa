// Which experts a token goes to, and with what weights: a warp a token.
#ifndef M40_KERNELS_ROUTE_CUH
#define M40_KERNELS_ROUTE_CUH

#include <math.h>
#include <stdint.h>

#include "../include/m40.h"
#include "../runtime/device.h"
#include "block.cuh"

namespace m40::cuda {

constexpr uint32_t route_warps = 4;

// The order of preference. What is not a number counts as the smallest, so that the order is total.
struct ExpertChoice {
  float logit;
  uint32_t expert;  // M40_NONE: no choice yet, after all others
};

__device__ __forceinline__ bool preferred(const ExpertChoice& a, const ExpertChoice& b) {
  if (a.expert == M40_NONE || b.expert == M40_NONE) return a.expert != M40_NONE;
  return a.logit != b.logit ? a.logit > b.logit : a.expert < b.expert;
}

struct RouteKernelArgs {
  const float* input;
  uint32_t input_stride;
  uint32_t* experts;
  uint32_t experts_stride;
  float* weights;
  uint32_t weights_stride;
  uint32_t n_tokens;
  uint32_t n_experts;
  uint32_t n_used;
  bool normalise;
  float scale;
};

// Grid: tokens by route_warps.
__device__ __forceinline__ void route(const RouteKernelArgs& args, BlockIndex block) {
  const uint32_t token = block.x * route_warps + threadIdx.x / 32;
  const uint32_t lane = threadIdx.x % 32;
  if (token >= args.n_tokens) return;
  const float* logits = args.input + uint64_t{token} * args.input_stride;
  uint32_t* experts = args.experts + uint64_t{token} * args.experts_stride;
  float* weights = args.weights + uint64_t{token} * args.weights_stride;

  ExpertChoice previous = {0, M40_NONE};
  float largest = 0;
  float chosen_sum = 0;
  for (uint32_t slot = 0; slot < args.n_used; slot++) {
    ExpertChoice best = {0, M40_NONE};
    for (uint32_t e = lane; e < args.n_experts; e += 32) {
      const float logit = logits[e];
      const ExpertChoice candidate = {logit == logit ? logit : -INFINITY, e};
      if (previous.expert != M40_NONE && !preferred(previous, candidate)) continue;
      if (preferred(candidate, best)) best = candidate;
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
      const ExpertChoice other = {__shfl_xor_sync(~0u, best.logit, offset), __shfl_xor_sync(~0u, best.expert, offset)};
      if (preferred(other, best)) best = other;
    }
    previous = best;
    const float logit = logits[best.expert];
    if (slot == 0) largest = logit;
    const float weight = expf(logit - largest);
    chosen_sum += weight;
    if (lane == 0) {
      experts[slot] = best.expert;
      weights[slot] = weight;
    }
  }
  float sum = 0;
  for (uint32_t e = lane; e < args.n_experts; e += 32) sum += expf(logits[e] - largest);
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  __syncwarp();
  const float factor = args.scale / (args.normalise ? chosen_sum : sum);
  for (uint32_t slot = lane; slot < args.n_used; slot += 32) weights[slot] *= factor;
}

}  // namespace m40::cuda

#endif
