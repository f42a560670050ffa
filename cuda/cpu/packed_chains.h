// Into how many chains packed arithmetic cuts the columns of a product: as the GPU's kernels do, so that sums have the
// same bits. It follows from the weight's shape, and from whether a row is decoded or a prompt's.
#ifndef M40_REFERENCE_PACKED_CHAINS_H
#define M40_REFERENCE_PACKED_CHAINS_H

#include "../common/product_splits.h"
#include "kernels.h"

namespace m40::reference {

// Rows are the whole weight's, where it is a slice of one.
inline PackedChains decode_chains(uint32_t rows, uint32_t columns) { return {decode_splits(rows, columns), decode_split_parts}; }

inline PackedChains prompt_chains(uint32_t rows, uint32_t columns) { return {prefill_splits(rows, columns), 1}; }

// Of products with experts, whatever their shape.
inline PackedChains expert_chains(bool decoded) { return {1, decoded ? expert_parts : 1}; }

}  // namespace m40::reference

#endif
