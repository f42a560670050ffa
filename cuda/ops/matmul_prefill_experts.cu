// Plans products of prompts' rows with the weights of an expert each.
#include "expert_groups.h"
#include "matmul_plan.h"
#include "matmul_prefill.h"
#include "matmul_prefill_launch.cuh"

namespace m40::cuda {

namespace {

constexpr uint32_t small_tile = 32, large_tile = 64;  // rows

// From this many rows a group on, the large tile, which shares more of what it loads, takes less time although it is
// emptier; one of 128 rows would from some 440 on, which is more than steps have.
constexpr uint32_t rows_for_large_tiles = 48;

// The same as a product with the slots as its rows, for the planning of products.
MatmulArgs as_matmul(const ExpertMatmulArgs& args) {
  MatmulArgs product = {};
  product.input = args.input;
  product.input_stride = args.input_stride;
  product.output = args.output;
  product.output_stride = args.output_stride;
  product.n_rows = args.n_tokens * args.n_used;
  product.columns = args.columns;
  product.n_weights = args.n_weights;
  for (uint32_t i = 0; i < args.n_weights; i++) product.weights[i] = {args.weights[i], args.biases[i], args.output_column[i], args.factors[i]};
  return product;
}

// The weights at these indices, all of one type.
void launch_weights(const ExpertMatmulArgs& experts, const MatmulArgs& args, const uint32_t* indices, uint32_t n, const ExpertGroups& groups, cudaStream_t stream) {
  MatmulPrefillExpertArgs expert = {};
  expert.groups = groups;
  expert.input_per_slot = experts.input_per_slot;
  expert.slot_scale = experts.slot_scale;
  expert.slot_scale_stride = experts.slot_scale_stride;
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
    prefill.weights[i] = {from.weight, from.bias, from.factor, from.output_column, 1, prefill.n_tiles, 0, 0};
    prefill.n_tiles += packed_tiles(from.weight.rows);
    const PackedWeight& shared = experts.shared[indices[i]];
    std::copy(shared.planes, shared.planes + 2, expert.shared[i]);
  }
  const MatmulPrefillLaunch launch = {groups.tile_rows, experts.prefill_share, can_load_four(args)};
  for_type(args.weights[indices[0]].weight.type, [&](auto t) { launch_prefill_experts<decltype(t)::value>(expert, launch, stream); });
}

}  // namespace

void launch_prefill_expert_matmul(const ExpertMatmulArgs& args, cudaStream_t stream) {
  const MatmulArgs product = as_matmul(args);
  const uint32_t n_experts = args.n_experts(), n_slots = product.n_rows;
  const bool large = can_load_four(product) && n_slots / n_experts >= rows_for_large_tiles;
  // The rows that whole tiles leave of a group are multiplied as decode rows, eight at a time, where they are half a
  // tile or less.
  const bool rests_too = std::all_of(args.weights, args.weights + args.n_weights, [](const PackedWeight& w) { return multiplies_rests(w.type); });
  const uint32_t tile_rows = large ? large_tile : small_tile, rest_rows = rests_too ? tile_rows / 2 : 0;
  const ExpertGroups groups = grouped_by_expert(args, tile_rows, rest_rows, stream);
  if (n_slots > rest_rows) {  // else there are rests alone
    for_each_type(product, [&](uint32_t, const uint32_t* indices, uint32_t n) { launch_weights(args, product, indices, n, groups, stream); });
  }
  if (!rests_too) return;
  ExpertGroups rests = groups;
  rests.tiles = groups.rests;
  rests.n_tiles = groups.n_rests;
  launch_expert_tiles(args, rests, true, stream);
}

}  // namespace m40::cuda
