// The layout of K and V in the cache's KV blocks on the device, and how a warp writes them and a lane reads them.
//
// A KV block has a region for the K of each layer of its group, followed by one for its V, unless V are the first
// values of K. A region has the heads' rows [n_kv_heads][kv_block_tokens][row_bytes], of head_dim (of V: value_dim)
// values padded with zeros to a multiple of 8. So a head's rows of one KV block are contiguous, and a lane can read 8
// values (16 bytes of F16) from any start. For Q8_0 the scales [n_kv_heads][kv_block_tokens][head_dim / 32] follow as
// halves. Regions start at multiples of 16 bytes.
#ifndef M40_KERNELS_KV_CACHE_CUH
#define M40_KERNELS_KV_CACHE_CUH

#include <stdint.h>

#include "../include/m40.h"
#include "../gpu/device.h"

namespace m40::cuda {

// Values of a head's row with its padding.
__host__ __device__ constexpr uint32_t padded_head_dim(uint32_t head_dim) { return (head_dim + 7) / 8 * 8; }

__host__ __device__ constexpr uint32_t cache_row_bytes(uint32_t type, uint32_t head_dim) {
  return padded_head_dim(head_dim) * (type == M40_TYPE_F32 ? 4 : type == M40_TYPE_F16 ? 2 : 1);
}

__host__ __device__ constexpr uint32_t cache_scale_row_bytes(uint32_t type, uint32_t head_dim) {
  return type == M40_TYPE_Q8_0 ? head_dim / 32 * 2 : 0;
}

// Bytes of one layer's K, or V, of a KV block.
inline uint64_t cache_region_bytes(uint32_t type, uint32_t n_kv_heads, uint32_t head_dim, uint32_t kv_block_tokens) {
  const uint64_t rows = uint64_t{n_kv_heads} * kv_block_tokens;
  return (rows * (cache_row_bytes(type, head_dim) + cache_scale_row_bytes(type, head_dim)) + 15) / 16 * 16;
}

// One layer of the cache, as kernels take it.
struct CacheLayer {
  uint8_t* keys;         // of KV block 0
  uint64_t kv_block_bytes;
  uint64_t values;       // bytes from a layer's K to its V: 0 where V are the first values of K
  uint64_t scales;       // bytes from a region's start to its scales
  uint64_t value_scales;  // the same of V
  uint32_t row_bytes;
  uint32_t scale_row_bytes;
  uint32_t value_row_bytes;
  uint32_t value_scale_row_bytes;
  uint32_t kv_block_tokens;
  uint32_t page_shift;   // kv_block_tokens = 1 << page_shift
  uint32_t head_dim;     // of K
  uint32_t value_dim;    // of V; at most head_dim where they are the first values of K
};

// How the heads' rows of K, or of V, lie in a region.
struct CacheRows {
  uint64_t scales;
  uint32_t row_bytes;
  uint32_t scale_row_bytes;
  uint32_t dim;
};

__device__ __forceinline__ CacheRows key_rows(const CacheLayer& cache) { return {cache.scales, cache.row_bytes, cache.scale_row_bytes, cache.head_dim}; }
__device__ __forceinline__ CacheRows value_rows(const CacheLayer& cache) {
  return {cache.value_scales, cache.value_row_bytes, cache.value_scale_row_bytes, cache.value_dim};
}

// Where a position's row of a KV head is in its KV block.
__device__ __forceinline__ uint32_t cache_row(const CacheLayer& cache, uint32_t kv_head, uint32_t position) {
  return (kv_head << cache.page_shift) + (position & (cache.kv_block_tokens - 1));
}

// 8 values of a row, from d on: as they lie in memory, and as floats without their scale.
template <uint32_t Type>
struct KvValues;

template <>
struct KvValues<M40_TYPE_F16> {
  uint4 words;
  static constexpr int in_16_bytes = 8;
  static constexpr bool scaled = false;

