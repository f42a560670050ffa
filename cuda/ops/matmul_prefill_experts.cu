// Plans products of prompts' rows with the weights of an expert each.
#include "../kernels/group_by_expert.cuh"
#include "matmul_plan.h"
#include "matmul_prefill.h"
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

__global__ void __launch_bounds__(expert_group_warps * 32) group_by_expert_kernel(GroupByExpertArgs args) { group_by_expert(args, launched_block()); }

namespace {

constexpr uint32_t small_tile = 32, large_tile = 64;  // rows

// A group leaves half a tile empty on average. With this many rows a group, the large tile, which shares more of what it
// loads, takes less time all the same; one of 128 rows would from some 440 on, which is more than steps have.
constexpr uint32_t rows_for_large_tiles = 48;

uint64_t padded(uint64_t n_bytes) { return (n_bytes + 255) / 256 * 256; }

// The same as a product whose rows are the slots, for what the planning of products asks.
MatmulArgs as_matmul(const ExpertMatmulArgs& args) {
  MatmulArgs product = {};
  product.input = args.input;
  product.input_stride = args.input_stride;
  product.output = args.output;
  product.output_stride = args.output_stride;
  product.n_rows = args.n_tokens * args.n_used;
  product.columns = args.columns;
  product.n_weights = args.n_weights;
  for (uint32_t i = 0; i < args.n_weights; i++) product.weights[i] = {args.weights[i], nullptr, args.output_column[i]};
  return product;
}

// The weights at these indices, all of one type.
void launch_weights(const MatmulArgs& args, const uint32_t* indices, uint32_t n, const ExpertGroups& groups, bool input_per_slot, cudaStream_t stream) {
  MatmulPrefillExpertArgs expert = {};
  expert.groups = groups;
  expert.input_per_slot = input_per_slot;
  MatmulPrefillArgs& prefill = expert.product;
  prefill.input = args.input;
  prefill.input_stride = args.input_stride;
  prefill.output = args.output;
  prefill.output_stride = args.output_stride;
  prefill.n_tokens = args.n_rows;
  prefill.columns = args.columns;
  prefill.n_weights = n;
  prefill.fours = can_finish_four(args, indices, n);
  for (uint32_t i = 0; i < n; i++) {
    const MatmulWeight& from = args.weights[indices[i]];
    prefill.weights[i] = {from.weight, nullptr, from.output_column, 1, prefill.n_tiles, 0, 0};
    prefill.n_tiles += packed_tiles(from.weight.rows);
  }
  const MatmulPrefillLaunch launch = {groups.tile_rows, can_load_four(args)};
  for_type(args.weights[indices[0]].weight.type, [&](auto t) { launch_prefill_experts<decltype(t)::value>(expert, launch, stream); });
}

}  // namespace

uint64_t prefill_expert_scratch_bytes(uint32_t n_experts, uint64_t max_slots) {
  return padded(max_slots * sizeof(uint32_t)) + expert_tiles(max_slots, n_experts, small_tile) * sizeof(ExpertTile);
}

void launch_prefill_expert_matmul(const ExpertMatmulArgs& args, cudaStream_t stream) {
  const MatmulArgs product = as_matmul(args);
  const uint32_t n_experts = args.weights[0].n_experts, n_slots = product.n_rows;
  const bool large = can_load_four(product) && n_slots / n_experts >= rows_for_large_tiles;
  uint8_t* const memory = static_cast<uint8_t*>(args.scratch.memory);
  ExpertGroups groups = {};
  groups.tile_rows = large ? large_tile : small_tile;
  groups.n_slots = n_slots;
  groups.n_tiles = expert_tiles(n_slots, n_experts, groups.tile_rows);
  groups.n_used = args.n_used;
  groups.slots = reinterpret_cast<uint32_t*>(memory);
  groups.tiles = reinterpret_cast<ExpertTile*>(memory + padded(uint64_t{n_slots} * sizeof(uint32_t)));
  const dim3 blocks((n_experts + expert_group_warps - 1) / expert_group_warps);
  const GroupByExpertArgs grouping = {args.experts, args.experts_stride, n_experts, groups};
  M40_LAUNCH((group_by_expert_kernel), blocks, dim3(expert_group_warps * 32), 0, stream, grouping);
  for_each_type(product, [&](uint32_t, const uint32_t* indices, uint32_t n) { launch_weights(product, indices, n, groups, args.input_per_slot, stream); });
}

}  // namespace m40::cuda
