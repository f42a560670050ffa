#include "step_input.h"

#include <string.h>

#include <algorithm>

namespace m40::cuda {

namespace {

uint64_t mask_words(const m40_limits& limits) { return (uint64_t{limits.n_vocab} + 31) / 32; }

// Bytes from the input's start.
struct Places {
  uint64_t tokens, positions, sequences, kv_block_table, sequence_rows, tiles, outputs, sampling, rest;

  explicit Places(const StepShape& shape) {
    tokens = 0;
    positions = tokens + uint64_t{4} * shape.n_tokens;
    sequences = positions + uint64_t{4} * shape.n_tokens;
    kv_block_table = sequences + uint64_t{4} * shape.n_tokens;
    sequence_rows = (kv_block_table + uint64_t{4} * shape.n_sequences * shape.n_groups * shape.kv_block_stride + 15) / 16 * 16;
    tiles = sequence_rows + (shape.states ? sizeof(SequenceRows) * shape.n_sequences : 0);
    outputs = tiles + sizeof(SequenceTile) * shape.n_tiles();
    sampling = outputs + uint64_t{4} * shape.n_outputs;
    sampling = (sampling + 15) / 16 * 16;
    rest = (sampling + sizeof(m40_sampling) * shape.n_outputs + 15) / 16 * 16;
  }
};

// Elements of 8 bytes from Places::rest on.
struct Rest {
  uint64_t counts, biases, end;

