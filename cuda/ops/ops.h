// The operations as the executor launches them: the records of m40.h, with device pointers instead of buffer and tensor
// indices. Each launch_* puts its kernels on the stream and returns. It allocates nothing, waits for nothing and reads
// no device memory, so that a step can be captured as a CUDA graph. Its launches follow only from the counts, strides
// and shapes in its arguments.
//
// Unless said otherwise a pointer is device memory, a stride counts elements between rows, and a row is one token.
#ifndef M40_OPS_OPS_H
#define M40_OPS_OPS_H

#include <stdint.h>

#include "../include/m40.h"
#include "../kernels/elementwise_args.cuh"
#include "../kernels/norm_args.cuh"
#include "../kernels/packed.cuh"
#include "../kernels/state_args.cuh"
#include "../gpu/device.h"
#include "multiprocessors.h"

namespace m40::cuda {

// Device memory that operations share, one after the other.
struct Scratch {
  // scratch_counters words that are 0 whenever no kernel runs: a kernel that counts in them resets them to 0.
  uint32_t* counters;
  // As many bytes as the largest *_scratch_bytes of the program's operations asked for; 256-byte aligned.
  void* memory;
};

constexpr uint32_t scratch_counters = 16384;

// The input of a step.
struct StepView {
  uint32_t n_tokens;
  uint32_t n_sequences;
  uint32_t n_outputs;
  uint32_t n_decode;                    // the first tokens: computed as decode, the others as prefill
  uint32_t n_groups;                    // of the KV cache
  uint32_t kv_block_stride;                 // entries of the block table for a sequence and group
  const int32_t* tokens;                // [n_tokens]
  const uint32_t* positions;            // [n_tokens]
  const uint32_t* sequences;            // [n_tokens]
  const uint32_t* kv_block_table;           // [n_sequences, n_groups, kv_block_stride]; not all entries are KV blocks
  const uint32_t* outputs;              // [n_outputs]
  const m40_sampling* sampling;         // [n_outputs]
  const m40_token_count* token_counts;
  const m40_token_bias* token_biases;
  const uint32_t* masks;                // [n_masks, mask_words]
  uint32_t mask_words;
  uint32_t prefill_share;  // thousandths of the places for thread blocks that prompts may take: limited_blocks()
  // Tokens of the sequence with most of them in this step.
  uint32_t most_tokens;
  bool shaped;                          // an output is sampled with shaping
  // Where the program has states: its sequences, those of most rows first, and their rows in tiles, a sequence's first
  // one with its first row.
  const SequenceRows* sequence_rows;    // [n_sequences]
  const SequenceTile* sequence_tiles;   // [n_sequence_tiles]
  uint32_t n_sequence_tiles;
};

// The share of the places for thread blocks that a launch over all of a step's sequences may take: decoded rows alone
// are in nobody's way.
inline uint32_t sequences_share(const StepView& step) { return step.n_decode < step.n_tokens ? step.prefill_share : all_places; }

// kernels/kv_cache.cuh says how a layer of a KV block of kv_block_bytes (place_cache() or more) is laid out. KV block i
// starts at data + i * kv_block_bytes; both are multiples of 16.
struct CacheView {
  uint8_t* data;
  uint64_t kv_block_bytes;
  const m40_cache_desc* desc;
  const uint64_t* layer_offsets;  // [n_layers], of place_cache()
};

// Where each layer starts in a KV block of its group (offsets, or nullptr), and the bytes of a KV block. They may be
// more than a file's types would take: rows are padded and aligned.
uint64_t place_cache(const m40_cache_desc& cache, uint64_t* offsets);

// ---- matmul.cu ----------------------------------------------------------------------------------------

struct MatmulWeight {
  PackedWeight weight;
  const float* bias;  // [weight.rows], or nullptr
  uint32_t output_column;
  const float* factor = nullptr;  // [1], or nullptr
  uint32_t whole_rows = 0;        // of the whole weight that this is a slice of, with the same split-K; 0: it is whole

