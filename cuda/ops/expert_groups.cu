#include "expert_groups.h"

#include "../kernels/group_by_expert.cuh"

namespace m40::cuda {

__global__ void __launch_bounds__(expert_group_warps * 32) group_by_expert_kernel(GroupByExpertArgs args) {
  __shared__ GroupByExpertShared shared;
  group_by_expert(args, launched_block(), shared);
}

namespace {

constexpr uint32_t least_tile = 8;  // rows
constexpr uint32_t most_sorted_slots = 4096;

uint64_t padded(uint64_t n_bytes) { return (n_bytes + 255) / 256 * 256; }

}  // namespace

uint64_t expert_groups_bytes(uint32_t n_experts, uint64_t max_rows) {
  const uint64_t n_tiles = expert_tiles(max_rows, n_experts, least_tile) + expert_rests(max_rows, n_experts);
  return padded(max_rows * sizeof(uint32_t)) + padded(n_tiles * sizeof(ExpertTile));
}

ExpertGroups grouped_by_expert(const ExpertMatmulArgs& args, uint32_t tile_rows, uint32_t rest_rows, cudaStream_t stream) {
  const uint32_t n_slots = args.n_tokens * args.n_used, n_experts = args.n_experts();
  ExpertGrouping& made = *args.grouping;
  ExpertGroups groups = {};
  groups.tile_rows = tile_rows;
  groups.rest_rows = rest_rows;
  groups.n_slots = n_slots;
  groups.n_tiles = expert_tiles(n_slots, n_experts, tile_rows);
  groups.n_rests = rest_rows == 0 ? 0 : expert_rests(n_slots, n_experts);
  groups.n_used = args.n_used;
  // Of many slots each thread block would count all.
  groups.by_size = rest_rows == 0 && n_experts <= most_sorted_experts && n_slots <= most_sorted_slots;
  groups.slots = static_cast<uint32_t*>(made.memory);
  groups.tiles = reinterpret_cast<ExpertTile*>(static_cast<uint8_t*>(made.memory) + padded(uint64_t{n_slots} * sizeof(uint32_t)));
  groups.rests = groups.tiles + groups.n_tiles;
  if (made.experts == args.experts && made.n_tokens == args.n_tokens && made.n_experts == n_experts && made.tile_rows == tile_rows && made.rest_rows == rest_rows) {
    return groups;
  }
  made.experts = args.experts;
  made.n_tokens = args.n_tokens;
  made.n_experts = n_experts;
  made.tile_rows = tile_rows;
  made.rest_rows = rest_rows;
  const GroupByExpertArgs grouping = {args.experts, args.experts_stride, n_experts, groups};
  M40_LAUNCH((group_by_expert_kernel), dim3((n_experts + expert_group_warps - 1) / expert_group_warps), dim3(expert_group_warps * 32), 0, stream, grouping);
  return groups;
}

}  // namespace m40::cuda
