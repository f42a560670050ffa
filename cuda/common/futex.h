// Sleeping on a word of memory, which may be shared with another process.
#ifndef M40_RUNTIME_FUTEX_H
#define M40_RUNTIME_FUTEX_H

#include <stdint.h>

#include <atomic>

namespace m40 {

static_assert(std::atomic<uint32_t>::is_always_lock_free && sizeof(std::atomic<uint32_t>) == 4, "a futex is a plain word");

// Sleeps while the word has this value, for a time at most.
void sleep_on(std::atomic<uint32_t>& word, uint32_t value, uint32_t milliseconds);
void wake_all(std::atomic<uint32_t>& word);

}  // namespace m40

#endif
