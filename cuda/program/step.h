// Reads the input block of a step. What parse_step returns has been checked whole: an executor may index
// with every value in it.
#ifndef M40_RUNTIME_STEP_H
#define M40_RUNTIME_STEP_H

#include <stdint.h>

#include <vector>

#include "../include/m40.h"
#include "../common/error.h"

namespace m40 {

// Which positions a token attends to in some layers of a cache's group: with neither, all up to its own.
struct Reach {
  uint32_t window;
  uint32_t chunk;

  bool operator==(const Reach& other) const { return window == other.window && chunk == other.chunk; }
  // The first of them, for a token at a position.
  uint64_t first_visible(uint64_t position) const {
    const uint64_t of_window = window != 0 && window < position + 1 ? position + 1 - window : 0;
    const uint64_t of_chunk = chunk != 0 ? position / chunk * chunk : 0;
    return of_window > of_chunk ? of_window : of_chunk;
  }
};

// How a program uses a group of the cache.
struct CacheUse {
  bool used;                   // it writes to its KV blocks, or reads them
  std::vector<Reach> reaches;  // of the attention operations over its layers, each once
};

// What a step of a program may ask for.
struct StepLimits {
  m40_limits limits;
  uint64_t n_positions;  // positions are below
  uint32_t kv_block_tokens;  // 0: the program has no KV cache
  uint32_t n_kv_blocks;
  // Of each group of the cache that the program writes to or reads, what its attention operations reach.
  std::vector<CacheUse> groups;
  uint32_t n_slots;      // 0: the program has no states
  bool samples;          // the program has a sample operation
  bool hidden;           // and it names a buffer of hidden states
};

// The arrays of a step, in the caller's block: valid as long as that.
struct Step {
  uint32_t n_tokens;
  uint32_t n_sequences;
  uint32_t n_outputs;
  uint32_t n_decode;                 // the first tokens, which are computed as decode
  uint32_t kv_block_stride;
  uint32_t n_groups;                 // of the KV cache; 0 without one
  const int32_t* tokens;             // [n_tokens]
  const uint32_t* positions;         // [n_tokens]
  const uint32_t* sequences;         // [n_tokens]
  const uint32_t* kv_block_table;        // [n_sequences, n_groups, kv_block_stride]; nullptr without a KV cache
  const uint32_t* states;            // [n_sequences, 2], of sequences that have tokens; nullptr without states
  const m40_output* outputs;         // [n_outputs]
  const m40_sampling* sampling;      // [n_outputs]; nullptr where the program does not sample
  const m40_token_count* token_counts;
  const m40_token_bias* token_biases;
  const uint32_t* masks;             // [n_masks, mask_words]
  uint32_t mask_words;
  bool hidden;                       // an output is a hidden state
  bool shaped;                       // one is sampled with shaping (sample_weights.h)
  uint32_t prefill_share;            // 1 to 1000

  // A sequence's KV blocks in a group of the cache.
  const uint32_t* kv_blocks_of(uint32_t sequence, uint32_t group) const {
    return kv_block_table + (uint64_t{sequence} * n_groups + group) * kv_block_stride;
  }
  // The slot that a sequence's states are read from, M40_NONE where it begins, and the one that they are written to.
  uint32_t slot_from(uint32_t sequence) const { return states[2 * uint64_t{sequence}]; }
  uint32_t slot_to(uint32_t sequence) const { return states[2 * uint64_t{sequence} + 1]; }
};

// seen: scratch of seen_words(limits). Throws Failure with M40_INVALID_ARGUMENT.
Step parse_step(const void* block, uint64_t block_bytes, const StepLimits& limits, uint32_t* seen);
uint64_t seen_words(const StepLimits& limits);

// Throws where the step has not all the KV blocks that a sequence's tokens, from first_position to last_position, are
// written to or attend to. The program has a KV cache.
void check_kv_blocks(const Step& step, const StepLimits& limits, uint32_t sequence, uint32_t first_position, uint32_t last_position);

}  // namespace m40

#endif
