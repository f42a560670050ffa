// Parts of the emulated device's memory that no one may touch.
#ifndef M40_EMULATION_POISON_H
#define M40_EMULATION_POISON_H

#include <stdint.h>

namespace m40::emulation {

void poison(void* memory, uint64_t n_bytes);
// Open again, and filled with bytes that are no number's.
void unpoison(void* memory, uint64_t n_bytes);
void unpoison_for_free(void* memory, uint64_t n_bytes);

}  // namespace m40::emulation

#endif
