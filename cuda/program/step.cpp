#include "step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>

#include "sample_weights.h"

namespace m40 {

namespace {

constexpr uint32_t all_places = 1000;  // thousandths

constexpr uint64_t words_of_bits(uint64_t n) { return (n + 31) / 32; }

uint64_t first_looked_at(const CacheUse& use, uint64_t position) {
  uint64_t first = position;
  for (const Reach& reach : use.reaches) first = std::min(first, reach.first_visible(position));
  return first;
}

[[noreturn]] void reject_kv_block(const Step& step, const StepLimits& limits, uint32_t sequence, uint32_t group, uint32_t index, uint64_t first) {
  const uint32_t kv_block = step.kv_blocks_of(sequence, group)[index];
  char of_group[32] = "";
  if (step.n_groups > 1) snprintf(of_group, sizeof(of_group), " in group %u", group);
  if (kv_block == M40_NONE) {
    fail(M40_INVALID_ARGUMENT, "KV block %u of sequence %u%s is absent (M40_NONE): the step reads its positions from %llu on", index, sequence,
         of_group, static_cast<unsigned long long>(first));
  }
  fail(M40_INVALID_ARGUMENT, "KV block %u of sequence %u%s is %u: the KV cache has %u KV blocks", index, sequence, of_group, kv_block, limits.n_kv_blocks);
}

class StepParser {
 public:
  StepParser(const void* block, uint64_t block_bytes, const StepLimits& limits)
      : block_(static_cast<const uint8_t*>(block)), block_bytes_(block_bytes), limits_(limits) {}

  Step parse(uint32_t* seen) {
    read_header();
    Step step = {};
    step.n_tokens = header_.n_tokens;
    step.n_sequences = header_.n_sequences;
    step.n_outputs = header_.n_outputs;
    step.n_decode = header_.n_decode;
    step.kv_block_stride = header_.kv_block_stride;
    step.prefill_share = header_.prefill_share == 0 ? all_places : header_.prefill_share;
    step.tokens = array<int32_t>("tokens", header_.tokens, header_.n_tokens);
    step.positions = array<uint32_t>("positions", header_.positions, header_.n_tokens);
    step.sequences = array<uint32_t>("sequences", header_.sequences, header_.n_tokens);
    step.outputs = array<m40_output>("outputs", header_.outputs, header_.n_outputs);
    if (limits_.kv_block_tokens != 0) {
      if (header_.kv_block_stride > limits_.limits.n_sequence_kv_blocks) {
        fail(M40_INVALID_ARGUMENT, "a step with %u KV blocks a sequence: wanted at most %u", header_.kv_block_stride,
             limits_.limits.n_sequence_kv_blocks);
      }
      step.n_groups = static_cast<uint32_t>(limits_.groups.size());
      step.kv_block_table = array<uint32_t>("kv_block_table", header_.kv_block_table, uint64_t{header_.n_sequences} * step.n_groups * header_.kv_block_stride);
    }
    if (limits_.n_slots != 0) step.states = array<uint32_t>("states", header_.states, uint64_t{2} * header_.n_sequences);
    check_tokens(step);
    check_sequences(step, seen);
    if (limits_.n_slots != 0) check_slots(step, seen);
    check_outputs(step);
    if (limits_.samples) read_sampling(step);
    return step;
  }

