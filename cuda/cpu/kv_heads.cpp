#include "kv_heads.h"

#include <math.h>
#include <string.h>

namespace m40::reference {

namespace {

// GGUF's Q8_0: blocks of a half-precision scale and 32 signed bytes.
void quantize_q8_0(const float* values, uint8_t* blocks, uint32_t n) {
  for (uint32_t i = 0; i < n; i += 32, blocks += 34) {
    float largest = 0;
    for (uint32_t j = 0; j < 32; j++) largest = std::max(largest, fabsf(values[i + j]));
    const float scale = largest / 127;
    const float inverse = scale == 0 ? 0 : 1 / scale;
    const uint16_t half = float_to_half(scale);
    memcpy(blocks, &half, sizeof(half));
    for (uint32_t j = 0; j < 32; j++) {
      // Not a number becomes 0 here and stays one in the scale.
      const float rounded = roundf(values[i + j] * inverse);
      const float limited = rounded > 127 ? 127 : rounded < -127 ? -127 : rounded == rounded ? rounded : 0;
      blocks[2 + j] = static_cast<uint8_t>(static_cast<int8_t>(limited));
    }
  }
}

}  // namespace

void KvHeads::write(uint32_t value, uint32_t kv_head, uint32_t position, const float* head) const {
  const m40_cache_desc& desc = cache_.desc;
  const uint32_t slot = position & (desc.kv_block_tokens - 1);
  const uint32_t n = value == k ? desc.head_dim[layer_] : desc.value_dim[layer_];
  uint8_t* place = cache_.kv_block(kv_blocks_[position >> page_shift_]) + heads_offset(value, kv_head) + slot * head_bytes(value);
  switch (desc.type) {
    case M40_TYPE_F32:
      memcpy(place, head, n * sizeof(float));
      break;
    case M40_TYPE_F16:
      kernels_.to_f16(head, reinterpret_cast<uint16_t*>(place), n);
      break;
    default:
      quantize_q8_0(head, place, n);
  }
}

}  // namespace m40::reference
