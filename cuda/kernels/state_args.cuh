// The arguments of the operations with states: convolutions, the delta rule, the selective scan.
#ifndef M40_KERNELS_STATE_ARGS_CUH
#define M40_KERNELS_STATE_ARGS_CUH

#include <stdint.h>

namespace m40::cuda {

// A sequence of a step: its rows, and the slots that its states are read from (M40_NONE: they are zeros) and written
// to.
struct alignas(16) SequenceRows {
  uint32_t first;
  uint32_t n;  // may be 0: its states stay as they are
  uint32_t from;
  uint32_t to;
};

// Rows of a sequence that a thread block takes: those from its row `first` on, at most sequence_tile_rows.
struct SequenceTile {
  uint32_t sequence;  // M40_NONE: there is nothing to be done
  uint32_t first;
};

constexpr uint32_t sequence_tile_rows = 8;

// An operation's state in every slot.
struct StateArgs {
  const SequenceRows* sequences;
  float* data;           // in slot 0
  uint64_t slot_values;  // from a slot's to the next one's
};

struct ConvArgs {
  StateArgs state;  // [kernel - 1, columns] in a slot
  const SequenceTile* tiles;
  const float* input;   // at its first column
  const float* factor;  // of the same buffer, or nullptr
  const float* gate;    // of the same buffer, or nullptr
  uint32_t input_stride;
  float* output;  // at its first column
  uint32_t output_stride;
  const float* weight;  // [columns, kernel]
  const float* bias;    // [columns], or nullptr
  uint32_t columns;
  uint32_t activation;  // M40_ACTIVATION_SILU, or M40_NONE
};

struct DeltaRuleArgs {
  StateArgs state;  // a head's after the other's: see StateTile in recurrence.cuh
  const float* q;   // [n_k_heads, key_dim] of a row
  const float* k;   // [n_k_heads, key_dim]
  const float* v;   // [n_heads, value_dim]
  uint32_t stride;  // of all three
  const float* a;
  const float* b;
  uint32_t gates_stride;
  uint32_t gate_heads;  // numbers of so many heads stand side by side,
  uint32_t gate_step;   // and those of the next ones so much further on
  float* output;
  uint32_t output_stride;
  const float* decay;   // [n_heads]
  const float* a_bias;  // [n_heads]
  uint32_t n_k_heads;
  uint32_t k_head_group;  // heads with one K head side by side; 0: K heads are cycled through
  uint32_t key_dim;
  uint32_t value_dim;
  uint32_t head_tiles;  // thread blocks that share a head's columns
  float scale;
  float epsilon;
};

struct SelectiveScanArgs {
  StateArgs state;  // as the delta rule's, with B's and C's values for keys and x's for columns
  const float* x;   // [n_heads, head_dim] of a row
  const float* b;   // [n_groups, state_dim]
  const float* c;   // [n_groups, state_dim]
  uint32_t stride;  // of all three
  const float* steps;  // [n_heads]
  uint32_t steps_stride;
  float* output;
  uint32_t output_stride;
  const float* decay;    // [n_heads]
  const float* skip;     // [n_heads]
  const float* dt_bias;  // [n_heads]
  uint32_t group_heads;
  uint32_t head_dim;
  uint32_t state_dim;
  uint32_t head_tiles;
};

}  // namespace m40::cuda

#endif
