#include "checks.h"

#include <stdio.h>
#include <string.h>

#include "error.h"
#include "sizes.h"
#include "tensor_slice.h"

namespace m40 {

namespace {

// Far below where sums of sizes overflow.
constexpr uint64_t most_bytes = uint64_t{1} << 52;

using Long = unsigned long long;

// n_bytes of host memory are those of n things of each_bytes.
void check_memory(const void* memory, uint64_t n_bytes, const char* what, uint32_t n, uint64_t each_bytes) {
  if (n != 0) require(memory, "memory");
  uint64_t wanted;
  if (__builtin_mul_overflow(n, each_bytes, &wanted) || n_bytes != wanted) {
    fail(M40_INVALID_ARGUMENT, "%llu bytes for %u %ss: wanted %llu a %s", Long{n_bytes}, n, what, Long{each_bytes}, what);
  }
}

}  // namespace

void check_text(const char* text, uint64_t n_bytes, const char* name) {
  if (memchr(text, '\0', n_bytes) == nullptr) {
    fail(M40_INVALID_ARGUMENT, "%s has no terminating zero in its %llu bytes", name, Long{n_bytes});
  }
}

void copy_reason(const std::string& reason, char* text, uint32_t text_bytes) {
  if (text_bytes == 0) return;
  require(text, "why");
  snprintf(text, text_bytes, "%s", reason.c_str());
}

void check_executor(uint32_t executor) {
  if (executor > M40_EXECUTOR_RESIDENT) fail(M40_INVALID_ARGUMENT, "executor %u: wanted at most %d", executor, M40_EXECUTOR_RESIDENT);
}

void check_room(bool alive, uint64_t n_bytes, uint64_t used_bytes, uint64_t wanted_bytes, const char* what) {
  if (!alive) fail(M40_INVALID_ARGUMENT, "the arena has been destroyed");
  if (wanted_bytes > n_bytes - used_bytes) {
    fail(M40_OUT_OF_MEMORY, "%s of %llu bytes does not fit the arena: %llu of its %llu bytes are free", what, Long{wanted_bytes},
         Long{n_bytes - used_bytes}, Long{n_bytes});
  }
}

void check_tensor_data(const m40_tensor_desc& desc, uint64_t n_bytes) {
  checked_tensor_bytes(desc);
  const uint64_t wanted = checked_tensor_bytes(whole_tensor(desc));
  if (n_bytes != wanted) {
    fail(M40_INVALID_ARGUMENT, "a tensor's data has %llu bytes: wanted %llu for [%u, %u, %u]", Long{n_bytes}, Long{wanted}, desc.n_experts,
         whole_tensor(desc).rows, desc.columns);
  }
}

void check_tensor_rows(uint32_t tensor, const m40_tensor_desc* desc, uint64_t first_row, uint64_t n_rows, uint64_t n_values) {
  if (desc == nullptr) fail(M40_INVALID_ARGUMENT, "tensor %u does not exist", tensor);
  const uint64_t rows = uint64_t{desc->n_experts} * desc->rows;
  if (first_row > rows || n_rows > rows - first_row) {
    fail(M40_INVALID_ARGUMENT, "%llu rows from row %llu on: the tensor has %llu", Long{n_rows}, Long{first_row}, Long{rows});
  }
  uint64_t wanted;
  if (__builtin_mul_overflow(n_rows, uint64_t{desc->columns}, &wanted) || n_values != wanted) {
    fail(M40_INVALID_ARGUMENT, "room for %llu values of %llu rows: wanted %u a row", Long{n_values}, Long{n_rows}, desc->columns);
  }
}

uint64_t checked_cache_bytes(const m40_cache_desc& desc, uint64_t kv_block_bytes) {
  uint64_t n_bytes;
  if (__builtin_mul_overflow(kv_block_bytes, uint64_t{desc.n_kv_blocks}, &n_bytes) || n_bytes > most_bytes) {
    fail(M40_INVALID_ARGUMENT, "a KV cache of %u KV blocks of %llu bytes: more than 2^52 bytes", desc.n_kv_blocks, Long{kv_block_bytes});
  }
  return n_bytes;
}

uint64_t checked_slots_bytes(const m40_cache_desc& desc, uint64_t slot_bytes) {
  uint64_t n_bytes;
  if (__builtin_mul_overflow(slot_bytes, uint64_t{desc.n_slots}, &n_bytes) || n_bytes > most_bytes) {
    fail(M40_INVALID_ARGUMENT, "%u slots of states of %llu bytes: more than 2^52 bytes", desc.n_slots, Long{slot_bytes});
  }
  return n_bytes;
}

void check_kv_blocks(const m40_cache_desc& desc, const uint32_t* kv_blocks, uint32_t n_kv_blocks, const char* name) {
  if (n_kv_blocks != 0) require(kv_blocks, name);
  for (uint32_t i = 0; i < n_kv_blocks; i++) {
    if (kv_blocks[i] >= desc.n_kv_blocks) {
      fail(M40_INVALID_ARGUMENT, "%s[%u] is KV block %u: the KV cache has %u KV blocks", name, i, kv_blocks[i], desc.n_kv_blocks);
    }
  }
}

void check_kv_block_memory(uint64_t kv_block_bytes, const void* memory, uint64_t n_bytes, uint32_t n_kv_blocks) {
  check_memory(memory, n_bytes, "KV block", n_kv_blocks, kv_block_bytes);
}

void check_slots(const m40_cache_desc& desc, const uint32_t* slots, uint32_t n_slots, uint64_t slot_bytes, const void* memory, uint64_t n_bytes) {
  if (n_slots != 0) require(slots, "slots");
  for (uint32_t i = 0; i < n_slots; i++) {
    if (slots[i] >= desc.n_slots) fail(M40_INVALID_ARGUMENT, "slots[%u] is slot %u: the cache has %u slots", i, slots[i], desc.n_slots);
  }
  check_memory(memory, n_bytes, "slot", n_slots, slot_bytes);
}

}  // namespace m40
