#include "sizes.h"

#include <string>

#include "error.h"
#include "tensor_types.h"

namespace m40 {

namespace {

constexpr uint64_t max_bytes = uint64_t{1} << 48;  // more than any host or device has

uint64_t checked_multiply(uint64_t a, uint64_t b, const char* what) {
  uint64_t product;
  if (__builtin_mul_overflow(a, b, &product) || product > max_bytes) {
    fail(M40_INVALID_ARGUMENT, "%s would take more than 2^48 bytes", what);
  }
  return product;
}

// "F32, F16, ... and NVFP4"
std::string type_names() {
  constexpr size_t n = sizeof tensor_types / sizeof tensor_types[0];
  std::string names = tensor_types[0].name;
  for (size_t i = 1; i < n; i++) names.append(i + 1 < n ? ", " : " and ").append(tensor_types[i].name);
  return names;
}

void check_states(const m40_cache_desc& desc) {
  if (desc.n_states > M40_MAX_STATES) fail(M40_INVALID_ARGUMENT, "a cache of %u states: wanted at most %d", desc.n_states, M40_MAX_STATES);
  if ((desc.n_slots == 0) != (desc.n_states == 0)) {
    fail(M40_INVALID_ARGUMENT, "a cache of %u states in %u slots: wanted at least 1 of each, or none", desc.n_states, desc.n_slots);
  }
  if (desc.n_slots == M40_NONE) fail(M40_INVALID_ARGUMENT, "a cache of %u slots: wanted fewer", desc.n_slots);
  for (uint32_t i = 0; i < desc.n_states; i++) {
    if (desc.state_values[i] == 0) fail(M40_INVALID_ARGUMENT, "state %u of a cache has 0 values: wanted at least 1", i);
  }
}

}  // namespace

uint64_t checked_row_bytes(uint32_t type, uint64_t columns) {
  const TensorType* found = find_tensor_type(type);
  if (found == nullptr) {
    fail(M40_UNSUPPORTED, "tensor type %u is not known; known are %s", type, type_names().c_str());
  }
  if (columns == 0 || columns % found->block_weights != 0) {
    fail(M40_INVALID_ARGUMENT, "a %s row of %llu columns: wanted a positive multiple of %u", found->name,
         static_cast<unsigned long long>(columns), found->block_weights);
  }
  return columns / found->block_weights * found->block_bytes;
}

uint64_t checked_tensor_bytes(const m40_tensor_desc& desc) {
  const uint64_t row_bytes = checked_row_bytes(desc.type, desc.columns);
  if (desc.rows == 0 || desc.n_experts == 0) {
    fail(M40_INVALID_ARGUMENT, "a tensor of %u experts, %u rows and %u columns: none of them may be 0", desc.n_experts,
         desc.rows, desc.columns);
  }
  if (desc.whole_rows == 0 ? desc.first_row != 0 : uint64_t{desc.first_row} + desc.rows > desc.whole_rows) {
    fail(M40_INVALID_ARGUMENT, "a tensor of rows %u to %llu of %u: wanted rows of the whole weight", desc.first_row,
         static_cast<unsigned long long>(uint64_t{desc.first_row} + desc.rows), desc.whole_rows);
  }
  return checked_multiply(checked_multiply(row_bytes, desc.rows, "a tensor"), desc.n_experts, "a tensor");
}

void check_page_size(uint64_t n_bytes) {
  if (n_bytes > max_bytes) fail(M40_INVALID_ARGUMENT, "a KV block would take more than 2^48 bytes");
}

uint64_t place_states(const m40_cache_desc& desc, uint64_t* offsets, uint64_t alignment) {
  uint64_t slot_bytes = 0;  // at most M40_MAX_STATES times 2^34
  for (uint32_t i = 0; i < desc.n_states; i++) {
    if (offsets != nullptr) offsets[i] = slot_bytes;
    slot_bytes += (uint64_t{desc.state_values[i]} * sizeof(float) + alignment - 1) / alignment * alignment;
  }
  return slot_bytes;
}

void check_cache_desc(const m40_cache_desc& desc) {
  if (desc.type != M40_TYPE_F32 && desc.type != M40_TYPE_F16 && desc.type != M40_TYPE_Q8_0) {
    const TensorType* type = find_tensor_type(desc.type);
    fail(M40_UNSUPPORTED, "a KV cache of type %s (%u): wanted F32, F16 or Q8_0", type == nullptr ? "unknown" : type->name,
         desc.type);
  }
  check_states(desc);
  if (desc.n_layers == 0 && desc.n_states != 0) {
    if (desc.n_groups != 0 || desc.n_kv_blocks != 0) {
      fail(M40_INVALID_ARGUMENT, "a cache of no layers with %u groups and %u KV blocks: wanted 0 of each", desc.n_groups, desc.n_kv_blocks);
    }
    return;
  }
  if (desc.n_layers == 0 || desc.n_layers > M40_MAX_CACHE_LAYERS || desc.n_groups == 0 || desc.n_groups > M40_MAX_CACHE_GROUPS) {
    fail(M40_INVALID_ARGUMENT, "a KV cache of %u layers in %u groups: wanted 1 to %d in 1 to %d", desc.n_layers, desc.n_groups,
         M40_MAX_CACHE_LAYERS, M40_MAX_CACHE_GROUPS);
  }
  if (desc.n_kv_blocks == 0) fail(M40_INVALID_ARGUMENT, "a KV cache of 0 KV blocks: wanted at least 1");
  if (desc.kv_block_tokens == 0 || (desc.kv_block_tokens & (desc.kv_block_tokens - 1)) != 0) {
    fail(M40_INVALID_ARGUMENT, "KV blocks of %u tokens: wanted a power of two", desc.kv_block_tokens);
  }
  uint32_t groups = 0;
  for (uint32_t layer = 0; layer < desc.n_layers; layer++) {
    if (desc.n_kv_heads[layer] == 0 || desc.head_dim[layer] == 0) {
      fail(M40_INVALID_ARGUMENT, "layer %u of a KV cache has %u KV heads of dimension %u: neither may be 0", layer, desc.n_kv_heads[layer],
           desc.head_dim[layer]);
    }
    if (desc.group[layer] >= desc.n_groups) {
      fail(M40_INVALID_ARGUMENT, "layer %u of a KV cache is in group %u: wanted one below %u", layer, desc.group[layer], desc.n_groups);
    }
    groups |= 1u << desc.group[layer];
    // Of all of a KV block's heads, far below where sums overflow.
    const uint64_t k_bytes = checked_multiply(checked_row_bytes(desc.type, desc.head_dim[layer]), desc.n_kv_heads[layer], "a KV block");
    const uint64_t v_bytes = desc.value_dim[layer] == 0 ? 0 : checked_multiply(checked_row_bytes(desc.type, desc.value_dim[layer]), desc.n_kv_heads[layer], "a KV block");
    checked_multiply(k_bytes + v_bytes, desc.kv_block_tokens, "a KV block");
  }
  for (uint32_t group = 0; group < desc.n_groups; group++) {
    if (!(groups >> group & 1)) fail(M40_INVALID_ARGUMENT, "group %u of a KV cache has no layer", group);
  }
}

uint64_t buffer_rows(const m40_buffer_desc& buffer, uint64_t n_tokens, uint64_t n_outputs) {
  switch (buffer.rows) {
    case M40_ROWS_OUTPUTS:
      return n_outputs;
    case M40_ROWS_EXPERTS:
      return n_tokens * buffer.rows_factor;
    default:
      return n_tokens;
  }
}

uint64_t checked_buffer_bytes(const m40_buffer_desc& buffer, const m40_limits& limits) {
  const uint64_t rows = buffer_rows(buffer, limits.n_tokens, limits.n_outputs);
  return checked_multiply(checked_multiply(rows, buffer.columns, "a buffer"), 4, "a buffer");
}

}  // namespace m40
