// The memory that cards exchange their columns through (m40_op_exchange: an all-gather), and its layout:
//
//   a word, 0: whoever writes something else there has all cards give up (looked at in the host's memory alone), and behind it in
//   its cache line the word by which they agree on the steps of a run (run_agreement.h; in the host's memory alone)
//   of each place, for each part of an exchange, 1 + the number of the last one whose part has been handed over there
//   of each place, two for packets, used in turn: what is little goes in them
//   of each place, two for what is handed over otherwise, used in turn
//
// It is one of two. Either host memory that all cards share has a place for each card, which that card writes and the
// others read. Or each card has an inbox, memory of its own with a place for each other card to write. Then data goes
// one way, from card to card, and no card reads over the bus.
//
// A packet is two values, each followed by 1 + the number of the exchange, as eight bytes that are written and read at
// once. A reader that finds the number has the value, with one trip through the memory instead of three. It takes twice
// the bytes.
//
// Exchanges are counted from 0 on, through all steps since m40_program_exchange: number i uses the places i % 2. Two
// are enough. A card writes for number i + 2 after it has read all that the others wrote for number i + 1. They wrote
// that after they had read what this card wrote for number i, so none reads there any more. In packets, numbers have 32
// bits: m40_program_exchange has to be called long before they wrap around.
#ifndef M40_RUNTIME_EXCHANGE_H
#define M40_RUNTIME_EXCHANGE_H

#include <stdint.h>

#include "../include/m40.h"
#include "run_agreement.h"
#include "sample_weights.h"

namespace m40 {

struct ProgramDescription;

// Of a card's columns of all rows, so many equal parts at most are handed over one by one.
constexpr uint32_t exchange_parts = 32;
// A cache line each, of the host's and of the devices'.
constexpr uint64_t exchange_word_bytes = 64;
// In the first one.
constexpr uint64_t exchange_agreement_offset = 32;
// Of a card's columns of all rows, so many values at most go in packets.
constexpr uint64_t exchange_packet_values = uint64_t{64} << 10;
constexpr uint64_t exchange_packet_bytes = 8;  // of a value
// How long a card waits for another.
constexpr uint32_t exchange_patience_us = 20'000'000;

struct ExchangeLayout {
  bool shared = true;  // one memory of all cards, else an inbox of one
  uint32_t n_places = 0;
  uint64_t packets_bytes = 0;  // of a place for packets
  uint64_t slot_bytes = 0;     // of the others

  // Where a card hands over to the k-th next one of n_cards, from 1 on.
  M40_ANYWHERE uint32_t own_place(uint32_t card, uint32_t n_cards, uint32_t k) const { return shared ? card : n_cards - 1 - k; }
  // Where it takes what that one hands over.
  M40_ANYWHERE uint32_t place_of_next(uint32_t card, uint32_t n_cards, uint32_t k) const { return shared ? (card + k) % n_cards : k - 1; }

  M40_ANYWHERE static uint64_t number_offset(uint32_t place, uint32_t part) {
    return exchange_word_bytes * (1 + uint64_t{place} * exchange_parts + part);
  }
  M40_ANYWHERE uint64_t packets_offset(uint32_t place, uint64_t number) const {
    return number_offset(n_places, 0) + (2 * uint64_t{place} + number % 2) * packets_bytes;
  }
  M40_ANYWHERE uint64_t slot_offset(uint32_t place, uint64_t number) const {
    return packets_offset(n_places, 0) + (2 * uint64_t{place} + number % 2) * slot_bytes;
  }
  uint64_t n_bytes() const { return slot_offset(n_places, 0); }
  // Up to where numbers and packets are, which have to be cleared.
  uint64_t cleared_bytes() const { return packets_offset(n_places, 0); }
};

// What a program has of it.
class Exchange {
 public:
  Exchange() = default;
  explicit Exchange(const ProgramDescription& program);

  // Exchanges of a step; 0: the program has none.
  uint32_t n_operations() const { return n_operations_; }
  uint32_t card() const { return card_; }
  // Of the memory that is used.
  const ExchangeLayout& layout() const { return through_inboxes_ ? inbox_ : shared_; }
  const ExchangeLayout& inbox_layout() const { return inbox_; }
  uint64_t n_bytes() const { return n_operations_ == 0 ? 0 : shared_.n_bytes(); }
  uint64_t inbox_bytes() const { return n_operations_ == 0 ? 0 : inbox_.n_bytes(); }
  uint8_t* memory() const { return memory_; }

  // Throws where the program has no exchanges.
  void require_some() const;
  // Throws where the memory is not what the program needs, or the inboxes are not those of its cards.
  void check_memory(const void* memory, uint64_t n_bytes, const m40_inbox* inboxes, uint32_t n_inboxes) const;
  // Takes the memory, which check_memory() has checked, and counts exchanges from 0 again.
  void begin(void* memory, bool through_inboxes);
  void end() {
    memory_ = nullptr;
    runs_.forget();
  }
  // The memory goes.
  void forget(const void* memory) {
    if (memory_ == memory) end();
  }
  // Throws where there are exchanges and no memory.
  void require_memory() const;
  // How runs have as many steps on all cards.
  RunAgreement& runs() { return runs_; }

 private:
  uint32_t n_operations_ = 0;
  uint32_t n_cards_ = 0;
  uint32_t card_ = 0;
  ExchangeLayout shared_, inbox_;
  bool through_inboxes_ = false;
  uint8_t* memory_ = nullptr;
  RunAgreement runs_;
};

}  // namespace m40

#endif
