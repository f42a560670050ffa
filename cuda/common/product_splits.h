// Into how many splits a product cuts the columns of a weight. It follows from the weight's shape alone, in every
// library, so that sums have the same bits.
#ifndef M40_COMMON_PRODUCT_SPLITS_H
#define M40_COMMON_PRODUCT_SPLITS_H

#include <stdint.h>

namespace m40 {

// Parts that decode cuts a split into, and a row of an expert's weight; their sums are added in order.
constexpr uint32_t decode_split_parts = 8;
constexpr uint32_t expert_parts = 4;

constexpr uint32_t most_splits = 8;

// A power of two, most_splits at most.
inline uint32_t splits_of(uint32_t wanted, uint32_t most) {
  const uint32_t splits = wanted < most ? wanted : most;
  return splits < 2 ? 1 : splits < 4 ? 2 : splits < 8 ? 4 : most_splits;
}

// Of decoded rows: enough warps for any card, and two blocks of 32 columns at least in a part.
inline uint32_t decode_splits(uint32_t rows, uint32_t columns) {
  const uint32_t groups = rows / 32 + (rows % 32 != 0), blocks = columns / 32 + (columns % 32 != 0);
  return splits_of(448 / groups + (448 % groups != 0), blocks / (decode_split_parts * 2));
}

// Of prompts' rows: of a weight with few, enough that small tiles fill a card; each of 1024 columns at least.
inline uint32_t prefill_splits(uint32_t rows, uint32_t columns) {
  const uint32_t tiles = rows / 128 + (rows % 128 != 0);
  return splits_of(tiles > 64 ? 1 : 256 / tiles, columns / 1024);
}
}  // namespace m40

#endif
