// The queries of a decoded token on their way into shared memory: as the rope operation left them, or rotated here
// where it is fused, and then the token's K and V on their way into the cache.
#ifndef M40_KERNELS_ATTENTION_QUERIES_CUH
#define M40_KERNELS_ATTENTION_QUERIES_CUH

#include "attention_decode_args.cuh"

namespace m40::cuda {

// The heads' queries [Heads][Shape::head_dim], with zeros where there is no head and beyond the head dimension. qkv:
// the token's row.
template <class Shape, int Heads>
__device__ __forceinline__ void copy_queries(const AttentionDecodeArgs& args, const DecodeHeads<Heads>& heads, const float* qkv, float* queries) {
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < static_cast<uint32_t>(Shape::query_floats); i += static_cast<uint32_t>(Shape::warps) * 32) {
    const uint32_t h = i / Shape::head_dim;
    const uint32_t d = i % Shape::head_dim;
    queries[h * Shape::head_dim + Shape::query_place(d)] = h < heads.count() && d < args.cache.head_dim ? qkv[(heads.first() + h) * args.cache.head_dim + d] : 0;
  }
}

// Puts a rotated query, of a warp's own, where Shape::query_place() says.
template <class Shape>
__device__ __forceinline__ void place_queries(float* query, uint32_t lane) {
  float values[Shape::head_dim / 32];
#pragma unroll
  for (int i = 0; i < Shape::head_dim / 32; i++) values[i] = query[i * 32 + lane];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < Shape::head_dim / 32; i++) query[Shape::query_place(i * 32 + lane)] = values[i];
}

// The last two warps write the token's K, rotated, and V, of the same row length, into the cache. rotated: [head_dim],
// of the one warp.
template <uint32_t Type, class Shape>
__device__ __forceinline__ void cache_token(const AttentionDecodeArgs& args, uint32_t kv_head, uint32_t position, const uint32_t* kv_blocks, const float* qkv,
                                            const float* table, float* rotated) {
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const bool is_value = warp == static_cast<uint32_t>(Shape::warps) - 1;
  const float* input = qkv + (args.n_heads + kv_head + (is_value ? args.n_kv_heads : 0)) * args.cache.head_dim;
  if (!is_value) {
    rotate_head(args.rope, args.rope.k_norm, input, rotated, table, lane);
    input = rotated;
  }
  uint8_t* region = args.cache.keys + kv_blocks[position >> args.cache.page_shift] * args.cache.kv_block_bytes + (is_value ? args.cache.values : 0);
  store_head<Type>(key_rows(args.cache), region, cache_row(args.cache, kv_head, position), input, lane);
  __threadfence_block();
}

// copy_queries() with the rope operation. caches: whether this block is the one that writes the token's K and V.
template <uint32_t Type, class Shape, int Heads>
__device__ __forceinline__ void rotate_queries(const AttentionDecodeArgs& args, const DecodeHeads<Heads>& heads, uint32_t position, bool caches,
                                               const uint32_t* kv_blocks, const float* qkv, float* queries, float* work) {
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float* table = work;                         // [rope_dim]
  float* rotated = work + args.rope.rope_dim;  // [head_dim]
  rope_table(args.rope, position, table, threadIdx.x, static_cast<uint32_t>(Shape::warps) * 32);
  for (uint32_t i = threadIdx.x; i < static_cast<uint32_t>(Shape::query_floats); i += static_cast<uint32_t>(Shape::warps) * 32) queries[i] = 0;
  __syncthreads();
  for (uint32_t h = warp; h < heads.count(); h += static_cast<uint32_t>(Shape::warps)) {
    rotate_head(args.rope, args.rope.q_norm, qkv + (heads.first() + h) * args.cache.head_dim, queries + h * Shape::head_dim, table, lane);
    if constexpr (Shape::spreads_keys) place_queries<Shape>(queries + h * Shape::head_dim, lane);
  }
  if (caches && warp >= static_cast<uint32_t>(Shape::warps) - 2) cache_token<Type, Shape>(args, heads.kv_head(), position, kv_blocks, qkv, table, rotated);
}

// Either of the two, of a block. work: free memory of AttentionDecodeShared.
template <uint32_t Type, class Shape, int Heads>
__device__ __forceinline__ void take_queries(const AttentionDecodeArgs& args, const DecodeHeads<Heads>& heads, const DecodePositions& positions,
                                             const BlockIndex& block, const GridSize& grid, const uint32_t* kv_blocks, float* queries, float* work) {
  const float* qkv = args.q + uint64_t{block.z} * args.q_stride;
  if (args.rotates) {
    // The block of the last chunk writes the token's K and V, then reads them.
    const bool caches = (positions.n_chunks - 1) % grid.x == block.x;
    rotate_queries<Type, Shape>(args, heads, positions.end - 1, caches, kv_blocks, qkv, queries, work);
  } else {
    copy_queries<Shape>(args, heads, qkv, queries);
  }
  __syncthreads();
}

}  // namespace m40::cuda

#endif
