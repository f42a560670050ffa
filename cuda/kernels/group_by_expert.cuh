// Makes the groups of expert_groups.cuh: a warp an expert. No place depends on which warp comes first, so the groups
// are the same each time.
#ifndef M40_KERNELS_GROUP_BY_EXPERT_CUH
#define M40_KERNELS_GROUP_BY_EXPERT_CUH

#include <stddef.h>

#include "block.cuh"
#include "expert_groups.cuh"

namespace m40::cuda {

constexpr uint32_t expert_group_warps = 4;
constexpr uint32_t most_sorted_experts = 1024;

struct GroupByExpertShared {
  uint32_t counts[most_sorted_experts];  // slots of each expert
};

__device__ __forceinline__ uint32_t warp_total(uint32_t value) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

struct GroupByExpertArgs {
  const uint32_t* experts;
  uint32_t experts_stride;
  uint32_t n_experts;
  ExpertGroups groups;
};

// The groups of experts with higher numbers come first. So a warp counts its expert's slots and those of all higher
// experts, and then gathers its own. Experts that do not exist are in no group. Grid: experts by expert_group_warps.
__device__ __forceinline__ void group_by_expert(const GroupByExpertArgs& args, BlockIndex block, GroupByExpertShared& shared) {
  const ExpertGroups& groups = args.groups;
  const uint32_t rank = block.x * expert_group_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (groups.by_size) {
    constexpr uint32_t kThreads = expert_group_warps * 32;
    for (uint32_t i = threadIdx.x; i < args.n_experts; i += kThreads) shared.counts[i] = 0;
    __syncthreads();
    for (uint32_t slot = threadIdx.x; slot < groups.n_slots; slot += kThreads) {
      const uint32_t chosen = __ldg(args.experts + size_t{slot / groups.n_used} * args.experts_stride + slot % groups.n_used);
      if (chosen < args.n_experts) atomicAdd(&shared.counts[chosen], 1u);
    }
    __syncthreads();
  }
  if (rank >= args.n_experts) return;
  const uint32_t expert = args.n_experts - 1 - rank;
  // Calls f with each slot and the expert chosen there, 32 lanes at a time: past the last slot, with none that exists.
  const auto for_each_slot = [&](const auto& f) {
    uint32_t token = lane / groups.n_used, choice = lane % groups.n_used;
    const uint32_t tokens = 32 / groups.n_used, choices = 32 % groups.n_used;
#pragma unroll 4
    for (uint32_t slot = lane; slot - lane < groups.n_slots; slot += 32) {
      f(slot, slot < groups.n_slots ? __ldg(args.experts + size_t{token} * args.experts_stride + choice) : UINT32_MAX);
      token += tokens, choice += choices;
      if (choice >= groups.n_used) token++, choice -= groups.n_used;
    }
  };
  // The number of slots of the groups that come first, and the place of the expert's tiles.
  uint32_t before = 0, mine = 0, first_tile = 0, end_tile = 0, n_tiles = 0;
  if (groups.by_size) {
    mine = shared.counts[expert];
    const auto tiles_of = [&](uint32_t slots) { return (slots + groups.tile_rows - 1) / groups.tile_rows; };
    for (uint32_t other = lane; other < args.n_experts; other += 32) {
      const uint32_t slots = shared.counts[other];
      if (other > expert) before += slots;
      if (slots > mine || (slots == mine && other > expert)) first_tile += tiles_of(slots);
      n_tiles += tiles_of(slots);
    }
    before = warp_total(before);
    first_tile = warp_total(first_tile);
    n_tiles = warp_total(n_tiles);
    end_tile = first_tile + tiles_of(mine);
  } else {
    for_each_slot([&](uint32_t, uint32_t chosen) { before += chosen > expert && chosen < args.n_experts, mine += chosen == expert; });
    before = warp_total(before);
    mine = warp_total(mine);
    first_tile = expert_tiles(before, rank, groups.tile_rows);
    end_tile = expert_tiles(before + mine, rank + 1, groups.tile_rows);
    n_tiles = end_tile;
  }

  // Cuts places [from, to) into pieces of as many rows; later pieces have none. The last group gets the places of a
  // list that no expert takes.
  const bool last = rank == args.n_experts - 1;
  const auto cut = [&](ExpertTile* list, uint32_t first_piece, uint32_t end_piece, uint32_t from, uint32_t to, uint32_t rows) {
    for (uint32_t piece = first_piece + lane; piece < end_piece; piece += 32) {
      const uint32_t first = min(from + (piece - first_piece) * rows, to);
      list[piece] = {expert, first, min(first + rows, to)};
    }
  };
  const uint32_t end = before + mine, left = mine % groups.tile_rows, rest = left <= groups.rest_rows ? left : 0;
  cut(groups.tiles, first_tile, end_tile, before, end - rest, groups.tile_rows);
  if (last) cut(groups.tiles, n_tiles, groups.n_tiles, end, end, groups.tile_rows);
  if (groups.rest_rows != 0) {
    cut(groups.rests, expert_rests(before, rank), last ? groups.n_rests : expert_rests(end, rank + 1), end - rest, end, groups.rest_rows);
  }
  if (mine == 0) return;

  uint32_t next = before;
  for_each_slot([&](uint32_t slot, uint32_t chosen) {
    const uint32_t lanes = __ballot_sync(~0u, chosen == expert);
    if (chosen == expert) groups.slots[next + __popc(lanes & ((1u << lane) - 1))] = slot;
    next += __popc(lanes);
  });
}

}  // namespace m40::cuda

#endif
