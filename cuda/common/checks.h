// What every library checks alike of the arguments of m40.h, and says in the same words. What is wrong is thrown as
// Failure (error.h).
#ifndef M40_RUNTIME_CHECKS_H
#define M40_RUNTIME_CHECKS_H

#include <stdint.h>

#include <string>

#include "../include/m40.h"

namespace m40 {

// Held as floats, whatever its type in the file.
inline bool is_vector(const m40_tensor_desc& desc) { return desc.rows == 1 && desc.n_experts == 1; }

// The caller's text ends within its field. name: the field's.
void check_text(const char* text, uint64_t n_bytes, const char* name);

// One of M40_EXECUTOR_*.
void check_executor(uint32_t executor);
// As much of it as fits, zero-terminated.
void copy_reason(const std::string& reason, char* text, uint32_t text_bytes);

// wanted_bytes are free in an arena (which is alive or not) of n_bytes. what: what they are for.
void check_room(bool alive, uint64_t n_bytes, uint64_t used_bytes, uint64_t wanted_bytes, const char* what);

// n_bytes are those of the data that it is uploaded from: the whole weight's, where it is a part of one.
void check_tensor_data(const m40_tensor_desc& desc, uint64_t n_bytes);

// The tensor is there (desc is not nullptr), and has these rows, over all its experts; n_values are theirs.
void check_tensor_rows(uint32_t tensor, const m40_tensor_desc* desc, uint64_t first_row, uint64_t n_rows, uint64_t n_values);

// Bytes of all KV blocks of a cache, and of all its slots.
uint64_t checked_cache_bytes(const m40_cache_desc& desc, uint64_t kv_block_bytes);
uint64_t checked_slots_bytes(const m40_cache_desc& desc, uint64_t slot_bytes);

// The cache has these KV blocks. name: the argument's.
void check_kv_blocks(const m40_cache_desc& desc, const uint32_t* kv_blocks, uint32_t n_kv_blocks, const char* name);

// n_bytes of host memory are those of so many KV blocks.
void check_kv_block_memory(uint64_t kv_block_bytes, const void* memory, uint64_t n_bytes, uint32_t n_kv_blocks);

// The cache has these slots, and n_bytes of host memory are theirs.
void check_slots(const m40_cache_desc& desc, const uint32_t* slots, uint32_t n_slots, uint64_t slot_bytes, const void* memory, uint64_t n_bytes);

}  // namespace m40

#endif