  Rest(const m40_step_header& header, uint64_t words_of_a_mask, bool samples) {
    counts = samples ? (header.n_masks * words_of_a_mask + 1) / 2 : 0;
    biases = counts + (samples ? header.n_token_counts : 0);
    end = biases + (samples ? header.n_token_biases : 0);
  }
};

// The sequences' rows, states and tiles, for StepView. They are sorted so that what takes longest begins first.
void write_sequences(const Step& step, const StepShape& shape, SequenceRows* rows, SequenceTile* tiles) {
  std::fill(rows, rows + step.n_sequences, SequenceRows{});
  for (uint32_t t = 0; t < step.n_tokens; t++) {
    const uint32_t sequence = step.sequences[t];
    if (rows[sequence].n == 0) rows[sequence] = {t, 0, step.slot_from(sequence), step.slot_to(sequence)};
    rows[sequence].n++;
  }
  std::sort(rows, rows + step.n_sequences, [](const SequenceRows& a, const SequenceRows& b) { return a.n != b.n ? a.n > b.n : a.first < b.first; });
  SequenceTile* const end = tiles + shape.n_tiles();
  for (uint32_t i = 0; i < step.n_sequences; i++) {
    for (uint32_t first = 0; first < rows[i].n; first += sequence_tile_rows) *tiles++ = {i, first};
  }
  std::fill(tiles, end, SequenceTile{M40_NONE, 0});
}

m40_sampling greedy() {
  m40_sampling sampling = {};
  sampling.top_p = sampling.typical_p = sampling.repetition_penalty = 1;
  sampling.mask = M40_NONE;
  return sampling;
}

}  // namespace

StepShape shape_of(const Step& step, const StepLimits& limits) {
  StepShape shape = {step.n_tokens, step.n_sequences, step.n_outputs, step.n_decode, step.n_groups, 0, 1, step.hidden, step.shaped, limits.n_slots != 0, step.prefill_share};
  if (limits.kv_block_tokens != 0) {
    uint32_t stride = 16;
    while (stride < step.kv_block_stride) stride *= 2;
    shape.kv_block_stride = std::max(step.kv_block_stride, std::min(stride, limits.limits.n_sequence_kv_blocks));
  }
  uint32_t tokens = 0;
  for (uint32_t t = 0; t < step.n_tokens; t++) {
    tokens = t > 0 && step.sequences[t] == step.sequences[t - 1] ? tokens + 1 : 1;
    shape.most_tokens = std::max(shape.most_tokens, tokens);
  }
  return shape;
}

uint64_t input_bytes(const m40_limits& limits, uint32_t n_groups, bool states) {
  const StepShape largest = {limits.n_tokens, limits.n_sequences, limits.n_outputs, 0, n_groups, limits.n_sequence_kv_blocks, 0, false, false, states, all_places};
  return Places(largest).rest + limits.step_bytes + 16;
}

uint64_t input_bytes(const Step& step, const StepShape& shape, const m40_step_header& header) {
  return Places(shape).rest + 8 * Rest(header, step.mask_words, step.sampling != nullptr).end;
}

void write_input(const Step& step, const StepShape& shape, const m40_step_header& header, uint8_t* memory) {
  const Places places(shape);
  const auto copy = [memory](uint64_t place, const void* from, uint64_t n_bytes) {
    if (n_bytes != 0) memcpy(memory + place, from, n_bytes);
  };
  copy(places.tokens, step.tokens, uint64_t{4} * step.n_tokens);
  copy(places.positions, step.positions, uint64_t{4} * step.n_tokens);
  copy(places.sequences, step.sequences, uint64_t{4} * step.n_tokens);
  if (shape.kv_block_stride != 0) {
    for (uint64_t i = 0; i < uint64_t{step.n_sequences} * step.n_groups; i++) {
      const uint64_t row = places.kv_block_table + uint64_t{4} * i * shape.kv_block_stride;
      copy(row, step.kv_block_table + i * step.kv_block_stride, uint64_t{4} * step.kv_block_stride);
      memset(memory + row + uint64_t{4} * step.kv_block_stride, 0, uint64_t{4} * (shape.kv_block_stride - step.kv_block_stride));
    }
  }
  const uint64_t tables = places.kv_block_table + uint64_t{4} * step.n_sequences * step.n_groups * shape.kv_block_stride;
  memset(memory + tables, 0, places.sequence_rows - tables);
  if (shape.states) {
    write_sequences(step, shape, reinterpret_cast<SequenceRows*>(memory + places.sequence_rows), reinterpret_cast<SequenceTile*>(memory + places.tiles));
  }
  for (uint32_t i = 0; i < step.n_outputs; i++) copy(places.outputs + uint64_t{4} * i, &step.outputs[i].row, sizeof(uint32_t));
  memset(memory + places.outputs + uint64_t{4} * step.n_outputs, 0, places.sampling - places.outputs - uint64_t{4} * step.n_outputs);
  if (step.sampling == nullptr) return;
  const Rest rest(header, step.mask_words, true);
  for (uint32_t i = 0; i < step.n_outputs; i++) {
    // Outputs that are no samples are checked, but no token is sampled from them.
    m40_sampling sampling = step.outputs[i].kind == M40_OUTPUT_SAMPLE ? step.sampling[i] : greedy();
    sampling.first_token_count += static_cast<uint32_t>(rest.counts);
    sampling.first_token_bias += static_cast<uint32_t>(rest.biases);
    copy(places.sampling + i * sizeof(sampling), &sampling, sizeof(sampling));
  }
  const uint64_t end = places.sampling + sizeof(m40_sampling) * step.n_outputs;
  memset(memory + end, 0, places.rest - end + 8 * rest.counts);
  copy(places.rest, step.masks, uint64_t{4} * header.n_masks * step.mask_words);
  copy(places.rest + 8 * rest.counts, step.token_counts, sizeof(m40_token_count) * header.n_token_counts);
  copy(places.rest + 8 * rest.biases, step.token_biases, sizeof(m40_token_bias) * header.n_token_biases);
}

StepView view_input(const StepShape& shape, const m40_limits& limits, uint8_t* memory) {
  const Places places(shape);
  StepView view = {};
  view.n_tokens = shape.n_tokens;
  view.n_sequences = shape.n_sequences;
  view.n_outputs = shape.n_outputs;
  view.n_decode = shape.n_decode;
  view.n_groups = shape.n_groups;
  view.kv_block_stride = shape.kv_block_stride;
  view.tokens = reinterpret_cast<const int32_t*>(memory + places.tokens);
  view.positions = reinterpret_cast<const uint32_t*>(memory + places.positions);
  view.sequences = reinterpret_cast<const uint32_t*>(memory + places.sequences);
  view.kv_block_table = reinterpret_cast<const uint32_t*>(memory + places.kv_block_table);
  view.outputs = reinterpret_cast<const uint32_t*>(memory + places.outputs);
  view.sampling = reinterpret_cast<const m40_sampling*>(memory + places.sampling);
  view.token_counts = reinterpret_cast<const m40_token_count*>(memory + places.rest);
  view.token_biases = reinterpret_cast<const m40_token_bias*>(memory + places.rest);
  view.masks = reinterpret_cast<const uint32_t*>(memory + places.rest);
  view.mask_words = static_cast<uint32_t>(mask_words(limits));
  view.prefill_share = shape.prefill_share;
  view.most_tokens = shape.most_tokens;
  view.shaped = shape.shaped;
  view.sequence_rows = reinterpret_cast<const SequenceRows*>(memory + places.sequence_rows);
  view.sequence_tiles = reinterpret_cast<const SequenceTile*>(memory + places.tiles);
  view.n_sequence_tiles = static_cast<uint32_t>(shape.n_tiles());
  return view;
}

}  // namespace m40::cuda
