// Products of a prompt's rows with the weights of an expert each: the tiles of matmul_prefill.cuh, whose rows are
// gathered from a group of expert_groups.cuh on the way in and scattered on the way out.
//
// Columns are not split: experts make thread blocks enough. So a row is summed from its first column to its last,
// whatever group and tile it is in.
#ifndef M40_KERNELS_MATMUL_PREFILL_EXPERTS_CUH
#define M40_KERNELS_MATMUL_PREFILL_EXPERTS_CUH

#include "expert_groups.cuh"
#include "matmul_prefill.cuh"

namespace m40::cuda {

struct MatmulPrefillExpertArgs {
  MatmulPrefillArgs product;  // its tokens are slots
  ExpertGroups groups;
  bool input_per_slot;  // the input has a row a slot; else a row a token
};

// The slots of a group's tile; their numbers are places in the list of slots.
struct PrefillSlots {
  static constexpr bool kSplits = false;
  static constexpr bool kAdds = false;
  uint32_t first, end;
  const uint32_t* slots;
  uint32_t slots_a_row;  // of the input

  __device__ __forceinline__ uint32_t input_row(uint32_t place) const { return __ldg(slots + place) / slots_a_row; }
  __device__ __forceinline__ uint32_t output_row(uint32_t place) const { return __ldg(slots + place); }
};

// Grid: tiles, as prefill_tile_of() numbers them.
template <uint32_t kType, int kTokens, bool kAligned>
__device__ __forceinline__ void matmul_prefill_experts(const MatmulPrefillExpertArgs& args, BlockIndex block, MatmulPrefillShared<kTokens, kAligned>& shared) {
  const PrefillTile tile = prefill_tile_of(args.product, block.x, args.groups.n_tiles);
  const ExpertTile rows = args.groups.tiles[tile.token_tile];
  if (rows.first == rows.end) return;
  const PackedWeight weight = packed_expert(args.product.weights[tile.which].weight, rows.expert);
  const PrefillSlots slots = {rows.first, rows.end, args.groups.slots, args.input_per_slot ? 1 : args.groups.n_used};
  prefill_product<kType, kTokens, kAligned>(args.product, tile, weight, slots, shared);
}

template <uint32_t kType, int kTokens, bool kAligned>
__global__ __launch_bounds__(prefill_threads, prefill_residency(kTokens)) void matmul_prefill_experts_kernel(MatmulPrefillExpertArgs args) {
  __shared__ MatmulPrefillShared<kTokens, kAligned> shared;
  matmul_prefill_experts<kType, kTokens, kAligned>(args, launched_block(), shared);
}

}  // namespace m40::cuda

#endif