  uint32_t split_rows() const { return whole_rows == 0 ? weight.rows : whole_rows; }
};

// What the product does to a row of the input first. Only where matmul_fuses() says so.
struct MatmulPrologue {
  enum Kind : uint32_t { kNone, kNorm, kActivation };
  Kind kind = kNone;
  const float* norm_weight = nullptr;  // kNorm: rms, without bias
  float epsilon = 0;
  float* normed = nullptr;             // where the norm's output is written as well, or nullptr
  uint32_t activation = 0;             // kActivation: SiLU or GELU by tanh, gated; the input row is gate [columns], up [columns]
};

struct MatmulArgs {
  const float* input;
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  const float* residual;  // or nullptr; its stride is output_stride, its columns start at weights[0].output_column
  uint32_t n_rows;        // of the input
  uint32_t columns;
  uint32_t n_weights;
  MatmulWeight weights[M40_MAX_MATMUL_WEIGHTS];
  Scratch scratch;
  float scale = 1;
  // Which order of additions the rows get: that of decode (any n_rows, in passes of at most 32), or that of
  // prefill. Within either it does not depend on n_rows.
  bool prefill = false;
  uint32_t prefill_share = all_places;
  MatmulPrologue prologue = {};
  // Packed pairs of activations (kernels/packed_inputs_args.cuh) with the weights whose types have them.
  bool packed = false;
};

// types may be nullptr: then enough for any types, since memory is planned before the tensors are known.
uint64_t matmul_scratch_bytes(const uint32_t* types, const uint32_t* rows, uint32_t n_weights, uint32_t columns, uint32_t max_rows, bool packed = false);
// Whether launch_matmul does args.prologue itself, to the same bits as the operation of its own followed by a matmul.
bool matmul_fuses(const MatmulArgs& args);
void launch_matmul(const MatmulArgs& args, cudaStream_t stream);

// ---- matmul_experts.cu, matmul_prefill_experts.cu, expert_groups.cu -----------------------------------------

// Where the rows of a product with experts are listed by their experts, and what was listed there last: products of one
// routing share a list. A change of the choices of experts resets it.
struct ExpertGrouping {
  void* memory = nullptr;  // expert_groups_bytes(), 256-byte aligned
  const uint32_t* experts = nullptr;
  uint32_t n_tokens = 0, n_experts = 0, tile_rows = 0, rest_rows = 0;

  void forget() { experts = nullptr; }
};

// n_experts: the shared one included. max_rows: n_used times as many as tokens.
uint64_t expert_groups_bytes(uint32_t n_experts, uint64_t max_rows);

struct ExpertMatmulArgs {
  const float* input;
  uint32_t input_stride;
  bool input_per_slot;  // the input has a row a token and slot; else a row a token
  const uint32_t* experts;
  uint32_t experts_stride;
  float* output;
  uint32_t output_stride;
  uint32_t n_tokens;
  uint32_t n_used;
  uint32_t columns;
  uint32_t n_weights;
  PackedWeight weights[2];
  // Of each weight, that of the shared expert, of index n_experts; without planes where there is none.
  PackedWeight shared[2];
  const float* biases[2];   // [n_experts * rows], or nullptr
  const float* factors[2];  // [n_experts], or nullptr
  uint32_t output_column[2];
  uint32_t copied;          // values after a slot's own input that are copied after its sums; with one weight, decode rows
  const float* slot_scale;  // [n_tokens, n_used]: what a slot's row is multiplied by, or nullptr
  uint32_t slot_scale_stride;
  ExpertGrouping* grouping;  // decode and prefill have one each
  uint32_t* counters;        // Scratch's
  // Which order of additions the rows get, as in MatmulArgs: that of decode, each row by itself, or that of prefill,
  // in groups by their experts. Within either it does not depend on the other rows.
  bool prefill = false;
  uint32_t prefill_share = all_places;
  // The output is f(gate) * up, of the two weights' products, at the first's output_column, to the bits of the
  // operation of its own. Only where expert_matmul_activates() says so.
  bool activates = false;
  uint32_t activation = 0;
  float alpha = 0, limit = 0;
  // As in MatmulArgs; then scratch is of expert_matmul_scratch_bytes().
  bool packed = false;
  void* scratch = nullptr;
  // Sums the slots of each token, as launch_expert_sum does with this output as its input; nullptr: it does not. Only
  // where expert_matmul_sums() says so.
  const ExpertSumArgs* sum = nullptr;

