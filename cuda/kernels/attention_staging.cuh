// Prefill attention's staging of queries, K and V from memory through registers into shared memory. It loads a slice of
// the head dimension of q and K, or of positions of V, while the previous slice is multiplied.
#ifndef M40_KERNELS_ATTENTION_STAGING_CUH
#define M40_KERNELS_ATTENTION_STAGING_CUH

#include "attention_prefill_args.cuh"

namespace m40::cuda {

constexpr uint64_t not_read = ~uint64_t{0};

// A thread's share of it.
template <uint32_t Type, class Shape>
struct AttentionStaging {
  using Shared = AttentionPrefillShared<Type, Shape>;
  static constexpr uint32_t rows = Shape::rows;
  static constexpr uint32_t value_columns = Shape::value_dim / 8;  // threads that stage a row of V
  const AttentionPrefillArgs& args;
  const AttentionPrefillTile& tile;
  Shared& shared;
  float query_values[Shape::query_values];
  KvValues<Type> key_values;
  KvValues<Type> values[Shape::value_loads];

  __device__ __forceinline__ AttentionStaging(const AttentionPrefillTile& of_tile, Shared& memory) : args(of_tile.args), tile(of_tile), shared(memory) {
    key_values.clear();
#pragma unroll
    for (int i = 0; i < Shape::value_loads; i++) values[i].clear();
  }

  // The first of the dimensions that a thread stages of a slice's queries; its position of a tile of K and the first of
  // its dimensions; the first of its dimensions of V.
  __device__ __forceinline__ static uint32_t query_d() { return threadIdx.x / rows * Shape::query_values; }
  __device__ __forceinline__ static uint32_t key() { return threadIdx.x % attention_prefill_keys; }
  __device__ __forceinline__ static uint32_t key_d() { return threadIdx.x / attention_prefill_keys * 8; }
  __device__ __forceinline__ static uint32_t value_d() { return threadIdx.x % value_columns * 8; }

  // Where the rows of a tile's positions are.
  __device__ __forceinline__ void find_keys(uint32_t first_key) const {
    if (threadIdx.x >= attention_prefill_keys) return;
    const uint32_t at = first_key + threadIdx.x;
    const uint32_t turn = first_key / attention_prefill_keys % 2;
    const bool is_read = at >= shared.segment.begin && at < shared.segment.end;
    const uint32_t* kv_blocks = args.kv_block_table + uint64_t{shared.segment.sequence} * args.kv_block_stride;
    const uint64_t kv_block = is_read ? kv_blocks[at >> args.cache.page_shift] * args.cache.kv_block_bytes : 0;
    const uint32_t row = cache_row(args.cache, tile.kv_head(), at);
    shared.places[turn][threadIdx.x] = is_read ? kv_block + row * args.cache.row_bytes : not_read;
    if (KvValues<Type>::scaled) shared.scale_places[turn][threadIdx.x] = kv_block + args.cache.scales + row * args.cache.scale_row_bytes;
    if (!Shape::wide) return;
    shared.value_places[turn][threadIdx.x] = is_read ? kv_block + row * args.cache.value_row_bytes : not_read;
    if (KvValues<Type>::scaled) shared.value_scale_places[turn][threadIdx.x] = kv_block + args.cache.value_scales + row * args.cache.value_scale_row_bytes;
  }

  // A slice of q and K.
  __device__ __forceinline__ void load_product(uint32_t slice, uint32_t turn) {
    const uint32_t d = slice * attention_prefill_slice + query_d();
    const float* query = args.q + shared.queries[threadIdx.x % rows];
#pragma unroll
    for (int i = 0; i < Shape::query_values; i += 4) {
      if (args.aligned && d + i + 4 <= args.cache.head_dim) {
        const float4 four = *reinterpret_cast<const float4*>(query + d + i);
        query_values[i] = four.x;
        query_values[i + 1] = four.y;
        query_values[i + 2] = four.z;
        query_values[i + 3] = four.w;
      } else {
#pragma unroll
        for (int j = 0; j < 4; j++) query_values[i + j] = d + i + j < args.cache.head_dim ? query[d + i + j] : 0;
      }
    }
    const uint32_t kd = slice * attention_prefill_slice + key_d();
    const uint64_t place = shared.places[turn][key()];
    if (place != not_read && kd < padded_head_dim(args.cache.head_dim)) {
      key_values.load(args.cache.keys + place, args.cache.keys + (KvValues<Type>::scaled ? shared.scale_places[turn][key()] : 0), kd);
    } else {
      key_values.clear();
    }
  }
  __device__ __forceinline__ void store_product(float* stage) const {
#pragma unroll
    for (int i = 0; i < Shape::query_values; i++) stage[(query_d() + i) * rows + threadIdx.x % rows] = query_values[i];
    float k[8];
    key_values.floats(k);
    const float scale = key_values.scale();
    float* place = stage + attention_prefill_slice * rows + key_d() * attention_prefill_keys + key();
#pragma unroll
    for (int i = 0; i < 8; i++) place[i * attention_prefill_keys] = KvValues<Type>::scaled ? __fmul_rn(k[i], scale) : k[i];
  }

  // A slice of V.
  __device__ __forceinline__ void load_values(uint32_t slice, uint32_t turn) {
#pragma unroll
    for (int i = 0; i < Shape::value_loads; i++) {
      const uint32_t at = slice * Shape::value_slice + threadIdx.x / value_columns + i * (attention_prefill_threads / value_columns);
      const uint64_t place = Shape::wide ? shared.value_places[turn][at] : shared.places[turn][at];
      if (place != not_read && value_d() < padded_head_dim(args.cache.value_dim)) {
        const uint8_t* region = args.cache.keys + args.cache.values;
        const uint64_t scale_place = !KvValues<Type>::scaled ? 0 : Shape::wide ? shared.value_scale_places[turn][at] : shared.scale_places[turn][at];
        values[i].load(region + place, region + scale_place, value_d());
      } else {
        values[i].clear();
      }
    }
  }
  __device__ __forceinline__ void store_values(float* stage) const {
#pragma unroll
    for (int i = 0; i < Shape::value_loads; i++) {
      const uint32_t at = threadIdx.x / value_columns + i * (attention_prefill_threads / value_columns);
      float v[8];
      values[i].floats(v);
      if (KvValues<Type>::scaled) {
        const float scale = values[i].scale();
#pragma unroll
        for (int j = 0; j < 8; j++) v[j] = __fmul_rn(v[j], scale);
      }
      float4* place = reinterpret_cast<float4*>(stage + at * Shape::value_dim + value_d());
      place[0] = make_float4(v[0], v[1], v[2], v[3]);
      place[1] = make_float4(v[4], v[5], v[6], v[7]);
    }
  }
};

}  // namespace m40::cuda

#endif