 private:
  void read_header() {
    if (block_bytes_ > limits_.limits.step_bytes) {
      fail(M40_INVALID_ARGUMENT, "a step block of %llu bytes: wanted at most %llu, the program's step_bytes",
           static_cast<unsigned long long>(block_bytes_), static_cast<unsigned long long>(limits_.limits.step_bytes));
    }
    if (block_bytes_ < sizeof(m40_step_header)) {
      fail(M40_INVALID_ARGUMENT, "a step block of %llu bytes: wanted at least the header's %zu",
           static_cast<unsigned long long>(block_bytes_), sizeof(m40_step_header));
    }
    if (reinterpret_cast<uintptr_t>(block_) % 4 != 0) {
      fail(M40_INVALID_ARGUMENT, "the step block starts at %p: wanted a multiple of 4", static_cast<const void*>(block_));
    }
    memcpy(&header_, block_, sizeof(header_));
    at_most("tokens", header_.n_tokens, limits_.limits.n_tokens);
    at_most("sequences", header_.n_sequences, limits_.limits.n_sequences);
    at_most("outputs", header_.n_outputs, limits_.limits.n_outputs);
    if (header_.n_decode > header_.n_tokens) {
      fail(M40_INVALID_ARGUMENT, "%u decoded tokens in a step of %u tokens", header_.n_decode, header_.n_tokens);
    }
    if (header_.prefill_share > all_places) {
      fail(M40_INVALID_ARGUMENT, "prefill_share is %u: wanted at most %u, in thousandths", header_.prefill_share, all_places);
    }
    if (header_.n_tokens == 0) fail(M40_INVALID_ARGUMENT, "a step of 0 tokens: wanted at least 1");
  }

  static void at_most(const char* what, uint32_t got, uint32_t wanted) {
    if (got > wanted) fail(M40_INVALID_ARGUMENT, "a step of %u %s: wanted at most %u, the program's limit", got, what, wanted);
  }

  // The array's elements are of 4-byte fields alone. An array without elements has no place to check.
  template <class T>
  const T* array(const char* name, uint32_t offset, uint64_t n) const {
    static_assert(alignof(T) == 4);
    if (n == 0) return nullptr;
    const unsigned __int128 end = static_cast<unsigned __int128>(n) * sizeof(T) + offset;
    if (offset % 4 != 0) fail(M40_INVALID_ARGUMENT, "%s at byte %u of the step block: wanted a multiple of 4", name, offset);
    if (end > block_bytes_) {
      fail(M40_INVALID_ARGUMENT, "%s: %llu elements of %zu bytes from byte %u on do not fit the step block of %llu bytes",
           name, static_cast<unsigned long long>(n), sizeof(T), offset, static_cast<unsigned long long>(block_bytes_));
    }
    return reinterpret_cast<const T*>(block_ + offset);
  }

  void check_tokens(const Step& step) const {
    for (uint32_t t = 0; t < step.n_tokens; t++) {
      if (step.tokens[t] < 0 || static_cast<uint32_t>(step.tokens[t]) >= limits_.limits.n_vocab) {
        fail(M40_INVALID_ARGUMENT, "token %u of the step is %d: wanted 0 to %u", t, step.tokens[t], limits_.limits.n_vocab - 1);
      }
      if (step.positions[t] >= limits_.n_positions) {
        fail(M40_INVALID_ARGUMENT, "token %u of the step has position %u: wanted one below %llu", t, step.positions[t],
             static_cast<unsigned long long>(limits_.n_positions));
      }
    }
  }

  void check_sequences(const Step& step, uint32_t* seen) const {
    memset(seen, 0, words_of_bits(step.n_sequences) * sizeof(uint32_t));
    uint32_t first_position = 0;  // of the sequence
    for (uint32_t t = 0; t < step.n_tokens; t++) {
      const uint32_t sequence = step.sequences[t];
      if (sequence >= step.n_sequences) {
        fail(M40_INVALID_ARGUMENT, "token %u of the step is of sequence %u: wanted one below %u", t, sequence, step.n_sequences);
      }
      const bool starts = t == 0 || step.sequences[t - 1] != sequence;
      if (starts) {
        const uint32_t bit = 1u << (sequence % 32);
        if (seen[sequence / 32] & bit) {
          fail(M40_INVALID_ARGUMENT, "token %u of the step: the tokens of sequence %u do not stand together", t, sequence);
        }
        seen[sequence / 32] |= bit;
        first_position = step.positions[t];
      } else if (t == step.n_decode) {
        fail(M40_INVALID_ARGUMENT, "token %u of the step is of sequence %u, as is the one before it, the last of %u decode rows: wanted all or none of a sequence's rows as decode rows",
             t, sequence, step.n_decode);
      } else if (t < step.n_decode && step.positions[t] != step.positions[t - 1] + 1) {
        fail(M40_INVALID_ARGUMENT, "token %u of the step, decoded, has position %u after %u of the same sequence: wanted the next one", t,
             step.positions[t], step.positions[t - 1]);
      } else if (step.positions[t] <= step.positions[t - 1]) {
        fail(M40_INVALID_ARGUMENT, "token %u of the step has position %u after %u of the same sequence: wanted a higher one", t,
             step.positions[t], step.positions[t - 1]);
      }
      const bool ends = t + 1 == step.n_tokens || step.sequences[t + 1] != sequence;
      if (ends && limits_.kv_block_tokens != 0) check_kv_blocks(step, limits_, sequence, first_position, step.positions[t]);
    }
  }