  // The shared one included.
  uint32_t n_experts() const { return weights[0].n_experts + (shared[0].planes[0] != nullptr ? 1 : 0); }
};

// n_experts: the shared one included.
uint64_t expert_matmul_scratch_bytes(uint32_t n_experts, uint32_t n_used, uint32_t columns, uint64_t max_tokens, bool packed);
bool expert_matmul_activates(const ExpertMatmulArgs& args);
bool expert_matmul_sums(const ExpertMatmulArgs& args);
// Every expert has to exist: launch_check_experts ensures that where they do not come from launch_route.
void launch_expert_matmul(const ExpertMatmulArgs& args, cudaStream_t stream);

// Puts 0 for experts that do not exist, and says of one of them: fault[0] = 1 + its token, fault[1] = the expert.
void launch_check_experts(uint32_t* experts, uint32_t stride, uint32_t n_tokens, uint32_t n_used, uint32_t n_experts, uint32_t* fault,
                          cudaStream_t stream);

// ---- embed.cu -------------------------------------------------------------------------------------------

struct EmbedArgs {
  float* output;
  uint32_t output_stride;
  PackedWeight table;
  PackedWeight position_table;  // where has_positions is set
  bool has_positions;
  uint32_t columns;
  float scale;
};

void launch_embed(const EmbedArgs& args, const StepView& step, cudaStream_t stream);

// Rows [first_row, first_row + n_rows) of all experts' rows as floats: [n_rows, columns].
void launch_read_rows(const PackedWeight& weight, uint64_t first_row, uint32_t n_rows, float* values, cudaStream_t stream);

// ---- norm.cu, elementwise.cu -----------------------------------------------------------------

void launch_norm(const NormArgs& args, cudaStream_t stream);

void launch_activation(const ActivationArgs& args, cudaStream_t stream);

void launch_add(const AddArgs& args, cudaStream_t stream);

struct SelectArgs {
  const float* input;
  uint32_t input_stride;
  float* output;
  uint32_t output_stride;
  uint32_t columns;
};

void launch_select(const SelectArgs& args, const StepView& step, cudaStream_t stream);

void launch_softcap(const SoftcapArgs& args, cudaStream_t stream);

void launch_copy_heads(const CopyHeadsArgs& args, cudaStream_t stream);

void launch_expert_sum(const ExpertSumArgs& args, cudaStream_t stream);

// ---- rope_store.cu ----------------------------------------------------------------------------------------

struct RopeStoreArgs {
  float* q;  // in place
  uint32_t q_stride;
  const float* kv;  // or nullptr
  uint32_t kv_stride;
  const uint64_t* turns;  // [rope_dim / 2], of rope_turns(); nullptr for M40_ROPE_NONE
  const float* q_norm;    // [head_dim], or nullptr
  const float* k_norm;
  m40_op_rope_store op;  // of its indices, only the layer and whether v_column is M40_NONE are read
};

// Throws Failure (M40_UNSUPPORTED) where heads are too large.
void check_rope_store(const m40_op_rope_store& op);

// What the kernels want of a pair's angle a position (on the host): its share of a turn, as a fraction of 2^64.
void rope_turns(const double* angles, uint32_t n_pairs, uint64_t* turns);
void launch_rope_store(const RopeStoreArgs& args, const StepView& step, const CacheView& cache, cudaStream_t stream);

// ---- attention.cu -------------------------------------------------------------------------------------------

struct AttentionArgs {
  const float* q;
  uint32_t q_stride;
  float* output;
  uint32_t output_stride;
  uint32_t max_positions;  // of a sequence, by the program's limits
  uint32_t decode_rows;    // that are computed at a time: attention_decode_rows()
  const float* sinks;      // [n_heads], or nullptr
  m40_op_attention op;     // its indices are ignored
  Scratch scratch;
};

// Decoded rows that a program's scratch has room for at a time; more go in several passes.
uint32_t attention_decode_rows(const m40_limits& limits);
// Throws Failure (M40_UNSUPPORTED) where K have more than 576 values or V more than 512.
uint64_t attention_scratch_bytes(const m40_op_attention& op, const m40_limits& limits, const m40_cache_desc& cache);
// The first n_decode tokens as decode, the others as prefill.
void launch_attention(const AttentionArgs& args, const StepView& step, const CacheView& cache, cudaStream_t stream);

// Whether launch_rope_attention does both operations in one launch: where the step has a few decoded tokens
// alone, one a sequence, as none then waits for another's K and V. The output's and the cache's bits are those of
// launch_rope_store and then launch_attention; q stays as it was.
bool rope_attention_fuses(const RopeStoreArgs& rope, const AttentionArgs& attention, const StepView& step);
void launch_rope_attention(const RopeStoreArgs& rope, const AttentionArgs& attention, const StepView& step, const CacheView& cache, cudaStream_t stream);

// ---- conv.cu, delta_rule.cu, selective_scan.cu ----------------------------------------------------------------

// Values of a column of a state that recurrences may have.
uint32_t most_recurrence_keys();
// The arguments' sequences, tiles and blocks of a head are filled in here.
void launch_conv(const ConvArgs& args, uint32_t kernel, const StepView& step, cudaStream_t stream);
void launch_delta_rule(const DeltaRuleArgs& args, uint32_t n_heads, const StepView& step, cudaStream_t stream);
void launch_selective_scan(const SelectiveScanArgs& args, uint32_t n_heads, const StepView& step, cudaStream_t stream);

// ---- route.cu -----------------------------------------------------------------------------------------------

struct RouteArgs {
  const float* input;
  uint32_t input_stride;
  uint32_t* experts;
  uint32_t experts_stride;
  float* weights;
  uint32_t weights_stride;
  uint32_t n_tokens;
  m40_op_route op;    // its indices are ignored
  const float* bias;  // [n_experts], or nullptr
};

// Groups of experts that a routing may have.
uint32_t most_route_groups();
void launch_route(const RouteArgs& args, cudaStream_t stream);

// ---- sample.cu ------------------------------------------------------------------------------------------------

struct SampleArgs {
  const float* logits;
  uint32_t logits_stride;
  uint32_t columns;
  m40_sample* samples;   // [n_outputs]; top_tokens beyond n_top_logprobs are -1, their top_logprobs 0
  uint32_t* statuses;    // [n_outputs]: M40_OUTPUT_OK, _NOT_FINITE or _NOTHING_ALLOWED
  Scratch scratch;
};

uint64_t sample_scratch_bytes(uint32_t columns, uint32_t max_outputs);
void launch_sample(const SampleArgs& args, const StepView& step, cudaStream_t stream);

}  // namespace m40::cuda

#endif
