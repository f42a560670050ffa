// Into how many chains packed arithmetic cuts the columns of a product: as the GPU's kernels do, so that sums have the
// same bits. It follows from the weight's shape, and from whether a row is decoded or a prompt's.
#ifndef M40_REFERENCE_PACKED_CHAINS_H
#define M40_REFERENCE_PACKED_CHAINS_H

#include <algorithm>

#include "kernels.h"

namespace m40::reference {

// A power of two, 8 at most.
inline uint32_t packed_splits(uint32_t wanted, uint32_t most) {
  const uint32_t splits = std::min(wanted, most);
  return splits < 2 ? 1 : splits < 4 ? 2 : splits < 8 ? 4 : 8;
}

// As decode_splits() of kernels/matmul_decode_args.cuh; rows are the whole weight's, where it is a slice of one.
inline PackedChains decode_chains(uint32_t rows, uint32_t columns) {
  constexpr uint32_t parts = 8;
  const uint32_t groups = rows / 32 + (rows % 32 != 0), blocks = columns / 32 + (columns % 32 != 0);
  return {packed_splits((448 + groups - 1) / groups, blocks / (parts * 2)), parts};
}

// As prefill_splits() of kernels/matmul_prefill.cuh.
inline PackedChains prompt_chains(uint32_t rows, uint32_t columns) {
  const uint32_t tiles = rows / 128 + (rows % 128 != 0);
  return {packed_splits(tiles > 64 ? 1 : 256 / tiles, columns / 1024), 1};
}

// Of products with experts, whatever their shape.
inline PackedChains expert_chains(bool decoded) { return {1, decoded ? 4u : 1u}; }

}  // namespace m40::reference

#endif
