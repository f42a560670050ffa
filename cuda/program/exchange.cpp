#include "exchange.h"

#include <string.h>

#include <algorithm>

#include "../common/error.h"
#include "validate.h"

namespace m40 {

namespace {

using Long = unsigned long long;

// Far below where sums overflow.
constexpr uint64_t most_values = uint64_t{1} << 31;

}  // namespace

Exchange::Exchange(const ProgramDescription& program) {
  const m40_limits& limits = *program.limits;
  for (uint32_t i = 0; i < program.n_ops; i++) {
    if (program.ops[i].kind != M40_OP_EXCHANGE) continue;
    const m40_op_exchange& op = program.ops[i].exchange;
    const uint64_t rows = buffer_rows(program.buffers[op.input], limits.n_tokens, limits.n_outputs);
    n_operations_++;
    n_cards_ = op.n_cards;
    card_ = op.card;
    for (uint32_t card = 0; card < op.n_cards; card++) {
      const uint64_t columns = op.bounds[card + 1] - op.bounds[card];
      if (rows * columns > most_values) {
        fail(M40_INVALID_ARGUMENT, "operation %u (exchange): %llu rows of %llu columns: wanted at most 2^31 values", i, Long{rows}, Long{columns});
      }
      const uint64_t values = (rows * columns + exchange_word_bytes - 1) / exchange_word_bytes * exchange_word_bytes;
      shared_.slot_bytes = std::max(shared_.slot_bytes, values * sizeof(float));
      shared_.packets_bytes = std::max(shared_.packets_bytes, std::min(values, exchange_packet_values) * exchange_packet_bytes);
    }
  }
  if (n_operations_ == 0) return;
  inbox_ = shared_;
  inbox_.shared = false;
  inbox_.n_places = n_cards_ - 1;
  shared_.n_places = n_cards_;
}

void Exchange::require_some() const {
  if (n_operations_ == 0) fail(M40_INVALID_ARGUMENT, "the program has no exchanges: wanted one that has some");
}

void Exchange::check_memory(const void* memory, uint64_t size, const m40_inbox* inboxes, uint32_t n_inboxes) const {
  require_some();
  require(memory, "memory");
  if (n_inboxes != 0) require(inboxes, "inboxes");
  if (n_inboxes != 0 && n_inboxes != n_cards_) fail(M40_INVALID_ARGUMENT, "%u inboxes: wanted %u, one of each card, or none", n_inboxes, n_cards_);
  const uint64_t wanted = n_inboxes == 0 ? n_bytes() : exchange_word_bytes;
  if (size < wanted) fail(M40_INVALID_ARGUMENT, "%llu bytes for the program's exchanges: wanted %llu", Long{size}, Long{wanted});
  if (reinterpret_cast<uintptr_t>(memory) % exchange_word_bytes != 0) fail(M40_INVALID_ARGUMENT, "memory for exchanges at %p: wanted a multiple of 64", memory);
  for (uint32_t i = 0; i < n_inboxes; i++) {
    if (inboxes[i].n_bytes != inbox_bytes()) {
      fail(M40_INVALID_ARGUMENT, "the inbox of card %u has %llu bytes: wanted %llu, as all cards' programs have", i, Long{inboxes[i].n_bytes}, Long{inbox_bytes()});
    }
  }
}

void Exchange::begin(void* memory, bool through_inboxes) {
  memory_ = static_cast<uint8_t*>(memory);
  through_inboxes_ = through_inboxes;
  // Each clears what it writes itself; all of them the first line.
  memset(memory_, 0, exchange_word_bytes);
  using Word = std::atomic<uint32_t>;
  runs_.begin(reinterpret_cast<Word*>(memory_ + exchange_agreement_offset), reinterpret_cast<const Word*>(memory_), card_);
  if (through_inboxes) return;
  memset(memory_ + ExchangeLayout::number_offset(card_, 0), 0, exchange_parts * exchange_word_bytes);
  memset(memory_ + shared_.packets_offset(card_, 0), 0, 2 * shared_.packets_bytes);
}

void Exchange::require_memory() const {
  if (n_operations_ != 0 && memory_ == nullptr) {
    fail(M40_INVALID_ARGUMENT, "the program exchanges rows with other cards, and has no memory in common with them: wanted m40_program_exchange first");
  }
}

}  // namespace m40
