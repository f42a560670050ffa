// What a warp reads of a run of positions: which rows of K and V a lane has, and where in the cache they are.
#ifndef M40_KERNELS_ATTENTION_DECODE_READER_CUH
#define M40_KERNELS_ATTENTION_DECODE_READER_CUH

#include "attention_decode_keys.cuh"
#include "prefetch.cuh"

namespace m40::cuda {

// A lane of a warp: which row of those that the warp reads at a time, and the first of its 8 dimensions of it.
template <int Lanes>
struct DecodeLane {
  uint32_t index, row, d;

  __device__ __forceinline__ DecodeLane() : index(threadIdx.x % 32), row(index / Lanes), d(index % Lanes * 8) {}
};

// Which rows of a run of positions a lane reads, and where they are.
template <uint32_t Type, int Lanes, int Heads>
struct DecodeReader {
  using Shape = AttentionDecodeShape<Type, Lanes, Heads>;
  using Rows = KvValues<Type>[Shape::batch];
  const CacheLayer& cache;
  const DecodePositions& positions;
  const uint32_t* kv_blocks;  // of the sequence
  uint32_t kv_head;
  uint32_t run_keys;      // positions of a run: it is inside a KV block
  uint32_t row;           // the lane's, of those that the warp reads at a time
  uint32_t d;             // the first of the lane's 8 dimensions

  __device__ __forceinline__ uint32_t kv_block_number(uint32_t run) const { return kv_blocks[run >> cache.page_shift]; }
  __device__ __forceinline__ const uint8_t* kv_block_at(uint32_t number) const { return cache.keys + number * cache.kv_block_bytes; }
  __device__ __forceinline__ const uint8_t* kv_block_of(uint32_t run) const { return kv_block_at(kv_block_number(run)); }

  __device__ __forceinline__ uint32_t chunk_end(uint32_t chunk) const { return min(positions.first + (chunk + 1) * positions.chunk, positions.end); }
  // A warp's first run in a chunk. It skips those before the window: another sequence may own their KV blocks by now.
  __device__ __forceinline__ uint32_t first_run(uint32_t chunk, uint32_t warp) const {
    uint32_t run = positions.first + chunk * positions.chunk + warp * run_keys;
    while (run + run_keys <= positions.start) run += Shape::warps * run_keys;
    return run;
  }

  // The lane's share of a run's rows of K, for queries in shared memory.
  template <class DecodeKeys>
  __device__ __forceinline__ void load_shares(uint32_t run, const uint8_t* kv_block, const DecodeKeys& keys, const KeyOffsets<Type, Lanes, Heads>& offsets,
                                              typename DecodeKeys::Rows& k) const {
    using Keys = typename DecodeKeys::Keys;
    const uint32_t first = cache_row(cache, kv_head, run);
    const uint32_t least = max(positions.start, run) - run;
    const uint32_t most = min(run_keys, positions.end - run) - 1;
    const uint8_t* at = kv_block + first * cache.row_bytes + offsets.first;
    const uint8_t* scales = kv_block + cache.scales + first * cache.scale_row_bytes + offsets.scale;
#pragma unroll
    for (int u = 0; u < Keys::batch; u++) {
      const uint32_t here = max(min(keys.lane.row_of(u), most), least);
      const uint8_t* row = at + here * cache.row_bytes;
#pragma unroll
      for (int i = 0; i < Keys::loads; i++) k[u].words[i] = *reinterpret_cast<const uint4*>(row + (i == 0 ? 0 : offsets.others[i - 1]));
      if (KvValues<Type>::scaled) k[u].half_scale = *reinterpret_cast<const unsigned short*>(scales + here * cache.scale_row_bytes);
    }
  }

  // visit(u, row, scales of the row) for the rows of K that this lane reads in a run. Positions outside the attention
  // read the row of one inside. Rows of V are cache.values further on.
  template <class Visit>
  __device__ __forceinline__ void for_each_row(uint32_t run, const uint8_t* kv_block, const Visit& visit) const {
    const uint32_t first = cache_row(cache, kv_head, run);
    const uint32_t least = max(positions.start, run) - run;
    const uint32_t most = min(run_keys, positions.end - run) - 1;
    const uint8_t* at = kv_block + first * cache.row_bytes;
    const uint8_t* scales = kv_block + cache.scales + first * cache.scale_row_bytes;
    uint32_t offset = row * cache.row_bytes;
    uint32_t scale_offset = row * cache.scale_row_bytes;
#pragma unroll
    for (int u = 0; u < Shape::batch; u++) {
      const uint32_t here = max(min(offset, most * cache.row_bytes), least * cache.row_bytes);
      const uint32_t scales_here = max(min(scale_offset, most * cache.scale_row_bytes), least * cache.scale_row_bytes);
      visit(u, at + here, scales + scales_here);
      offset += Shape::rows * cache.row_bytes;
      scale_offset += Shape::rows * cache.scale_row_bytes;
    }
  }
  __device__ __forceinline__ void load_keys(uint32_t run, const uint8_t* kv_block, Rows& k) const {
    for_each_row(run, kv_block, [&](int u, const uint8_t* at, const uint8_t* scales) { k[u].load(at, scales, d); });
  }
  __device__ __forceinline__ void load_values(uint32_t run, const uint8_t* kv_block, Rows& v) const {
    for_each_row(run, kv_block, [&](int u, const uint8_t* at, const uint8_t* scales) { v[u].load(at + cache.values, scales + cache.values, d); });
  }
  // Asks for a run's rows of K and V to be brought into L2.
  __device__ __forceinline__ void prefetch(uint32_t run, const uint8_t* kv_block) const {
    constexpr uint32_t most = cache_row_bytes(Type, Shape::keys * Shape::head_dim);
    const uint32_t bytes = min(run_keys, positions.end - run) * cache.row_bytes;
    const uint8_t* first = kv_block + cache_row(cache, kv_head, run) * cache.row_bytes;
#pragma unroll
    for (uint32_t i = 0; i < most; i += 32 * prefetched_bytes) {
      const uint32_t at = i + threadIdx.x % 32 * prefetched_bytes;
      if (at >= bytes) continue;
      prefetch_to_l2(first + at);
      prefetch_to_l2(first + cache.values + at);
    }
  }
  // The same of the two runs of a warp that a chunk begins with; the loop over runs asks for those after.
  __device__ __forceinline__ void prefetch_first_runs(uint32_t chunk, uint32_t warp) const {
    const uint32_t end = chunk_end(chunk);
    uint32_t run = first_run(chunk, warp);
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (run < end) prefetch(run, kv_block_of(run));
      run += Shape::warps * run_keys;
    }
  }
  __device__ __forceinline__ void load_both(uint32_t run, const uint8_t* kv_block, Rows& k, Rows& v) const {
    for_each_row(run, kv_block, [&](int u, const uint8_t* at, const uint8_t* scales) {
      k[u].load(at, scales, d);
      v[u].load(at + cache.values, scales + cache.values, d);
    });
  }
};

}  // namespace m40::cuda

#endif
