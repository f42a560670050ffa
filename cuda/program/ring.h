// The ring that a run's tokens go through (m40.h), as the library sees it.
#ifndef M40_RUNTIME_RING_H
#define M40_RUNTIME_RING_H

#include <stdint.h>

#include "../include/m40.h"
#include "../common/error.h"

namespace m40 {

class Ring {
 public:
  Ring() = default;
  // Throws where the memory is no ring.
  Ring(void* memory, uint64_t n_bytes) {
    require(memory, "ring");
    const uint64_t n = n_bytes < sizeof(m40_ring) ? 0 : (n_bytes - sizeof(m40_ring)) / sizeof(m40_ring_entry);
    if (n == 0 || (n & (n - 1)) != 0 || n > most_entries || n_bytes != sizeof(m40_ring) + n * sizeof(m40_ring_entry)) {
      fail(M40_INVALID_ARGUMENT, "a ring of %llu bytes: wanted %zu and %zu for each of its entries, a power of two of at most %u",
           static_cast<unsigned long long>(n_bytes), sizeof(m40_ring), sizeof(m40_ring_entry), most_entries);
    }
    if (reinterpret_cast<uintptr_t>(memory) % alignment != 0) {
      fail(M40_INVALID_ARGUMENT, "the ring starts at %p: wanted a multiple of %zu", memory, size_t{alignment});
    }
    header_ = static_cast<m40_ring*>(memory);
    entries_ = reinterpret_cast<m40_ring_entry*>(header_ + 1);
    n_entries_ = static_cast<uint32_t>(n);
  }

  m40_ring* header() const { return header_; }
  uint32_t n_entries() const { return n_entries_; }
  // How many entries the host has read.
  uint32_t read() const { return load(header_->read); }
  bool stops() const { return load(header_->stop) != 0; }
  // Whether all entries before number `end` may be written.
  bool has_room(uint32_t end) const { return end - read() <= n_entries_; }
  // Whether the entry of that number is whole.
  bool has(uint32_t number) const { return load(entry(number).number) == number + 1; }

  m40_ring_entry& entry(uint32_t number) const { return entries_[number & (n_entries_ - 1)]; }
  // The rest of the entry has been written.
  void publish(uint32_t number) const { store(entry(number).number, number + 1); }
  void say_over(bool over) const { store(header_->over, over ? 1 : 0); }

 private:
  static constexpr uint32_t most_entries = 1u << 20;
  static constexpr uint32_t alignment = 64;
  static uint32_t load(const uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
  static void store(uint32_t& word, uint32_t value) { __atomic_store_n(&word, value, __ATOMIC_RELEASE); }

  m40_ring* header_ = nullptr;
  m40_ring_entry* entries_ = nullptr;
  uint32_t n_entries_ = 0;
};

static_assert(sizeof(m40_ring) == 128 && sizeof(m40_ring_entry) == 192, "cache lines that the two sides write are not one");

}  // namespace m40

#endif
