// The memory by which cards exchange what each has computed (m40_op_exchange), and how it is laid out:
//
//   a word, 0: whoever writes something else there has all cards give up
//   of each card, for each part of an exchange, 1 + the number of the last one whose part it has handed over
//   of each card, two places for packets, used in turn: what is little goes in them
//   of each card, two places for what it hands over otherwise, used in turn
//
// A packet is two values, each with 1 + the number of the exchange behind it, as eight bytes that are written and read at once:
// whoever finds the number has the value, one way through the memory instead of three. It takes twice the bytes.
//
// Exchanges are counted from 0 on, through all steps since m40_program_exchange: number i uses the places i % 2. Two are
// enough. A card writes for number i + 2 after it has taken all that the others handed over for number i + 1; they did that
// after they had taken what it handed over for number i, so nobody reads there any more. In packets numbers have 32 bits: long
// before they come again, exchanges are to be begun anew.
#ifndef M40_RUNTIME_EXCHANGE_H
#define M40_RUNTIME_EXCHANGE_H

#include <stdint.h>

#include "../include/m40.h"
#include "sample_weights.h"

namespace m40 {

struct ProgramDescription;

// Of a card's columns of all rows, so many equal parts at most are handed over one by one.
constexpr uint32_t exchange_parts = 32;
// A cache line each, of the host's and of the devices'.
constexpr uint64_t exchange_word_bytes = 64;
// Of a card's columns of all rows, so many values at most go in packets.
constexpr uint64_t exchange_packet_values = uint64_t{64} << 10;
constexpr uint64_t exchange_packet_bytes = 8;  // of a value
// How long a card waits for another.
constexpr uint32_t exchange_patience_us = 20'000'000;

struct ExchangeLayout {
  uint32_t n_cards = 0;
  uint64_t packets_bytes = 0;  // of a card's place for packets
  uint64_t slot_bytes = 0;     // of its other places

  M40_ANYWHERE static uint64_t number_offset(uint32_t card, uint32_t part) {
    return exchange_word_bytes * (1 + uint64_t{card} * exchange_parts + part);
  }
  M40_ANYWHERE uint64_t packets_offset(uint32_t card, uint64_t number) const {
    return number_offset(n_cards, 0) + (2 * uint64_t{card} + number % 2) * packets_bytes;
  }
  M40_ANYWHERE uint64_t slot_offset(uint32_t card, uint64_t number) const {
    return packets_offset(n_cards, 0) + (2 * uint64_t{card} + number % 2) * slot_bytes;
  }
  uint64_t n_bytes() const { return slot_offset(n_cards, 0); }
};

// What a program has of it.
class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(const ProgramDescription& program);

  // Exchanges of a step; 0: the program has none.
  uint32_t n_operations() const { return n_operations_; }
  const ExchangeLayout& layout() const { return layout_; }
  uint64_t n_bytes() const { return n_operations_ == 0 ? 0 : layout_.n_bytes(); }
  uint8_t* memory() const { return memory_; }

  // Throws where the memory is not what the program needs.
  void check_memory(const void* memory, uint64_t n_bytes) const;
  // Has the memory from now on, which check_memory() has seen, and begins anew.
  void begin(void* memory);
  // The memory goes.
  void forget(const void* memory) {
    if (memory_ == memory) memory_ = nullptr;
  }
  // Throws where there are exchanges and no memory.
  void require_memory() const;

 private:
  uint32_t n_operations_ = 0;
  uint32_t card_ = 0;
  ExchangeLayout layout_;
  uint8_t* memory_ = nullptr;
};

}  // namespace m40

#endif
