// Plans products with experts with packed pairs: as many tiles at a time as scratch has room for.
#include "matmul_experts_packed.h"

#include <algorithm>

#include "matmul_packed_launch.cuh"
#include "packed_types.h"

namespace m40::cuda {

namespace {

constexpr uint64_t most_floats = uint64_t{8} << 20;  // of scratch memory that pairs may take

// Of a tile, with the most sums that a type has.
uint64_t tile_floats(uint32_t columns, uint32_t tile_slots) {
  return uint64_t{packed_blocks(columns)} * PackedLayoutOf(static_cast<int>(tile_slots), 2).floats;
}

uint32_t tiles_at_a_time(uint32_t columns, uint32_t tile_slots) {
  return static_cast<uint32_t>(std::max<uint64_t>(1, most_floats / tile_floats(columns, tile_slots)));
}

}  // namespace

uint64_t expert_matmul_scratch_bytes(uint32_t n_experts, uint32_t n_used, uint32_t columns, uint64_t max_tokens, bool packed) {
  if (!packed) return 0;
  const uint64_t tiles = std::min<uint64_t>(expert_tiles(max_tokens * n_used, n_experts, expert_tile_rows), tiles_at_a_time(columns, expert_tile_rows));
  return std::max(tiles * tile_floats(columns, expert_tile_rows), n_used * tile_floats(columns, 1)) * sizeof(float);
}

void launch_packed_expert_tiles(const MatmulExpertsArgs& args, uint32_t type, uint32_t row_groups, void* scratch, uint32_t share, cudaStream_t stream) {
  const bool alone = args.groups.tiles == nullptr;
  MatmulExpertsPackedArgs packed = {args, static_cast<float*>(scratch), 0, alone ? 1 : expert_tile_rows, 0};
  const uint32_t n_tiles = alone ? args.groups.n_slots : args.groups.n_tiles, most = alone ? n_tiles : tiles_at_a_time(args.decode.columns, expert_tile_rows);
  for (uint32_t first = 0; first < n_tiles; first += most) {
    packed.n_tiles = std::min(most, n_tiles - first);
    if (!alone) packed.experts.groups.tiles = args.groups.tiles + first;
    for_packed_type(type, [&](auto t) { launch_experts_packed<decltype(t)::value>(packed, row_groups, share, stream); });
  }
}

}  // namespace m40::cuda
