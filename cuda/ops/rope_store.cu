#include "../kernels/rope.cuh"

#include <math.h>

#include "../common/error.h"
#include "launch_list.h"
#include "../common/sizes.h"
#include "cache_layer.h"
#include "ops.h"
#include "rope_parameters.h"

namespace m40::cuda {

uint64_t place_cache(const m40_cache_desc& cache, uint64_t* offsets) {
  return place_cache_layers(cache, offsets, [&](uint32_t layer) {
    const auto region = [&](uint32_t dim) { return cache_region_bytes(cache.type, cache.n_kv_heads[layer], dim, cache.kv_block_tokens); };
    return region(cache.head_dim[layer]) + (cache.value_dim[layer] == 0 ? 0 : region(cache.value_dim[layer]));
  });
}

void check_rope_store(const m40_op_rope_store& op) {
  constexpr uint64_t most_floats = 48 * 1024 / sizeof(float);  // of a block's shared memory
  const uint64_t rotated = op.rope == M40_ROPE_NONE ? 0 : op.rope_dim, head = op.head_dim > op.value_dim ? op.head_dim : op.value_dim;
  if (rotated + rope_warps * head <= most_floats) return;
  fail(M40_UNSUPPORTED, "rope_store with heads of %llu values: this library has kernels up to %llu", static_cast<unsigned long long>(head),
       static_cast<unsigned long long>(most_floats / (rope_warps + 1)));
}

void rope_turns(const double* angles, uint32_t n_pairs, uint64_t* turns) {
  for (uint32_t i = 0; i < n_pairs; i++) {
    const double share = angles[i] / (2 * M_PI);
    const double fraction = share - floor(share);  // [0, 1]: 1 where rounding makes it so
    turns[i] = fraction < 1 ? static_cast<uint64_t>(ldexp(fraction, 64)) : 0;
  }
}

RopeParameters rope_parameters(const RopeStoreArgs& args) {
  const bool rotates = args.op.rope != M40_ROPE_NONE;
  return {args.turns, args.q_norm, args.k_norm, args.op.rope, rotates ? args.op.rope_dim : 0, args.op.head_dim, args.op.norm_epsilon, args.op.attention_factor};
}

void launch_rope_store(const RopeStoreArgs& args, const StepView& step, const CacheView& cache, cudaStream_t stream) {
  RopeKernelArgs kernel = {};
  kernel.rope = rope_parameters(args);
  kernel.cache = cache_layer(cache, args.op.layer);
  kernel.q = args.q;
  kernel.q_stride = args.q_stride;
  kernel.kv = args.kv;
  kernel.kv_stride = args.kv_stride;
  kernel.k_column = args.op.k_column;
  kernel.v_column = args.op.v_column;
  kernel.n_heads = args.op.n_heads;
  kernel.n_kv_heads = args.kv == nullptr ? 0 : args.op.n_kv_heads;
  kernel.rope_offset = args.op.rope_offset;
  kernel.head_norm = args.op.head_norm;
  kernel.v_norm = args.op.v_norm != 0;
  kernel.temperature_scale = args.op.temperature_scale;
  kernel.temperature_length = args.op.temperature_length;
  kernel.temperature_offset = args.op.temperature_offset;
  kernel.positions = step.positions;
  kernel.sequences = step.sequences;
  const LayerKvBlocks kv_blocks = layer_kv_blocks(cache, step, args.op.layer);
  kernel.kv_block_table = kv_blocks.table;
  kernel.kv_block_stride = kv_blocks.stride;
  const dim3 grid(step.n_tokens, (rope_heads(kernel) + rope_warps - 1) / rope_warps);
  const uint32_t shared_bytes = rope_shared_floats(kernel) * sizeof(float);
  const BodyKey key = body_key(Body::kRopeStore, cache.desc->type, cache.desc->type);
  switch (cache.desc->type) {
    case M40_TYPE_F16: M40_LAUNCH_BODY(key, (rope_to_cache_kernel<M40_TYPE_F16>), grid, rope_warps * 32, shared_bytes, stream, kernel); break;
    case M40_TYPE_F32: M40_LAUNCH_BODY(key, (rope_to_cache_kernel<M40_TYPE_F32>), grid, rope_warps * 32, shared_bytes, stream, kernel); break;
    default: M40_LAUNCH_BODY(key, (rope_to_cache_kernel<M40_TYPE_Q8_0>), grid, rope_warps * 32, shared_bytes, stream, kernel); break;
  }
}

}  // namespace m40::cuda
