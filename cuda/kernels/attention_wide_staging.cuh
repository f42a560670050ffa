// K and V of decoded tokens' wide attention on their way from the cache's KV blocks through registers into shared
// memory.
#ifndef M40_KERNELS_ATTENTION_WIDE_STAGING_CUH
#define M40_KERNELS_ATTENTION_WIDE_STAGING_CUH

#include "attention_wide_args.cuh"

namespace m40::cuda {

// Rows of a tile of positions on their way from the cache into shared memory. A warp takes a row, or every so many, in
// pieces of 8 values, those of K first, then those of V.
template <uint32_t Type, class Shape>
struct WideStaging {
  const AttentionWideArgs& args;
  AttentionWideShared<Shape>& shared;
  const uint32_t* kv_blocks;  // of the sequence
  uint32_t kv_head;
  uint32_t start, end;    // positions that are read
  KvValues<Type> values[Shape::staged_rows][Shape::staged_pieces];

  __device__ __forceinline__ bool owns_values() const { return args.cache.values != 0; }
  __device__ __forceinline__ uint32_t key_pieces() const { return padded_head_dim(args.cache.head_dim) / 8; }
  __device__ __forceinline__ uint32_t pieces() const { return key_pieces() + (owns_values() ? padded_head_dim(args.cache.value_dim) / 8 : 0); }
  // The warp's row number r.
  __device__ __forceinline__ uint32_t key_of(int r) const { return threadIdx.x / 32 + r * args.head_warps * (Shape::keys / Shape::rows); }

  __device__ __forceinline__ uint32_t (&kv_blocks_of(uint32_t first) const)[Shape::keys] { return shared.kv_blocks[first / Shape::keys % 2]; }
  // The KV block of the position that this thread looks up, of the tile from `first` on.
  __device__ __forceinline__ uint32_t find_kv_block(uint32_t first) const {
    const uint32_t at = first + threadIdx.x;
    return threadIdx.x < static_cast<uint32_t>(Shape::keys) && at >= start && at < end ? kv_blocks[at >> args.cache.page_shift] : 0;
  }
  __device__ __forceinline__ void put_kv_block(uint32_t first, uint32_t kv_block) const {
    if (threadIdx.x < static_cast<uint32_t>(Shape::keys)) kv_blocks_of(first)[threadIdx.x] = kv_block;
  }

  // A row of the tile from `first` on; the numbers of its KV blocks are in shared memory. nullptr for positions outside
  // the attention.
  struct Row {
    const uint8_t* kv_block;
    uint32_t row;
  };
  __device__ __forceinline__ Row row_of(uint32_t first, uint32_t key) const {
    const uint32_t at = first + key;
    if (at < start || at >= end) return {nullptr, 0};
    return {args.cache.keys + kv_blocks_of(first)[key] * args.cache.kv_block_bytes, cache_row(args.cache, kv_head, at)};
  }
  // A piece of it; zeros where there is no row.
  __device__ __forceinline__ void load_piece(const Row& row, uint32_t piece, KvValues<Type>& to) const {
    if (row.kv_block == nullptr) return to.clear();
    const CacheLayer& cache = args.cache;
    if (piece < key_pieces()) {
      to.load(row.kv_block + row.row * cache.row_bytes, row.kv_block + cache.scales + row.row * cache.scale_row_bytes, piece * 8);
    } else {
      const uint8_t* region = row.kv_block + cache.values;
      to.load(region + row.row * cache.value_row_bytes, region + cache.value_scales + row.row * cache.value_scale_row_bytes, (piece - key_pieces()) * 8);
    }
  }
  __device__ __forceinline__ void store_piece(uint32_t key, uint32_t piece, const KvValues<Type>& from) const {
    float v[8];
    from.floats(v);
    if (KvValues<Type>::scaled) {
      const float scale = from.scale();
#pragma unroll
      for (int j = 0; j < 8; j++) v[j] = __fmul_rn(v[j], scale);
    }
    float4* to = reinterpret_cast<float4*>(piece < key_pieces() ? &shared.keys[key][piece * 8] : &shared.values[key][(piece - key_pieces()) * 8]);
    to[0] = make_float4(v[0], v[1], v[2], v[3]);
    to[1] = make_float4(v[4], v[5], v[6], v[7]);
  }

  __device__ __forceinline__ void load(uint32_t first) {
#pragma unroll
    for (int r = 0; r < Shape::staged_rows; r++) {
      if (key_of(r) >= static_cast<uint32_t>(Shape::keys)) break;
      const Row row = row_of(first, key_of(r));
#pragma unroll
      for (int p = 0; p < Shape::staged_pieces; p++) {
        const uint32_t piece = p * 32 + threadIdx.x % 32;
        if (piece < pieces()) load_piece(row, piece, values[r][p]);
      }
    }
  }
  // Those of load(), and what there was no room for.
  __device__ __forceinline__ void store(uint32_t first) const {
#pragma unroll
    for (int r = 0; r < Shape::staged_rows; r++) {
      if (key_of(r) >= static_cast<uint32_t>(Shape::keys)) break;
#pragma unroll
      for (int p = 0; p < Shape::staged_pieces; p++) {
        const uint32_t piece = p * 32 + threadIdx.x % 32;
        if (piece < pieces()) store_piece(key_of(r), piece, values[r][p]);
      }
    }
    if (pieces() > Shape::staged_pieces * 32) store_rest(first);
  }
  __device__ __forceinline__ void store_rest(uint32_t first) const {
#pragma unroll 1
    for (uint32_t key = key_of(0); key < Shape::keys; key += key_of(1) - key_of(0)) {
      const Row row = row_of(first, key);
#pragma unroll 1
      for (uint32_t piece = Shape::staged_pieces * 32 + threadIdx.x % 32; piece < pieces(); piece += 32) {
        KvValues<Type> more;
        load_piece(row, piece, more);
        store_piece(key, piece, more);
      }
    }
  }
};

}  // namespace m40::cuda

#endif
