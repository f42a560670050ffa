#include "exchange.h"

#include <string.h>

#include <algorithm>

#include "error.h"
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
    layout_.n_cards = op.n_cards;
    card_ = op.card;
    for (uint32_t card = 0; card < op.n_cards; card++) {
      const uint64_t columns = op.bounds[card + 1] - op.bounds[card];
      if (rows * columns > most_values) {
        fail(M40_INVALID_ARGUMENT, "operation %u (exchange): %llu rows of %llu columns: wanted at most 2^31 values", i, Long{rows}, Long{columns});
      }
      const uint64_t values = (rows * columns + exchange_word_bytes - 1) / exchange_word_bytes * exchange_word_bytes;
      layout_.slot_bytes = std::max(layout_.slot_bytes, values * sizeof(float));
      layout_.packets_bytes = std::max(layout_.packets_bytes, std::min(values, exchange_packet_values) * exchange_packet_bytes);
    }
  }
}

void Exchange::check_memory(const void* memory, uint64_t size) const {
  if (n_operations_ == 0) fail(M40_INVALID_ARGUMENT, "the program has no exchanges: wanted one that has some");
  require(memory, "memory");
  if (size < n_bytes()) fail(M40_INVALID_ARGUMENT, "%llu bytes for the program's exchanges: wanted %llu", Long{size}, Long{n_bytes()});
  if (reinterpret_cast<uintptr_t>(memory) % exchange_word_bytes != 0) fail(M40_INVALID_ARGUMENT, "memory for exchanges at %p: wanted a multiple of 64", memory);
}

void Exchange::begin(void* memory) {
  memory_ = static_cast<uint8_t*>(memory);
  // Each clears what it writes itself; all of them the first word.
  memset(memory_, 0, exchange_word_bytes);
  memset(memory_ + ExchangeLayout::number_offset(card_, 0), 0, exchange_parts * exchange_word_bytes);
  memset(memory_ + layout_.packets_offset(card_, 0), 0, 2 * layout_.packets_bytes);
}

void Exchange::require_memory() const {
  if (n_operations_ != 0 && memory_ == nullptr) {
    fail(M40_INVALID_ARGUMENT, "the program exchanges rows with other cards, and has no memory in common with them: wanted m40_program_exchange first");
  }
}

}  // namespace m40
