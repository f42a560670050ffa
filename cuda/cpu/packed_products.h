// Products in packed arithmetic: rows of integers (packed_input.h) times weights that are integers (packed_formats.h).
//
// A run's sum of products is an exact integer, whichever way it is added up. What is rounded is in the same order
// everywhere: a chain goes over the blocks of a part of the columns, by fused multiply-adds, from the first to the
// last; then a split's chains are added in order, then the splits.
#ifndef M40_REFERENCE_PACKED_PRODUCTS_H
#define M40_REFERENCE_PACKED_PRODUCTS_H

#include "packed_formats.h"
#include "packed_input.h"

namespace m40::reference {
namespace {

constexpr size_t kTileBlocks = 8;        // blocks of 32 columns that are unpacked at a time
constexpr size_t kPackedTokens = 64;     // that share one unpacking
constexpr size_t kPackedTogether = 4;    // that share what a register has of a weight

M40_INLINE size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

struct PackedTile {
  Ints pairs[kTileBlocks][2][8];
  PackedScales scales[kTileBlocks];
};

// Of kLanes rows of the weight and one token.
struct PackedSums {
  Floats chain, split, total;
};

// What is read of a token's row.
struct PackedRow {
  const uint8_t* pairs;
  const PackedRun* runs;

  // Pair p of run r, in every lane.
  M40_INLINE Ints pair(size_t r, int p) const { return all(static_cast<int32_t>(load_u32(pairs + 32 * r + 4 * p))); }
};

// Asks for what the next kLanes rows have where these have the block.
template <class Format>
M40_INLINE void prefetch_rows(const Rows& block, size_t row_bytes) {
  M40_UNROLL for (int l = 0; l < kLanes; l++) {
    M40_UNROLL for (int line = 0; line < Format::kBytes; line += 64) __builtin_prefetch(block.at[l] + line + kLanes * row_bytes);
  }
}

template <class Format>
void unpack_packed(const Rows& rows, size_t row_bytes, size_t first, size_t n_blocks, PackedTile& tile) {
  for (size_t b = 0; b < n_blocks; b += Format::kBlocks) {
    const Rows block = rows.from((first + b) / Format::kBlocks * Format::kBytes);
    prefetch_rows<Format>(block, row_bytes);
    Format::scales(block, tile.scales + b);
    M40_UNROLL for (int group = 0; group < Format::kBlocks; group++) Format::pairs(block, group, tile.pairs[b + group]);
  }
}

// chains[t] += a block of the weight times block `at` of each token's row.
template <class Format, int kTokens>
M40_INLINE void add_block(const Ints pairs[2][8], const PackedScales& scales, const PackedRow* tokens, size_t at, Floats* chains) {
  M40_UNROLL for (int run = 0; run < 2; run++) {
    Ints products[kTokens];
    M40_UNROLL for (int t = 0; t < kTokens; t++) products[t] = all(-Format::kOffset * tokens[t].runs[2 * at + run].sum);
    M40_UNROLL for (int p = 0; p < 8; p++) {
      M40_UNROLL for (int t = 0; t < kTokens; t++) products[t] += multiply_pairs(pairs[run][p], tokens[t].pair(2 * at + run, p));
    }
    M40_UNROLL for (int t = 0; t < kTokens; t++) {
      const PackedRun& of = tokens[t].runs[2 * at + run];
      // As a GPU has it, whose sums are in units of 2^-48: MXFP4's scales, from 2^-128 to 2^127, then round alike.
      chains[t] = fused(scales.scale[run] * broadcast(of.unit * 0x1p48f), to_floats(products[t]) * broadcast(0x1p-48f), chains[t]);
      if (Format::kMinimums == Minimums::kOfRuns) chains[t] = fused(scales.minimum[run], broadcast(of.part), chains[t]);
    }
  }
  if (Format::kMinimums != Minimums::kOfBlocks) return;
  M40_UNROLL for (int t = 0; t < kTokens; t++) {
    const PackedRun* const runs = tokens[t].runs + 2 * at;
    chains[t] = fused(scales.minimum[0], broadcast(runs[0].part + runs[1].part), chains[t]);
  }
}

// Blocks [first, end) of a tile, which are those from `at` on of the tokens' rows.
template <class Format, int kTokens>
void multiply_packed(const PackedTile& tile, size_t first, size_t end, const PackedRow* tokens, size_t at, PackedSums* sums) {
  Floats chains[kTokens];
  M40_UNROLL for (int t = 0; t < kTokens; t++) chains[t] = sums[t].chain;
  M40_NO_UNROLL for (size_t b = first; b < end; b++, at++) add_block<Format, kTokens>(tile.pairs[b], tile.scales[b], tokens, at, chains);
  M40_UNROLL for (int t = 0; t < kTokens; t++) sums[t].chain = chains[t];
}

// Chain `number` is over.
M40_INLINE void end_chain(const PackedChains& chains, uint32_t number, PackedSums& sums) {
  const uint32_t of_split = number % chains.parts;
  sums.split = of_split == 0 ? sums.chain : sums.split + sums.chain;
  sums.chain = Floats{};
  if (of_split + 1 == chains.parts) sums.total = number < chains.parts ? sums.split : sums.total + sums.split;
}

// The rows of a weight from a first one on, a lane each; those beyond the last are the last.
M40_INLINE Rows rows_from(const uint8_t* weight, size_t row_bytes, size_t first, size_t n_rows) {
  Rows rows;
  M40_UNROLL for (size_t l = 0; l < kLanes; l++) rows.at[l] = weight + (first + l < n_rows ? first + l : n_rows - 1) * row_bytes;
  return rows;
}

PackedRow packed_row_at(const uint8_t* row, size_t columns) {
  return {row, reinterpret_cast<const PackedRun*>(row + columns * sizeof(int16_t))};
}

// The sums of rows [first, first + kLanes), of which the last ones may not be there.
M40_INLINE void store_sums(Floats sums, size_t first, size_t n_rows, float* output) {
  if (n_rows - first >= kLanes) return store(output + first, sums);
  float lanes[kLanes];
  store(lanes, sums);
  memcpy(output + first, lanes, (n_rows - first) * sizeof(float));
}

// One token: weights go from memory through registers into the sums.
template <class Format>
void packed_vector_as(const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows, const PackedRow& token, PackedChains chains, float* output) {
  const size_t n_blocks = columns / 32, n_chains = size_t{chains.splits} * chains.parts;
  for (size_t first_row = 0; first_row < n_rows; first_row += kLanes) {
    const Rows rows = rows_from(weight, row_bytes, first_row, n_rows);
    PackedSums sums = {Floats{}, Floats{}, Floats{}};
    uint32_t chain = 0;
    size_t chain_end = n_blocks / n_chains;  // of blocks
    const auto end_chains = [&](size_t block) {
      for (; chain < n_chains && chain_end <= block; chain_end = n_blocks * (chain + 1) / n_chains) end_chain(chains, chain++, sums);
    };
    for (size_t from = 0; from < n_blocks; from += Format::kBlocks) {
      const Rows block = rows.from(from / Format::kBlocks * Format::kBytes);
      prefetch_rows<Format>(block, row_bytes);
      PackedScales scales[Format::kBlocks];
      Format::scales(block, scales);
      M40_UNROLL for (int group = 0; group < Format::kBlocks; group++) {
        if (chain_end <= from + group) end_chains(from + group);
        Ints pairs[2][8];
        Format::pairs(block, group, pairs);
        add_block<Format, 1>(pairs, scales[group], &token, from + group, &sums.chain);
      }
    }
    end_chains(n_blocks);
    store_sums(sums.total, first_row, n_rows, output);
  }
}

template <class Format>
void packed_matmul_as(const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows, const uint8_t* input, size_t n_tokens,
                      PackedChains chains, float* output, size_t output_stride, float* scratch) {
  if (n_tokens == 1) return packed_vector_as<Format>(weight, row_bytes, columns, n_rows, packed_row_at(input, columns), chains, output);
  PackedTile& tile = *reinterpret_cast<PackedTile*>(scratch);
  PackedSums* const sums = reinterpret_cast<PackedSums*>(&tile + 1);
  const size_t n_blocks = columns / 32, n_chains = size_t{chains.splits} * chains.parts;
  for (size_t first_token = 0; first_token < n_tokens; first_token += kPackedTokens) {
    const size_t tokens = smaller(kPackedTokens, n_tokens - first_token);
    PackedRow rows_of[kPackedTokens];
    for (size_t t = 0; t < tokens; t++) rows_of[t] = packed_row_at(input + (first_token + t) * packed_row_bytes(columns), columns);
    for (size_t first_row = 0; first_row < n_rows; first_row += kLanes) {
      const Rows rows = rows_from(weight, row_bytes, first_row, n_rows);
      for (size_t t = 0; t < tokens; t++) sums[t] = PackedSums{Floats{}, Floats{}, Floats{}};
      uint32_t chain = 0;
      const auto end_chains = [&](size_t block) {
        for (; chain < n_chains && n_blocks * (chain + 1) / n_chains <= block; chain++) {
          for (size_t t = 0; t < tokens; t++) end_chain(chains, chain, sums[t]);
        }
      };
      for (size_t from = 0; from < n_blocks; from += kTileBlocks) {
        const size_t n = smaller(kTileBlocks, n_blocks - from);
        unpack_packed<Format>(rows, row_bytes, from, n, tile);
        for (size_t b = 0; b < n;) {
          end_chains(from + b);
          const size_t end = smaller(n_blocks * (chain + 1) / n_chains - from, n);
          size_t t = 0;
          for (; t + kPackedTogether <= tokens; t += kPackedTogether) multiply_packed<Format, kPackedTogether>(tile, b, end, rows_of + t, from + b, sums + t);
          for (; t < tokens; t++) multiply_packed<Format, 1>(tile, b, end, rows_of + t, from + b, sums + t);
          b = end;
        }
      }
      end_chains(n_blocks);
      for (size_t t = 0; t < tokens; t++) store_sums(sums[t].total, first_row, n_rows, output + (first_token + t) * output_stride);
    }
  }
}

static_assert((sizeof(PackedTile) + kPackedTokens * sizeof(PackedSums)) / sizeof(float) <= kScratchFloats, "kernels.cpp reserves too little scratch memory");

void packed_matmul(uint32_t type, const uint8_t* weight, size_t row_bytes, size_t columns, size_t n_rows, const uint8_t* input, size_t n_tokens,
                   PackedChains chains, float* output, size_t output_stride, float* scratch) {
  switch (type) {
#define M40_CASE(id, Format) \
  case id: return packed_matmul_as<Packed##Format>(weight, row_bytes, columns, n_rows, input, n_tokens, chains, output, output_stride, scratch);
    M40_CASE(2, Q4_0) M40_CASE(3, Q4_1) M40_CASE(10, Q2_K) M40_CASE(11, Q3_K) M40_CASE(12, Q4_K) M40_CASE(34, TQ1_0) M40_CASE(35, TQ2_0)
    M40_CASE(39, MXFP4)
#undef M40_CASE
  }
}

}  // namespace
}  // namespace m40::reference

#endif