  __device__ __forceinline__ void load(const uint8_t* row, const uint8_t*, uint32_t d) {
    words = *reinterpret_cast<const uint4*>(row + d * 2);
  }
  __device__ __forceinline__ void clear() { words = make_uint4(0, 0, 0, 0); }
  __device__ __forceinline__ float scale() const { return 1; }
  __device__ __forceinline__ void floats(float (&values)[8]) const {
    const uint32_t w[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      values[2 * i] = __half2float(__ushort_as_half(static_cast<unsigned short>(w[i] & 0xFFFF)));
      values[2 * i + 1] = __half2float(__ushort_as_half(static_cast<unsigned short>(w[i] >> 16)));
    }
  }
};

template <>
struct KvValues<M40_TYPE_F32> {
  float4 low, high;
  static constexpr int in_16_bytes = 4;
  static constexpr bool scaled = false;

  __device__ __forceinline__ void load(const uint8_t* row, const uint8_t*, uint32_t d) {
    const float4* values = reinterpret_cast<const float4*>(row + d * 4);
    low = values[0];
    high = values[1];
  }
  __device__ __forceinline__ void clear() { low = high = make_float4(0, 0, 0, 0); }
  __device__ __forceinline__ float scale() const { return 1; }
  __device__ __forceinline__ void floats(float (&values)[8]) const {
    values[0] = low.x;
    values[1] = low.y;
    values[2] = low.z;
    values[3] = low.w;
    values[4] = high.x;
    values[5] = high.y;
    values[6] = high.z;
    values[7] = high.w;
  }
};

template <>
struct KvValues<M40_TYPE_Q8_0> {
  uint2 words;
  unsigned short half_scale;
  static constexpr int in_16_bytes = 16;
  static constexpr bool scaled = true;

  __device__ __forceinline__ void load(const uint8_t* row, const uint8_t* scales, uint32_t d) {
    words = *reinterpret_cast<const uint2*>(row + d);
    half_scale = *reinterpret_cast<const unsigned short*>(scales + d / 32 * 2);
  }
  __device__ __forceinline__ void clear() {
    words = make_uint2(0, 0);
    half_scale = 0;
  }
  __device__ __forceinline__ float scale() const { return __half2float(__ushort_as_half(half_scale)); }
  __device__ __forceinline__ void floats(float (&values)[8]) const {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      values[i] = static_cast<float>(static_cast<signed char>(words.x >> (8 * i)));
      values[4 + i] = static_cast<float>(static_cast<signed char>(words.y >> (8 * i)));
    }
  }
};

// A warp writes a head [dim] to its row. `region` is the KV block's K or V of the layer, `rows` describes its rows.
template <uint32_t Type>
__device__ __forceinline__ void store_head(const CacheRows& rows, uint8_t* region, uint32_t row, const float* head, uint32_t lane) {
  const uint32_t padded = padded_head_dim(rows.dim);
  uint8_t* place = region + uint64_t{row} * rows.row_bytes;
  if (Type == M40_TYPE_F32) {
    for (uint32_t d = lane; d < padded; d += 32) reinterpret_cast<float*>(place)[d] = d < rows.dim ? head[d] : 0;
  } else if (Type == M40_TYPE_F16) {
    for (uint32_t d = lane; d < padded; d += 32) {
      reinterpret_cast<unsigned short*>(place)[d] = __half_as_ushort(__float2half_rn(d < rows.dim ? head[d] : 0));
    }
  } else {
    // GGUF's Q8_0: a block's scale is its largest magnitude / 127. What is not a number becomes 0 here and stays one in
    // the scale: fmaxf would lose it.
    unsigned short* scales = reinterpret_cast<unsigned short*>(region + rows.scales + uint64_t{row} * rows.scale_row_bytes);
    for (uint32_t first = 0; first < rows.dim; first += 32) {
      const float value = head[first + lane];
      float largest = fabsf(value);
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(~0u, largest, offset);
        largest = largest != largest || other < largest ? largest : other;
      }
      const float scale = __fdiv_rn(largest, 127);
      const float inverse = scale == 0 ? 0 : __fdiv_rn(1, scale);
      const float rounded = roundf(__fmul_rn(value, inverse));
      const float limited = rounded > 127 ? 127 : rounded < -127 ? -127 : rounded == rounded ? rounded : 0;
      reinterpret_cast<signed char*>(place)[first + lane] = static_cast<signed char>(static_cast<int>(limited));
      if (lane == 0) scales[first / 32] = __half_as_ushort(__float2half_rn(scale));
    }
  }
}

}  // namespace m40::cuda

#endif
