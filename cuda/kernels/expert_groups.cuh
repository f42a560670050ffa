// Groups prefill rows by their experts, so that products read an expert's weights once a tile of rows.
//
// A slot is a row's place in the output: token * n_used + number of the choice. The slots of the last expert come
// first, in rising order, then those of the expert before it, and so on. The order follows only from the choices, and a
// launch does not end with a shared expert, the last one, which has the largest group. Groups are cut into tiles. An
// expert's tiles start at a bound on the number of tiles of the preceding experts, which needs no sum over them: their
// slots / rows of a tile, and one for each of them (or for each slot, where those are fewer). So some tiles have no
// rows, and the number of tiles follows from the numbers of slots and experts. The last few rows of a group, after its
// whole tiles, may be a rest instead: rests are in their own list, at most one an expert.
//
// Or tiles are sorted by the size of their groups, the largest first and those without rows last. Then the longest work
// begins first, and a launch ends with short work, on all multiprocessors at about the same time.
#ifndef M40_KERNELS_EXPERT_GROUPS_CUH
#define M40_KERNELS_EXPERT_GROUPS_CUH

#include <stdint.h>

#include "../gpu/device.h"

namespace m40::cuda {

struct ExpertTile {
  uint32_t expert;
  uint32_t first, end;  // places in the list of slots; equal where the tile has no rows
};

struct ExpertGroups {
  uint32_t* slots;    // [n_slots]
  ExpertTile* tiles;  // [n_tiles]
  ExpertTile* rests;  // [n_rests]
  uint32_t n_slots, n_tiles, n_rests;
  uint32_t tile_rows;
  uint32_t rest_rows;  // of a rest at most; 0: there are none
  bool by_size;        // tiles stand by the size of their groups
  uint32_t n_used;
};

// How many tiles n_slots slots of n_experts experts take at most; where the tiles of the next expert start.
template <class Count>
__host__ __device__ inline Count expert_tiles(Count n_slots, uint32_t n_experts, uint32_t tile_rows) {
  return n_slots / tile_rows + (n_slots < n_experts ? n_slots : n_experts);
}

// The same of rests.
template <class Count>
__host__ __device__ inline Count expert_rests(Count n_slots, uint32_t n_experts) {
  return n_slots < n_experts ? n_slots : n_experts;
}

}  // namespace m40::cuda

#endif
