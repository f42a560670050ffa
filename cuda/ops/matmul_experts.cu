// Plans products of rows with the weights of an expert each; those of prompts are matmul_prefill_experts.cu's.
#include "expert_groups.h"
#include "matmul_experts_packed.h"
#include "matmul_launch.cuh"
#include "matmul_plan.h"
#include "matmul_prefill.h"
#include "multiprocessors.h"
#include "packed_types.h"

namespace m40::cuda {

namespace {

// Weights [first, first + n) of one type.
void launch_weights(const ExpertMatmulArgs& args, uint32_t first, uint32_t n, const ExpertGroups& groups, bool whole, cudaStream_t stream) {
  MatmulExpertsArgs expert = {};
  expert.groups = groups;
  expert.experts = args.experts;
  expert.experts_stride = args.experts_stride;
  expert.n_experts = args.n_experts();
  expert.input_per_slot = args.input_per_slot;
  expert.activates = args.activates;
  expert.activation = args.activation;
  expert.alpha = args.alpha;
  expert.limit = args.limit;
  expert.copied = args.copied;
  expert.slot_scale = args.slot_scale;
  expert.slot_scale_stride = args.slot_scale_stride;
  if (args.sum != nullptr) {
    const ExpertSumArgs& sum = *args.sum;
    expert.sum = {sum.weights, sum.weights_stride, sum.residual, sum.residual_stride, sum.output, sum.output_stride, sum.scale};
  }
  MatmulDecodeArgs& decode = expert.decode;
  decode.counters = args.counters;
  decode.input = args.input;
  decode.input_stride = args.input_stride;
  decode.output = args.output;
  decode.output_stride = args.output_stride;
  decode.scale = 1;
  decode.n_tokens = groups.n_slots;
  decode.columns = args.columns;
  decode.n_weights = n;
  uint32_t rows = 0;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t w = first + i;
    decode.weights[i] = {args.weights[w], args.biases[w], args.factors[w], args.output_column[w], 1, 0, 0, 0};
    std::copy(args.shared[w].planes, args.shared[w].planes + 2, expert.shared[i]);
    rows = std::max(rows, args.weights[w].rows);
  }
  const bool aligned = args.columns % 32 == 0 && args.input_stride % 4 == 0 && is_16_aligned(args.input);
  expert.most_tokens = aligned ? expert_tile_rows : 2;
  expert.parts = whole ? 1 : expert_parts;
  // Thread blocks that the sets of rows of a warp take, of one weight or of two.
  const auto row_blocks = [&](uint32_t row_groups) {
    const uint32_t sets = (rows + 32 * row_groups - 1) / (32 * row_groups), at_once = expert_threads / 32 / expert.parts / n;
    return (sets + at_once - 1) / at_once;
  };
  // Two rows a lane where four make fewer than three thread blocks a multiprocessor: walks are short here, and more
  // warps hide more of how they start and end.
  const bool few = uint64_t{groups.n_slots} * row_blocks(4) < 3 * uint64_t{multiprocessors()};
  const uint32_t row_groups = groups.tiles == nullptr && few ? 2 : 4;
  expert.row_blocks = row_blocks(row_groups);
  const uint32_t type = args.weights[first].type;
  if (args.packed && has_packed_pairs(type)) {
    return launch_packed_expert_tiles(expert, type, row_groups, args.scratch, whole ? args.prefill_share : all_places, stream);
  }
  for_type(type, [&](auto t) { launch_experts<decltype(t)::value>(expert, row_groups, stream); });
}

void launch_decode_experts(const ExpertMatmulArgs& args, cudaStream_t stream) {
  ExpertGroups groups = {};
  if (args.n_tokens == 1) {  // no two slots share an expert
    groups.n_slots = args.n_used;
    groups.n_used = args.n_used;
  } else {
    groups = grouped_by_expert(args, expert_tile_rows, 0, stream);
  }
  launch_expert_tiles(args, groups, false, stream);
}

}  // namespace

void launch_expert_tiles(const ExpertMatmulArgs& args, const ExpertGroups& groups, bool whole, cudaStream_t stream) {
  if (args.n_weights == 2 && args.weights[0].type == args.weights[1].type) return launch_weights(args, 0, 2, groups, whole, stream);
  for (uint32_t i = 0; i < args.n_weights; i++) launch_weights(args, i, 1, groups, whole, stream);
}

bool expert_matmul_activates(const ExpertMatmulArgs& args) {
  return !args.prefill && args.n_weights == 2 && args.weights[0].type == args.weights[1].type && args.weights[0].rows == args.weights[1].rows;
}

bool expert_matmul_sums(const ExpertMatmulArgs& args) {
  // A counter for each token and set of rows, of 128 at least.
  return !args.prefill && args.n_weights == 1 && uint64_t{args.n_tokens} * packed_tiles(args.weights[0].rows) <= scratch_counters;
}

void launch_expert_matmul(const ExpertMatmulArgs& args, cudaStream_t stream) {
  if (args.n_tokens == 0) return;
  if (!args.prefill) return launch_decode_experts(args, stream);
  const auto is_packed = [&](const PackedWeight& w) { return args.packed && has_packed_pairs(w.type); };
  if (std::none_of(args.weights, args.weights + args.n_weights, is_packed)) return launch_prefill_expert_matmul(args, stream);
  if (std::all_of(args.weights, args.weights + args.n_weights, is_packed)) {
    return launch_expert_tiles(args, grouped_by_expert(args, expert_tile_rows, 0, stream), true, stream);
  }
  for (uint32_t i = 0; i < args.n_weights; i++) {
    ExpertMatmulArgs one = args;
    one.n_weights = 1;
    one.weights[0] = args.weights[i], one.shared[0] = args.shared[i];
    one.biases[0] = args.biases[i], one.factors[0] = args.factors[i], one.output_column[0] = args.output_column[i];
    launch_expert_matmul(one, stream);
  }
}

}  // namespace m40::cuda