  // visit(sequence) for each sequence that has tokens, in their order.
  template <class Visit>
  static void for_each_sequence(const Step& step, const Visit& visit) {
    for (uint32_t t = 0; t < step.n_tokens; t++) {
      if (t == 0 || step.sequences[t] != step.sequences[t - 1]) visit(step.sequences[t]);
    }
  }

  void check_slots(const Step& step, uint32_t* written) const {
    memset(written, 0, words_of_bits(limits_.n_slots) * sizeof(uint32_t));
    for_each_sequence(step, [&](uint32_t sequence) {
      const uint32_t from = step.slot_from(sequence), to = step.slot_to(sequence);
      if (from != M40_NONE && from >= limits_.n_slots) {
        fail(M40_INVALID_ARGUMENT, "the states of sequence %u are read from slot %u: wanted one below %u, or M40_NONE where it begins", sequence,
             from, limits_.n_slots);
      }
      if (to >= limits_.n_slots) {
        fail(M40_INVALID_ARGUMENT, "the states of sequence %u are written to slot %u: wanted one below %u", sequence, to, limits_.n_slots);
      }
      if (written[to / 32] >> to % 32 & 1) {
        fail(M40_INVALID_ARGUMENT, "the states of sequences %u and %u are both written to slot %u: wanted a slot each", writer(step, to), sequence, to);
      }
      written[to / 32] |= 1u << to % 32;
    });
    for_each_sequence(step, [&](uint32_t sequence) {
      const uint32_t from = step.slot_from(sequence);
      if (from == M40_NONE || from == step.slot_to(sequence) || !(written[from / 32] >> from % 32 & 1)) return;
      fail(M40_INVALID_ARGUMENT, "the states of sequence %u are read from slot %u, which sequence %u writes: wanted one that no other writes",
           sequence, from, writer(step, from));
    });
  }

  // The first sequence that writes the slot.
  static uint32_t writer(const Step& step, uint32_t slot) {
    uint32_t t = 0;
    while (step.slot_to(step.sequences[t]) != slot) t++;
    return step.sequences[t];
  }

  void check_outputs(Step& step) const {
    for (uint32_t i = 0; i < step.n_outputs; i++) {
      const m40_output& output = step.outputs[i];
      if (output.row >= step.n_tokens) {
        fail(M40_INVALID_ARGUMENT, "output %u is of token %u: the step has %u tokens", i, output.row, step.n_tokens);
      }
      if (i > 0 && output.row <= step.outputs[i - 1].row) {
        fail(M40_INVALID_ARGUMENT, "output %u is of token %u after %u: wanted rising ones", i, output.row, step.outputs[i - 1].row);
      }
      if (output.kind > M40_OUTPUT_HIDDEN) {
        fail(M40_INVALID_ARGUMENT, "output %u is of kind %u: wanted 0 (sample), 1 (logits) or 2 (hidden)", i, output.kind);
      }
      if (output.kind != M40_OUTPUT_SAMPLE && !limits_.samples) {
        fail(M40_INVALID_ARGUMENT, "output %u is of kind %u: the program has no sample operation that gives it", i, output.kind);
      }
      if (output.kind == M40_OUTPUT_HIDDEN && !limits_.hidden) {
        fail(M40_INVALID_ARGUMENT, "output %u is a hidden state: the program's sample operation names no buffer of them", i);
      }
      step.hidden = step.hidden || output.kind == M40_OUTPUT_HIDDEN;
    }
  }

