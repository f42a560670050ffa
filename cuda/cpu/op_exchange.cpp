// Columns of rows handed to other cards, and taken from them, through memory that all have in common.
#include <string.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "execution.h"

namespace m40::reference {

namespace {

using Clock = std::chrono::steady_clock;
using Word = std::atomic<uint32_t>;
using Number = std::atomic<uint64_t>;

// One part is all that a card hands over.
constexpr uint32_t part = 0;

void wait_for(const Exchange& exchange, uint32_t card, uint64_t number) {
  auto& give_up = *reinterpret_cast<Word*>(exchange.memory());
  const auto& handed_over = *reinterpret_cast<const Number*>(exchange.memory() + ExchangeLayout::number_offset(card, part));
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(exchange_patience_us);
  while (handed_over.load(std::memory_order_acquire) < number + 1) {
    if (give_up != 0) fail(M40_INTERNAL, "an exchange with card %u was given up", card);
    if (Clock::now() > end) {
      give_up = 1;
      fail(M40_INTERNAL, "card %u has not come to an exchange within %u seconds", card, exchange_patience_us / 1'000'000);
    }
    std::this_thread::yield();
  }
}

}  // namespace

void run_exchange(const Execution& execution, const m40_op_exchange& op) {
  const Exchange& exchange = execution.program.exchange;
  const ExchangeLayout& layout = exchange.layout();
  const uint64_t number = execution.program.exchange_number++;
  const uint64_t n_rows = execution.rows(op.input);
  const auto columns_of = [&op](uint32_t card) { return uint64_t{op.bounds[card + 1]} - op.bounds[card]; };
  // Of the memory that all share each card has the place of its number.
  const auto place_of = [&](uint32_t card) { return reinterpret_cast<float*>(exchange.memory() + layout.slot_offset(card, number)); };
  const uint64_t own = columns_of(op.card);
  for (uint64_t row = 0; row < n_rows; row++) {
    const float* input = execution.row(op.input, row) + op.input_column;
    memcpy(place_of(op.card) + row * own, input, own * sizeof(float));
    if (op.input != op.output) memcpy(execution.row(op.output, row) + op.bounds[op.card], input, own * sizeof(float));
  }
  reinterpret_cast<Number*>(exchange.memory() + ExchangeLayout::number_offset(op.card, part))->store(number + 1, std::memory_order_release);
  for (uint32_t card = 0; card < op.n_cards; card++) {
    if (card == op.card) continue;
    wait_for(exchange, card, number);
    const uint64_t columns = columns_of(card);
    for (uint64_t row = 0; row < n_rows; row++) {
      memcpy(execution.row(op.output, row) + op.bounds[card], place_of(card) + row * columns, columns * sizeof(float));
    }
  }
}

}  // namespace m40::reference
