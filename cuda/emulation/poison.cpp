#include "poison.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define M40_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define M40_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef M40_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace m40::emulation {

void poison([[maybe_unused]] void* memory, [[maybe_unused]] uint64_t n_bytes) {
#ifdef M40_ADDRESS_SANITIZER
  __asan_poison_memory_region(memory, n_bytes);
#endif
}

void unpoison(void* memory, uint64_t n_bytes) {
  unpoison_for_free(memory, n_bytes);
  memset(memory, 0xFF, n_bytes);
}

void unpoison_for_free([[maybe_unused]] void* memory, [[maybe_unused]] uint64_t n_bytes) {
#ifdef M40_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(memory, n_bytes);
#endif
}

}  // namespace m40::emulation