  void read_sampling(Step& step) const {
    step.sampling = array<m40_sampling>("sampling", header_.sampling, header_.n_outputs);
    step.token_counts = array<m40_token_count>("token_counts", header_.token_counts, header_.n_token_counts);
    step.token_biases = array<m40_token_bias>("token_biases", header_.token_biases, header_.n_token_biases);
    step.mask_words = limits_.limits.n_vocab / 32 + (limits_.limits.n_vocab % 32 != 0);
    step.masks = array<uint32_t>("masks", header_.masks, uint64_t{header_.n_masks} * step.mask_words);
    check_apart(uint64_t{header_.n_token_counts} * sizeof(m40_token_count) + uint64_t{header_.n_token_biases} * sizeof(m40_token_bias) +
                uint64_t{header_.n_masks} * step.mask_words * sizeof(uint32_t));
    for (uint32_t i = 0; i < header_.n_token_counts; i++) check_vocab("count", i, step.token_counts[i].token);
    for (uint32_t i = 0; i < header_.n_token_biases; i++) {
      check_vocab("bias", i, step.token_biases[i].token);
      const float bias = step.token_biases[i].bias;
      if (!isfinite(bias) && bias != -INFINITY) {
        fail(M40_INVALID_ARGUMENT, "token bias %u is %g: wanted a finite number, or -infinity", i, static_cast<double>(bias));
      }
    }
    for (uint32_t i = 0; i < step.n_outputs; i++) {
      if (step.outputs[i].kind != M40_OUTPUT_SAMPLE) continue;
      check_sampling(i, step.sampling[i]);
      check_shaping(i, step.sampling[i]);
      step.shaped = step.shaped || is_shaped(step.sampling[i]);
    }
  }

  // Arrays may not share their bytes: executors have room for a block's, each of them once.
  void check_apart(uint64_t n_bytes) const {
    if (n_bytes <= block_bytes_) return;
    fail(M40_INVALID_ARGUMENT, "token counts, token biases and masks take %llu bytes together: the step block has %llu",
         static_cast<unsigned long long>(n_bytes), static_cast<unsigned long long>(block_bytes_));
  }

  void check_vocab(const char* what, uint32_t index, int32_t token) const {
    if (token < 0 || static_cast<uint32_t>(token) >= limits_.limits.n_vocab) {
      fail(M40_INVALID_ARGUMENT, "token %s %u is of token %d: wanted 0 to %u", what, index, token, limits_.limits.n_vocab - 1);
    }
  }

  // Written so that NaN is out of range.
  static void in_range(uint32_t output, const char* name, float value, bool good, const char* wanted) {
    if (!isfinite(value) || !good) {
      fail(M40_INVALID_ARGUMENT, "output %u: %s is %g: wanted %s", output, name, static_cast<double>(value), wanted);
    }
  }

  static void slice(uint32_t output, const char* name, uint32_t first, uint32_t n, uint32_t available) {
    if (n != 0 && uint64_t{first} + n > available) {
      fail(M40_INVALID_ARGUMENT, "output %u: %s %u to %llu: the step has %u", output, name, first,
           static_cast<unsigned long long>(uint64_t{first} + n), available);
    }
  }

