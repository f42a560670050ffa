// Products of a prompt's rows with the weights of an expert each: the tiles of matmul_prefill.cuh, with their rows
// gathered from a group of expert_groups.cuh at load and scattered at store.
//
// There is no split-K: experts give enough thread blocks. So a row is summed from its first column to its last, in
// every group and tile.
#ifndef M40_KERNELS_MATMUL_PREFILL_EXPERTS_CUH
#define M40_KERNELS_MATMUL_PREFILL_EXPERTS_CUH

#include "expert_groups.cuh"
#include "matmul_prefill.cuh"

namespace m40::cuda {

struct MatmulPrefillExpertArgs {
  MatmulPrefillArgs product;  // its tokens are slots
  ExpertGroups groups;
  const void* shared[3][2];  // of each weight, the planes of the shared expert's, or nullptr
  bool input_per_slot;     // the input has a row a slot; else a row a token
  const float* slot_scale;  // [tokens, slot_scale_stride], a token's n_used: what rows are multiplied by, or nullptr
  uint32_t slot_scale_stride;
};

// The slots of a group's tile; their numbers are places in the list of slots.
struct PrefillSlots {
  static constexpr bool kSplits = false;
  static constexpr bool kResidual = false;
  uint32_t first, end;
  const uint32_t* slots;
  uint32_t slots_a_row;  // of the input
  const float* slot_scale;
  uint32_t slot_scale_stride, n_used;

  __device__ __forceinline__ uint32_t input_row(uint32_t place) const { return __ldg(slots + place) / slots_a_row; }
  __device__ __forceinline__ uint32_t output_row(uint32_t place) const { return __ldg(slots + place); }
  __device__ __forceinline__ float scale(uint32_t place) const {
    if (slot_scale == nullptr) return 1.0f;
    const uint32_t slot = __ldg(slots + place);
    return slot_scale[size_t{slot / n_used} * slot_scale_stride + slot % n_used];
  }
};

// Grid: tiles, as prefill_tile_of() numbers them.
template <uint32_t kType, int kTokens, bool kAligned>
__device__ __forceinline__ void matmul_prefill_experts(const MatmulPrefillExpertArgs& args, BlockIndex block, MatmulPrefillShared<kType, kTokens, kAligned>& shared) {
  const PrefillTile tile = prefill_tile_of(args.product, block.x, args.groups.n_tiles);
  const ExpertTile rows = args.groups.tiles[tile.token_tile];
  if (rows.first == rows.end) return;
  PrefillWeight weight = args.product.weights[tile.which];
  weight.weight = packed_expert(weight.weight, args.shared[tile.which], rows.expert);
  if (weight.bias != nullptr) weight.bias += size_t{rows.expert} * weight.weight.rows;
  if (weight.factor != nullptr) weight.factor += rows.expert;
  const PrefillSlots slots = {rows.first,      rows.end, args.groups.slots, args.input_per_slot ? 1 : args.groups.n_used, args.slot_scale, args.slot_scale_stride,
                              args.groups.n_used};
  prefill_product<kType, kTokens, kAligned>(args.product, tile, weight, slots, shared);
}

template <uint32_t kType, int kTokens, bool kAligned>
__global__ __launch_bounds__(prefill_threads, prefill_residency(kTokens)) void matmul_prefill_experts_kernel(MatmulPrefillExpertArgs args) {
  __shared__ MatmulPrefillShared<kType, kTokens, kAligned> shared;
  __shared__ uint32_t at;
  walk_blocks(args.product.n_blocks, at, [&](uint32_t block) { matmul_prefill_experts<kType, kTokens, kAligned>(args, {block, 0, 0}, shared); });
}

}  // namespace m40::cuda

#endif