  void check_sampling(uint32_t i, const m40_sampling& s) const {
    in_range(i, "temperature", s.temperature, s.temperature >= 0, "a finite number, 0 or more");
    in_range(i, "top_p", s.top_p, s.top_p > 0 && s.top_p <= 1, "more than 0, at most 1");
    in_range(i, "min_p", s.min_p, s.min_p >= 0 && s.min_p <= 1, "0 to 1");
    in_range(i, "repetition_penalty", s.repetition_penalty, s.repetition_penalty > 0, "a finite number above 0");
    in_range(i, "frequency_penalty", s.frequency_penalty, true, "a finite number");
    in_range(i, "presence_penalty", s.presence_penalty, true, "a finite number");
    if (s.n_top_logprobs > M40_MAX_TOP_LOGPROBS) {
      fail(M40_INVALID_ARGUMENT, "output %u: n_top_logprobs is %u: wanted 0 to %d", i, s.n_top_logprobs, M40_MAX_TOP_LOGPROBS);
    }
    if (s.mask != M40_NONE && s.mask >= header_.n_masks) {
      fail(M40_INVALID_ARGUMENT, "output %u: mask %u: the step has %u", i, s.mask, header_.n_masks);
    }
    slice(i, "token counts", s.first_token_count, s.n_token_counts, header_.n_token_counts);
    slice(i, "token biases", s.first_token_bias, s.n_token_biases, header_.n_token_biases);
  }

  // What few requests ask for.
  void check_shaping(uint32_t i, const m40_sampling& s) const {
    in_range(i, "typical_p", s.typical_p, s.typical_p > 0 && s.typical_p <= 1, "more than 0, at most 1");
    in_range(i, "xtc_probability", s.xtc_probability, s.xtc_probability >= 0 && s.xtc_probability <= 1, "0 to 1");
    in_range(i, "xtc_threshold", s.xtc_threshold, s.xtc_threshold >= 0 && s.xtc_threshold <= 1, "0 to 1");
    in_range(i, "dynatemp_range", s.dynatemp_range, s.dynatemp_range >= 0, "a finite number, 0 or more");
    in_range(i, "dynatemp_exponent", s.dynatemp_exponent, s.dynatemp_exponent > 0, "a finite number above 0");
    in_range(i, "mirostat_mu", s.mirostat_mu, true, "a finite number");
    if (s.mirostat != 0 && s.mirostat != 2) fail(M40_INVALID_ARGUMENT, "output %u: mirostat is %u: wanted 0 or 2", i, s.mirostat);
    if (is_shaped(s) && limits_.limits.n_vocab > most_shaped_tokens) {
      fail(M40_INVALID_ARGUMENT, "output %u: typical_p, XTC, dynamic temperature or mirostat with %u tokens: wanted a vocabulary of at most %u", i,
           limits_.limits.n_vocab, most_shaped_tokens);
    }
  }

  const uint8_t* block_;
  uint64_t block_bytes_;
  const StepLimits& limits_;
  m40_step_header header_ = {};
};

}  // namespace

void check_kv_blocks(const Step& step, const StepLimits& limits, uint32_t sequence, uint32_t first_position, uint32_t last_position) {
  const uint32_t last_kv_block = last_position / limits.kv_block_tokens;
  if (last_kv_block >= step.kv_block_stride) {
    fail(M40_INVALID_ARGUMENT, "sequence %u reaches position %u, KV block %u: its row of the block table has %u", sequence, last_position, last_kv_block,
         step.kv_block_stride);
  }
  for (uint32_t group = 0; group < step.n_groups; group++) {
    if (!limits.groups[group].used) continue;
    const uint64_t first = first_looked_at(limits.groups[group], first_position);
    const uint32_t* row = step.kv_blocks_of(sequence, group);
    for (uint32_t i = static_cast<uint32_t>(first / limits.kv_block_tokens); i <= last_kv_block; i++) {
      if (row[i] >= limits.n_kv_blocks) reject_kv_block(step, limits, sequence, group, i, first);
    }
  }
}

uint64_t seen_words(const StepLimits& limits) { return words_of_bits(std::max(limits.limits.n_sequences, limits.n_slots)); }

Step parse_step(const void* block, uint64_t block_bytes, const StepLimits& limits, uint32_t* seen) {
  return StepParser(block, block_bytes, limits).parse(seen);
}

}  // namespace m40
